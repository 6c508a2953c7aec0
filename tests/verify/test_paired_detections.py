"""What a detector found is held to what it stands for: order and thresholds do not count, numbers do."""

import numpy as np
import pytest

from vigil.verify.invariants import check_choices
from vigil.verify.oracle.models import MODELS
from vigil.verify.oracle.paired_detections import comparable
from vigil.verify.standard_cases import StandardCase


def rows(*detections, places=4):
    """Return one image's rows [1, place, 6 + 4] of (class, score, left, top, right, bottom), masks of the score's value."""
    found = np.zeros((1, places, 10))
    found[..., 0] = -1
    for place, detection in enumerate(detections):
        found[0, place] = [*detection, *[detection[1]] * 4]
    return found


FIRST, SECOND, THIRD = (0, 0.9, 10, 10, 30, 30), (0, 0.8, 50, 50, 90, 90), (1, 0.7, 10, 10, 30, 30)
EXPECTED = rows(FIRST, SECOND, THIRD)


def compared(observed):
    """Return what is compared of rows, against the expected ones."""
    return comparable({"logits": observed, "stats/a": np.ones(1)}, {"logits": EXPECTED})


def test_another_order_is_no_difference():
    """The same detections elsewhere in the list are the same numbers in the same places."""
    own, other = compared(EXPECTED), compared(rows(THIRD, FIRST, SECOND))
    assert set(own) == {"choices", "scores", "boxes", "masks", "stats/a"}
    for name, tensor in own.items():
        np.testing.assert_array_equal(other[name], tensor)
    assert not own["choices"].any()


@pytest.mark.parametrize(
    ("observed", "choices"),
    [
        (rows(FIRST, SECOND), [1, 0]),
        (rows(FIRST, SECOND, THIRD, (2, 0.1, 0, 0, 9, 9)), [0, 1]),
        (rows(FIRST, SECOND, (2, *THIRD[1:])), [1, 1]),
        (rows(FIRST, (0, 0.8, 70, 50, 110, 90), THIRD), [1, 1]),
        (rows(), [3, 0]),
    ],
    ids=["missed", "besides", "another-class", "elsewhere", "nothing"],
)
def test_what_has_no_counterpart_is_counted(observed, choices):
    """A detection that is missing and one that is there besides are counted, and its numbers are not held against others'."""
    found = compared(observed)
    np.testing.assert_array_equal(found["choices"], [choices])
    np.testing.assert_array_equal(found["scores"], EXPECTED[..., 1])


@pytest.mark.parametrize(
    ("left", "added", "is_broken"),
    [(20, 0, False), (16, 4, False), (15, 0, False), (14, 0, True), (0, 0, True), (20, 6, True)],
    ids=["right", "a-fifth-exchanged", "a-quarter", "more", "nothing", "too-many"],
)
def test_a_detector_that_misses_much_is_wrong_in_any_precision(left, added, is_broken):
    """Limits from few contexts in bfloat16 passed an evaluation that found nothing: how many may be missing is bounded too."""
    boxes = [(0, 0.9, 40 * place, 0, 40 * place + 20, 20) for place in range(30)]
    expected, observed = rows(*boxes[:20], places=30), rows(*boxes[:left], *boxes[20 : 20 + added], places=30)
    case = StandardCase("late/evaluation", "predict", "late", ("late/margin",), 0.0, 4, 4)
    choices = comparable({"logits": observed}, {"logits": expected})["choices"]
    broken = check_choices(case, choices, {"logits": expected})
    assert [each.tensor for each in broken] == (["choices"] if is_broken else [])
    if broken:
        assert broken[0].what == f"of 20 detections {20 - left} are missing, and {added} are there besides"


def test_a_number_that_is_off_shows():
    """A score, a box and a mask that are a little off are told apart, each in its own tensor."""
    observed = rows(FIRST, (0, 0.81, 50, 50, 91, 90), THIRD)
    found = compared(observed)
    assert not found["choices"].any()
    assert found["scores"][0, 1] == 0.81
    assert found["boxes"][0, 1].tolist() == [50, 50, 91, 90]
    assert (found["masks"][0, 1] == 0.81).all()


def test_each_detection_stands_for_one():
    """The same detection twice is one counterpart, and one besides."""
    np.testing.assert_array_equal(compared(rows(FIRST, FIRST, SECOND, THIRD))["choices"], [[0, 1]])


@pytest.mark.parametrize("observed", [EXPECTED[:, :3], np.where(EXPECTED == 0.9, np.nan, EXPECTED)], ids=["shape", "nan"])
def test_what_cannot_be_read_is_left_as_it_is(observed):
    """Rows of another shape or with NaN are handed on, for the comparison to refuse."""
    found = compared(observed)
    for name in ("choices", "scores", "boxes", "masks"):
        assert found[name].shape == observed.shape


def test_logits_of_a_classifier_are_not_touched():
    """What is no detector's is compared as it is; so is a detector's step, which predicts nothing."""
    logits = np.ones((2, 3, 8))
    for name, architecture in MODELS.items():
        is_same = architecture.comparable({"logits": logits}, {"logits": logits}).get("logits") is logits
        assert is_same is (name != "tiny_mask_rcnn")
        assert architecture.comparable({"loss": logits}, {"loss": logits})["loss"] is logits

"""A detector is given the oracle's proposals, and its comparisons are put to exact ties."""

import fractions
import types

import numpy as np
import pytest

from runners.contract.kinds import weights
from runners.contract.kinds.regions import anchors
from runners.contract.kinds.table import kind_of
from vigil.recipes.loading import load_recipe
from vigil.verify.inspection import look_at
from vigil.verify.oracle import proposals, step
from vigil.verify.oracle import region_operations as regions
from vigil.verify.oracle.models import fix_choices
from vigil.verify.probes import Probe, outline
from vigil.verify.standard_cases import answer, standard_cases


@pytest.fixture(scope="module")
def detector():
    """Return a training block, batches and the probe of its first state."""
    training = load_recipe("tiny_mask_rcnn").resolve("smoke")
    batches = kind_of(training).make_batches(kind_of(training).load(training["data"], None), training, seed=3)
    state = {name: value.astype(np.float64) for name, value in weights.initial_state(training, seed=3).items()}
    batch = fix_choices(training, state, batches.few(0, 0, count=4))
    return training, batches, Probe("init", 0, 0.02, state, batch, batch, batch, ((0, 0), (0, 0)))


def choices(training, batches, probe):
    """Return the oracle's answer to the case that is about choices."""
    case = next(
        case for case in standard_cases(training, dict.fromkeys(("init", "early", "late"), probe)) if case.kind == "choose"
    )
    return answer(case, training, {"init": probe}, batches)


@pytest.mark.parametrize("profile", ["smoke", "quick", "standard"])
def test_pairs_have_exactly_the_overlap_of_the_threshold(profile):
    """Computed in whole numbers, the overlap is the threshold itself, and in float32 and float64 it is not above it."""
    model = load_recipe("tiny_mask_rcnn").resolve(profile)["model"]
    cells, threshold = anchors(model), model["proposals"]["overlap"]
    pairs = proposals.tied_pairs(model)
    assert len(pairs) >= 10
    for better, worse, move in pairs:
        boxes = np.stack([cells[better] + [move * (cells[better, 2] - cells[better, 0]), 0] * 2, cells[worse]])
        boxes = regions.clip(boxes, 128)
        for dtype in (np.float32, np.float64):
            overlap = regions.box_iou(boxes.astype(dtype), boxes[None].astype(dtype))[0, 0, 1]
            assert not dtype(overlap) > dtype(threshold)
        (left, top, right, bottom), (others_left, _, others_right, _) = boxes.astype(int)
        common = min(right, others_right) - max(left, others_left)
        union = right - left + others_right - others_left - common
        assert fractions.Fraction(common, union) == fractions.Fraction(str(threshold))
        assert bottom > top


def test_a_model_without_ties_is_refused():
    """Where no two anchors can be tied, that is said: the case would test nothing."""
    model = load_recipe("tiny_mask_rcnn").resolve("smoke")["model"]
    model["proposals"] = {**model["proposals"], "overlap": 0.713}
    with pytest.raises(ValueError, match=r"overlap of exactly 0\.713"):
        proposals.tied_pairs(model)


def test_a_threshold_that_is_met_drops_nothing(detector, monkeypatch):
    """The oracle keeps both boxes of a pair; one that drops at the threshold proposes others."""
    right, original = choices(*detector)["output/proposals"], regions.nms

    def at_threshold(boxes, scores, valid, *, threshold, count):
        return original(boxes, scores, valid, threshold=np.nextafter(threshold, 0), count=count)

    monkeypatch.setattr(regions, "nms", at_threshold)
    wrong = choices(*detector)["output/proposals"]
    assert (right != wrong).any()


def test_one_half_of_a_box_is_positive(detector, monkeypatch):
    """A proposal at exactly the threshold counts as its instance; a comparison with > in place of >= samples other regions."""
    right, original = choices(*detector)["output/regions"], regions.match

    def above(iou, valid, *, low, high, forces_best):
        return original(iou, valid, low=low, high=np.nextafter(high, 1), forces_best=forces_best)

    monkeypatch.setattr(regions, "match", above)
    assert (choices(*detector)["output/regions"] != right).any()


def test_given_proposals_are_exact_in_float32(detector):
    """They are the oracle's to a thirty-second of a pixel, and lie on sixteenths, where areas are exact."""
    training, batches, probe = detector
    _, labels = probe.margin
    images, own_labels = batches.few(0, 0, count=4)
    own = step.train_step(training, probe.state, [(images, own_labels)], 0.0)["output/proposals"]
    assert (labels["is_given"] == 1).all()
    assert not own_labels["is_given"].any()
    assert (labels["proposals"] * proposals.GRID == np.rint(labels["proposals"] * proposals.GRID)).all()
    assert 0 < np.abs(labels["proposals"] - own).max() <= 0.5 / proposals.GRID


def test_other_models_are_given_nothing():
    """A batch of a classifier stays the batch that it is."""
    batch = (np.zeros((2, 8, 8, 3)), np.zeros(2))
    assert fix_choices(load_recipe("resnet_cifar").resolve("smoke"), {}, batch) is batch


def test_boxes_keep_their_type_in_low_precision(detector):
    """A layer run alone in bfloat16 reads boxes of float32: rounded to 8 bits they would be other boxes."""
    training, batches, probe = detector

    parts = outline(training, probe.state, probe.margin)
    tape = types.SimpleNamespace(training=training, batches=batches, probes={"init": probe}, outline=parts)
    case = next(case for case in standard_cases(training, dict.fromkeys(("init", "early", "late"), probe)) if case.kind == "step")
    look = look_at(tape, case, precision="bf16")
    exact = step.train_step(training, probe.state, [probe.margin], 0.0)
    np.testing.assert_array_equal(look.leaves["regions"], exact["output/regions"])
    assert np.abs(look.leaves["box.pool"] - exact["output/box.pool"]).max() > 0
    assert not look.cotangents["regions"].any()

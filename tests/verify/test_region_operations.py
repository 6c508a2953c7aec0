"""The oracle's region pieces against values worked out by hand, and its derivatives against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.verify.test_oracle import assert_derivative
from vigil.verify.oracle import region_operations as regions

NOTHING = [[0, 0, 0, 0], [5, 5, 5, 9], [9, 9, 2, 2], [-9, -9, -5, -5]]


def boxes(*rows) -> np.ndarray:
    """Return the rows as the boxes of one image, float64 [1, n, 4]."""
    return np.array([rows], np.float64)


def test_iou_is_the_shared_part():
    """The same box, a half, a quarter inside, a corner of one pixel, neighbours, and nothing."""
    found = regions.box_iou(
        boxes([0, 0, 4, 4]), boxes([0, 0, 4, 4], [0, 0, 4, 2], [1, 1, 3, 3], [3, 3, 7, 7], [4, 0, 8, 4], *NOTHING)
    )
    assert found[0, 0].tolist() == [1, 0.5, 0.25, 1 / 31, 0, 0, 0, 0, 0]


def test_what_has_no_area_overlaps_nothing():
    """Points, lines, boxes turned inside out and boxes elsewhere give 0, with themselves too; only the last has an area."""
    found = regions.box_iou(boxes(*NOTHING), boxes(*NOTHING))
    np.testing.assert_array_equal(found[0], np.diag([0.0, 0.0, 0.0, 1.0]))


def test_deltas_are_moves_and_logarithms():
    """From a box of 10 by 20 about (5, 10) to one of 20 by 10 about (15, 5): one width right, a quarter up, twice, half."""
    found = regions.encode(boxes([5, 0, 25, 10]), boxes([0, 0, 10, 20]), (10, 10, 5, 5))
    np.testing.assert_allclose(found[0, 0], [10.0, -2.5, 5 * math.log(2), -5 * math.log(2)], rtol=1e-15)
    np.testing.assert_allclose(regions.decode(found, boxes([0, 0, 10, 20]), (10, 10, 5, 5))[0, 0], [5, 0, 25, 10], rtol=1e-14)


def test_padding_has_finite_deltas():
    """Sides that are not positive count as one pixel, on either side."""
    found = regions.encode(boxes([0, 0, 0, 0], [2, 2, 6, 6]), boxes([0, 0, 4, 4], [3, 3, 3, 1]), (1, 1, 1, 1))
    np.testing.assert_allclose(found[0], [[-0.5, -0.5, -math.log(4), -math.log(4)], [1, 2, math.log(4), math.log(4)]])


def test_sides_grow_to_a_bound():
    """The logarithm of a side stops at log(1000 / 16), after the weight was taken out; moves and shrinking have no bound."""
    found = regions.decode(boxes([0, 0, 500, 20], [0, 0, 5, -500]), boxes([0, 0, 16, 16], [0, 0, 16, 16]), (10, 10, 5, 5))
    sides = found[0, :, 2:] - found[0, :, :2]
    np.testing.assert_allclose(sides, [[1000, 16 * math.exp(4)], [16 * math.e, 16 * math.exp(-100)]], rtol=1e-12, atol=1e-14)


def test_boxes_are_cut_at_the_border():
    """What is left of a box outside is a line or a point on the border."""
    found = regions.clip(boxes([-3, 2, 12, 5], [11, -4, 15, -2], [20, 30, 40, 50]), 10)
    assert found[0].tolist() == [[0, 2, 10, 5], [10, 0, 10, 0], [10, 10, 10, 10]]


def test_a_match_is_the_best_and_the_first_of_equals():
    """From the upper threshold on it is positive, below the lower negative, and ignored between."""
    iou = np.array([[[0.2, 0.7, 0.7], [0.3, 0.1, 0.0], [0.29, 0.29, 0.2], [0.0, 0.0, 0.0], [0.6, 0.69, 0.9]]])
    options = {"low": 0.3, "high": 0.7, "forces_best": False}
    index, label = regions.match(iou, np.array([[True, True, False]]), **options)
    assert index.tolist() == [[1, 0, 0, 0, 1]]
    assert label.tolist() == [[1, -1, 0, 0, -1]]


def test_every_ground_truth_forces_all_its_best():
    """Both equally good anchors of the first truth, none of the second, which overlaps nothing; indices stay the anchors' own."""
    iou = np.array([[[0.2, 0.0, 0.0], [0.2, 0.0, 0.25], [0.1, 0.0, 0.26]]])
    valid = np.array([[True, True, True]])
    index, label = regions.match(iou, valid, low=0.3, high=0.7, forces_best=True)
    assert index.tolist() == [[0, 2, 2]]
    assert label.tolist() == [[1, 1, 1]]
    assert regions.match(iou, valid & [True, True, False], low=0.3, high=0.7, forces_best=True)[1].tolist() == [[1, 1, 0]]
    assert regions.match(iou, valid & [False, True, False], low=0.3, high=0.7, forces_best=True)[1].tolist() == [[0, 0, 0]]


def test_an_image_without_ground_truth_is_negative():
    """Whatever stands in the padding."""
    index, label = regions.match(np.ones((1, 4, 2)), np.zeros((1, 2), bool), low=0.3, high=0.7, forces_best=True)
    assert not index.any()
    assert not label.any()


def test_positives_are_drawn_first_and_negatives_fill_up():
    """The two positives of the highest priorities, then negatives to five; with fewer of either, what there is."""
    labels = np.array([[1, 1, 0, 1, 0, -1, 0, 0, 0], [0, 1, 0, -1, -1, -1, -1, -1, -1], [-1] * 9])
    priorities = np.array([[3, 8, 0, 5, 6, 7, 1, 2, 4]] * 3)
    positive, negative = regions.sample(labels, priorities, count=5, most_positive=2)
    assert [np.flatnonzero(row).tolist() for row in positive] == [[1, 3], [1], []]
    assert [np.flatnonzero(row).tolist() for row in negative] == [[4, 7, 8], [0, 2], []]
    indices, drawn = regions.listed(positive, negative, count=5)
    assert indices.tolist() == [[1, 3, 4, 7, 8], [1, 0, 2, 3, 4], [0, 1, 2, 3, 4]]
    assert drawn.sum(axis=1).tolist() == [5, 3, 0]


def test_the_largest_come_first_and_the_first_of_equals():
    """Indices rise among equal scores."""
    values, indices = regions.top_k(np.array([[1.0, 3.0, 2.0, 3.0, 2.0]]), 4)
    assert values.tolist() == [[3, 3, 2, 2]]
    assert indices.tolist() == [[1, 3, 2, 4]]


def test_suppression_is_greedy():
    """The second is dropped by the first, so that it cannot drop the third; at the threshold itself a box stays."""
    row = boxes([0, 0, 12, 12], [4, 0, 16, 12], [8, 0, 20, 12], [50, 50, 60, 60])
    scores, valid = np.array([[0.9, 0.8, 0.7, 0.7]]), np.ones((1, 4), bool)
    assert regions.nms(row, scores, valid, threshold=0.49, count=3)[0].tolist() == [[0, 2, 3]]
    assert regions.nms(row, scores, valid, threshold=0.5, count=4)[0].tolist() == [[0, 1, 2, 3]]
    kept, used = regions.nms(row, scores, np.array([[False, True, True, False]]), threshold=0.49, count=3)
    assert kept.tolist() == [[1, 0, 0]]
    assert used.tolist() == [[True, False, False]]


def test_equal_boxes_of_equal_scores_leave_the_first():
    """Of three the first; boxes without area drop nothing, not even their likes."""
    kept, used = regions.nms(boxes(*[[0, 0, 4, 4]] * 3), np.ones((1, 3)), np.ones((1, 3), bool), threshold=0.5, count=2)
    assert (kept.tolist(), used.tolist()) == ([[0, 0]], [[True, False]])
    kept, used = regions.nms(boxes(*[[3, 3, 3, 3]] * 3), np.ones((1, 3)), np.ones((1, 3), bool), threshold=0.5, count=3)
    assert (kept.tolist(), used.all()) == ([[0, 1, 2]], True)


RAMP = np.add.outer(10.0 * np.arange(6), np.arange(5.0))[None, :, :, None]


def test_a_box_on_a_ramp_reads_its_own_places():
    """On a map whose value is 10 * row + column a bin's mean is the value at its middle, half a pixel before the box's own."""
    found, _ = regions.roi_align(RAMP, boxes([8, 16, 24, 32], [4, 4, 4, 4]), stride=8, size=2, samples=2)
    # Columns from 1 to 3 and rows from 2 to 4 in pixels of the map: middles 1.5, 2.5 and 2.5, 3.5, less a half.
    np.testing.assert_allclose(found[0, 0, :, :, 0], [[21, 22], [31, 32]], rtol=1e-14)
    # A point at the centre of the first pixel.
    np.testing.assert_allclose(found[0, 1, :, :, 0], 0, atol=1e-14)


def test_samples_far_outside_are_nothing():
    """To one pixel outside the outer centres the border's value holds, at that pixel too; beyond there is 0."""
    ones = np.ones((1, 6, 5, 1))

    def share(left, right):
        return regions.roi_align(ones, boxes([left, 8, right, 16]), stride=8, size=1, samples=2)[0].item()

    assert share(8, 16) == 1
    assert share(-8, 8) == 1  # samples at -1 and 0
    assert share(-8.1, 8) == 0.5
    assert share(32, 48) == 1  # samples at 4 and 5, where 4 is the last centre
    assert share(32, 48.1) == 0.5
    assert share(80, 90) == 0


def test_a_box_inside_out_is_read_backwards():
    """Its samples run from its left to its right, wherever these are."""
    found, _ = regions.roi_align(RAMP, boxes([24, 16, 8, 32]), stride=8, size=2, samples=2)
    np.testing.assert_allclose(found[0, 0, :, :, 0], [[22, 21], [32, 31]], rtol=1e-14)


def test_a_box_is_pooled_from_the_level_of_its_size():
    """The step is at the canonical size itself; what has no area is small."""
    row = boxes([0, 0, 32, 32], [0, 0, 32, 31], [0, 0, 128, 128], [0, 0, 16, 63], [0, 0, 16, 64], *NOTHING)
    assert regions.level_of(row, canonical=32.0).tolist() == [[1, 0, 1, 0, 1, 0, 0, 0, 0]]
    options = {"strides": (8, 16), "canonical": 32.0, "size": 2, "samples": 2}
    found, _ = regions.pooled(
        np.ones((1, 6, 5, 1)), 2 * np.ones((1, 3, 3, 1)), boxes=boxes([0, 0, 40, 40], [0, 0, 20, 20]), **options
    )
    assert found[0, :, 0, 0, 0].tolist() == [2, 1]


def test_losses_of_single_numbers():
    """Square below beta and linear above; the logarithms of the probabilities."""
    found, _ = regions.smooth_l1(np.array([[0.5, -3.0, 1.0]]), target=np.zeros((1, 3)), beta=1.0)
    assert found.tolist() == [0.125 + 2.5 + 0.5]
    found, _ = regions.sigmoid_cross_entropy(np.array([0.0, 1e4, -1e4, 2.0]), targets=np.array([1.0, 1, 1, 0]))
    np.testing.assert_allclose(found, [math.log(2), 0, 1e4, math.log(1 + math.exp(2))], rtol=1e-15)
    found, _ = regions.softmax_cross_entropy(np.array([[[0.0, math.log(3)], [1e4, 0.0]]]), labels=np.array([[0, 1]]))
    np.testing.assert_allclose(found, [[math.log(4), 1e4]], rtol=1e-15)


GENERATOR = np.random.default_rng(1)
MAP, COARSE = GENERATOR.normal(size=(2, 7, 5, 3)), GENERATOR.normal(size=(2, 3, 3, 3))
ROWS = np.array([[[3.0, 5, 31, 47], [-20, 10, 80, 30], [7, 7, 7, 7], [30, 40, 10, 3]]] * 2) + GENERATOR.uniform(0, 1, (2, 4, 4))
LOGITS = GENERATOR.normal(size=(2, 3, 4))
POOLING = {"boxes": ROWS, "size": 3, "samples": 2}


@pytest.mark.parametrize(
    ("function", "arrays", "options"),
    [
        (regions.roi_align, [MAP], {**POOLING, "stride": 8}),
        (regions.pooled, [MAP, COARSE], {**POOLING, "strides": (8, 16), "canonical": 32.0}),
        (regions.smooth_l1, [LOGITS], {"target": LOGITS[::-1], "beta": 0.5}),
        (regions.sigmoid_cross_entropy, [LOGITS], {"targets": (LOGITS > 0.3).astype(float)}),
        (regions.softmax_cross_entropy, [LOGITS], {"labels": LOGITS.argmin(axis=-1)}),
    ],
)
def test_derivatives_are_those_of_differences(function, arrays, options):
    """Each gradient is the directional derivative."""
    assert_derivative(function, *arrays, **options)


def test_a_derivative_that_lacks_a_corner_is_caught():
    """Without the gradient of one pixel the comparison fails."""

    def lame(features, **options):
        output, backward = regions.roi_align(features, **options)
        return output, lambda gradient: (backward(gradient)[0] * (np.arange(5) > 0)[:, None],)

    with pytest.raises(AssertionError):
        assert_derivative(lame, MAP, **POOLING, stride=8)

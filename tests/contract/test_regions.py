"""Anchors: their number, order and places, and that float32 holds all that is computed of them; random orders."""

from __future__ import annotations

import numpy as np

from runners.contract.kinds import regions

MODEL = {"image_shape": [128, 128, 3], "strides": [8, 16], "anchors": {"scales": [24, 56], "ratios": [0.5, 1.0, 2.0]}}


def test_anchors_lie_by_level_row_column_and_ratio():
    """960 of them; the third index to move is the column, and ratios are heights over widths."""
    anchors = regions.anchors(MODEL)
    assert anchors.shape == (16 * 16 * 3 + 8 * 8 * 3, 4)
    fine, coarse = anchors[:768].reshape(16, 16, 3, 4), anchors[768:].reshape(8, 8, 3, 4)
    assert fine[0, 0].tolist() == [[-13, -4.5, 21, 12.5], [-8, -8, 16, 16], [-4.5, -13, 12.5, 21]]
    assert (fine[2, 5, 1] - fine[0, 0, 1]).tolist() == [40, 16, 40, 16]
    assert coarse[7, 0, 1].tolist() == [8 - 28, 120 - 28, 8 + 28, 120 + 28]
    assert (coarse[0, 0, :, 2:] - coarse[0, 0, :, :2]).tolist() == [[79, 40], [56, 56], [40, 79]]


def test_anchors_fit_images_that_are_not_square():
    """Rows follow the height, and a cell that is cut off by the border counts."""
    anchors = regions.anchors(MODEL | {"image_shape": [24, 41, 3], "strides": [8], "anchors": {"scales": [10], "ratios": [1.0]}})
    centres = ((anchors[:, :2] + anchors[:, 2:]) / 2).reshape(3, 6, 2)
    assert centres[2, 5].tolist() == [44, 20]


def overlaps(anchors: np.ndarray, boxes: np.ndarray, dtype: type) -> np.ndarray:
    """Return intersection over union [anchor, box], computed in a type."""
    anchors, boxes = anchors.astype(dtype)[:, None], boxes.astype(dtype)[None]
    sides = np.maximum(np.minimum(anchors[..., 2:], boxes[..., 2:]) - np.maximum(anchors[..., :2], boxes[..., :2]), 0)
    shared = sides.prod(axis=-1)
    return shared / (
        (anchors[..., 2:] - anchors[..., :2]).prod(axis=-1) + (boxes[..., 2:] - boxes[..., :2]).prod(axis=-1) - shared
    )


def test_float32_finds_the_best_anchors_of_float64():
    """For boxes of whole pixels the same best ones, ties and sides of thresholds; with anchors that are not rounded, others."""
    generator = np.random.default_rng(1)
    corner = generator.integers(0, 100, size=(400, 2))
    boxes = np.concatenate([corner, np.minimum(corner + generator.integers(6, 80, size=(400, 2)), 128)], axis=1)

    def decisions(anchors, dtype):
        found = overlaps(anchors, boxes, dtype)
        return found == found.max(axis=0), found == found.max(axis=1, keepdims=True), found >= dtype(0.7), found < dtype(0.3)

    def are_equal(anchors):
        pairs = zip(decisions(anchors, np.float32), decisions(anchors, np.float64), strict=True)
        return all(np.array_equal(narrow, wide) for narrow, wide in pairs)

    anchors = regions.anchors(MODEL)
    assert are_equal(anchors)
    assert decisions(anchors, np.float64)[0].sum() > 450  # there are ties
    sides = np.tile(np.concatenate([[24 / np.sqrt(r), 24 * np.sqrt(r)] for r in (0.5, 1.0, 2.0)]).reshape(3, 2), (256, 1)) / 2
    centres = (anchors[:768, :2] + anchors[:768, 2:]) / 2
    assert not are_equal(np.concatenate([centres - sides, centres + sides], axis=1))


def test_priorities_are_orders_of_each_row():
    """Every row holds 0 .. n-1 once, in another order than the next, and depends on seed, name and step."""
    found = regions.priorities(3, "anchors", 5, shape=(4, 97))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(np.sort(found, axis=1), np.tile(np.arange(97), (4, 1)))
    assert len({tuple(row) for row in found}) == 4
    for other in ((4, "anchors", 5), (3, "proposals", 5), (3, "anchors", 6)):
        assert (regions.priorities(*other, shape=(4, 97)) != found).mean() > 0.9
    # Each place is equally likely to be the first.
    firsts = np.concatenate([regions.priorities(0, "anchors", step, shape=(50, 7)).argmax(axis=1) for step in range(40)])
    np.testing.assert_allclose(np.bincount(firsts) / 2000, 1 / 7, atol=0.03)

"""Proposals that make the rest of a detector's step continuous: the oracle's own, on a grid.

Which boxes a detector proposes follows from comparisons, and rounding may turn any of them. So a training step that is judged
takes the oracle's proposals in the place of its own. They lie on sixteenths of a pixel: areas, and how every overlap compares
to a threshold, are then exact in float32, and an oracle on another machine finds the same boxes to the bit.

The comparisons themselves are put to a test where nothing rounds (`ties`): boxes at exact thresholds, and scores that are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.kinds.regions import anchors
from vigil.verify.oracle import tiny_mask_rcnn

GRID = 16.0
Batch = tuple[np.ndarray, Any]


def fix(batch: Batch, *, model: dict[str, Any], params: Mapping[str, np.ndarray], statistics: Mapping[str, np.ndarray]) -> Batch:
    """Return a detector's batch with the proposals that the oracle makes of it."""
    own = tiny_mask_rcnn.own_proposals(batch[0], model=model, params=params, statistics=statistics)
    return with_proposals(batch, own)


def with_proposals(batch: Batch, proposals: np.ndarray) -> Batch:
    """Return a detector's batch with these proposals [batch, proposal, 4] in the place of the model's own, on the grid."""
    images, labels = batch
    on_grid = np.rint(np.asarray(proposals, np.float64) * GRID) / GRID
    return images, {**labels, "proposals": on_grid.astype(np.float32), "is_given": np.ones(len(images), np.int32)}


def ties(batch: Batch, model: dict[str, Any]) -> tuple[Batch, dict[str, np.ndarray]]:
    """Return a batch and what proposals are chosen from, for which every number is exact in float32, and comparisons are ties.

    Proposals: of two boxes in the same rows one has exactly the overlap with the other from which on it is kept no more; it still
    is. All other scores come in equal ones, of which the first is the better. Regions: each instance has a proposal that is one
    half of its box, at an overlap of exactly one half, which is enough to be positive.
    """
    images, labels = batch
    cells, rows = anchors(model), len(images)
    scores = np.tile(-(np.arange(len(cells)) // 3 + 1.0), (rows, 1))
    deltas = np.zeros((rows, len(cells), 4))
    for place, (better, worse, move) in enumerate(tied_pairs(model)):
        scores[:, better], scores[:, worse] = 2.0 + place, 1.0
        deltas[:, better, 0] = move * model["anchor_sampling"]["weights"][0]
    halves = labels["boxes"].astype(np.float64)
    halves[..., 2] = (halves[..., 0] + halves[..., 2]) / 2
    proposals = np.zeros((rows, model["proposals"]["count"], 4))
    proposals[:, : halves.shape[1]] = halves
    return with_proposals((images, labels), proposals), {"rpn.objectness": scores, "rpn.deltas": deltas}


def tied_pairs(model: dict[str, Any]) -> list[tuple[int, int, float]]:
    """Return (anchor, other anchor, move) of which the first, moved right by half its width, has the threshold's overlap exactly.

    The other one sticks out of the image, and what is cut off of it makes it narrower. Raises ValueError if there are none.
    """
    cells, side, overlap = anchors(model), model["image_shape"][1], model["proposals"]["overlap"]
    width = cells[:, 2] - cells[:, 0]
    left, right = cells[:, 0] + width / 2, np.minimum(cells[:, 2] + width / 2, side)
    others = np.flatnonzero((cells[:, 2] > side) & (cells[:, 1] >= 0) & (cells[:, 3] <= model["image_shape"][0]))
    pairs: list[tuple[int, int, float]] = []
    for other in others:
        start = np.maximum(left, cells[other, 0])
        common = np.maximum(right - start, 0.0)
        union = (right - left) + (side - cells[other, 0]) - common
        same_rows = (cells[:, 1::2] == cells[other, 1::2]).all(axis=1)
        is_tied = same_rows & (common > 0) & (common == np.rint(overlap * union)) & (np.abs(common - overlap * union) < 1e-9)
        pairs += [(int(anchor), int(other), 0.5) for anchor in np.flatnonzero(is_tied) if anchor != other]
    if not pairs:
        raise ValueError(f"no two anchors of {model['anchors']} have an overlap of exactly {overlap} at an image's edge")
    return pairs

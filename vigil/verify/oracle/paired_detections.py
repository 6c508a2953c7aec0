"""A detector's detections, made comparable: rounding may exchange two detections in their order, and drop one at a threshold.

So a detection is held to the one that it stands for, wherever it stands, and how many stand for none is counted: choices are
compared as choices, and numbers as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vigil.verify.oracle.region_operations import box_iou

# Two detections of one class overlap by one half at most: at more than this, only one of them can be meant.
_SAME = 0.75
Tensors = dict[str, np.ndarray]


def comparable(answer: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> Tensors:
    """Return an answer with a detector's rows, `logits` [image, detection, 6 + cells], as tensors that can be compared.

    choices: [image, 2], how many of the expected detections have no counterpart, and how many are there besides.
    scores, boxes, masks: those of the counterparts, in the place of the expected ones; where there is none, the expected numbers.

    An answer that expects no detections is returned as it is; so are rows that cannot be read, as of a wrong shape.
    """
    wanted, rows = expected.get("logits"), answer.get("logits")
    if wanted is None:
        return dict(answer)
    result = {name: tensor for name, tensor in answer.items() if name != "logits"}
    if rows is None:
        return result
    if np.shape(rows) != np.shape(wanted) or not np.isfinite(rows).all():
        return result | dict.fromkeys(("choices", "scores", "boxes", "masks"), np.asarray(rows))
    rows = np.asarray(rows, np.float64)
    paired, choices = wanted.copy(), np.zeros((len(wanted), 2))
    for image in range(len(wanted)):
        pairs = _pairs(wanted[image], rows[image])
        for place, counterpart in pairs:
            paired[image, place] = rows[image, counterpart]
        choices[image] = (wanted[image, :, 0] >= 0).sum() - len(pairs), (rows[image, :, 0] >= 0).sum() - len(pairs)
    return result | {"choices": choices, "scores": paired[..., 1], "boxes": paired[..., 2:6], "masks": paired[..., 6:]}


def _pairs(wanted: np.ndarray, rows: np.ndarray) -> list[tuple[int, int]]:
    """Return (place among the wanted, place among the rows) of detections [detection, number] that mean the same."""
    overlaps = box_iou(wanted[None, :, 2:6], rows[None, :, 2:6])[0]
    overlaps[(wanted[:, None, 0] != rows[None, :, 0]) | (wanted[:, None, 0] < 0)] = 0.0
    pairs = []
    while overlaps.size and overlaps.max() > _SAME:
        place, counterpart = np.unravel_index(overlaps.argmax(), overlaps.shape)
        pairs.append((int(place), int(counterpart)))
        overlaps[place], overlaps[:, counterpart] = 0.0, 0.0
    return pairs

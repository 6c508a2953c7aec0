"""From a mask of a box to a mask of the image."""

from __future__ import annotations

import numpy as np

THRESHOLD = 0.5


def paste_mask(probabilities: np.ndarray, box: np.ndarray, *, height: int, width: int) -> np.ndarray:
    """Return where in the image an instance is, bool [height, width].

    The m x m cells divide the box evenly, and a value is that of its cell's centre. The image's pixel in row r and column c
    has its centre at (r + 1/2, c + 1/2), which lies at

        i = (r + 1/2 - top) / (bottom - top) * m - 1/2    and    j = (c + 1/2 - left) / (right - left) * m - 1/2

    in cells. Its value is interpolated bilinearly between the four cells around (i, j); a cell that does not exist is 0. The
    pixel is in the mask if the value is at least 1/2. A box may lie partly or wholly outside the image; one without area has no
    pixel. All is computed in float64, rows first. This is the rule of Detectron2's paste_masks_in_image, and of torch's
    grid_sample with align_corners=False and zeros as padding.

    Args:
        probabilities: 0 to 1, [m, m]. box: left, top, right, bottom in pixels, [4].
    """
    left, top, right, bottom = (float(edge) for edge in box)
    pasted = np.zeros((height, width), bool)
    rows, above, down = _places(top, bottom, cells=len(probabilities), pixels=height)
    columns, before, along = _places(left, right, cells=len(probabilities), pixels=width)
    padded = np.pad(probabilities.astype(np.float64), 1)
    by_row = padded[above] + (padded[above + 1] - padded[above]) * down[:, None]
    pasted[rows, columns] = by_row[:, before] + (by_row[:, before + 1] - by_row[:, before]) * along >= THRESHOLD
    return pasted


def _places(low: float, high: float, *, cells: int, pixels: int) -> tuple[slice, np.ndarray, np.ndarray]:
    """Return which pixels have a cell beside them, the one before each in the padded mask, and how far each is beyond it."""
    if high <= low:
        return slice(0, 0), np.zeros(0, np.int64), np.zeros(0)
    position = (np.arange(pixels) + 0.5 - low) / (high - low) * cells - 0.5
    inside = np.flatnonzero((position > -1) & (position < cells))
    if not len(inside):
        return slice(0, 0), np.zeros(0, np.int64), np.zeros(0)
    position = position[inside]
    first = np.floor(position)
    return slice(inside[0], inside[-1] + 1), first.astype(np.int64) + 1, position - first

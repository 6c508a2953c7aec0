"""From an image of any size to a square of a recipe's side; masks go the same way, exactly.

The longer edge becomes the side, the shorter one is scaled alike and rounded; the image lies in the upper left corner, and what
is left of the square is gray. A new pixel is the mean of what lies under its area, rounded half up, and a mask has it if at least
half of its area is covered. In whole numbers, so that no library moves a pixel; an image of that size already stays as it is.
"""

from __future__ import annotations

import functools

import numpy as np

GRAY = 128


def fit_image(image: np.ndarray, side: int) -> np.ndarray:
    """Return uint8 [side, side, channel] of an image uint8 [height, width, channel]."""
    height, width = fitted_size(*image.shape[:2], side=side)
    area = image.shape[0] * image.shape[1]
    square = np.full((side, side, image.shape[2]), GRAY, np.uint8)
    for channel in range(image.shape[2]):
        square[:height, :width, channel] = (2 * _covered(image[..., channel], height, width) + area) // (2 * area)
    return square


def fit_mask(mask: np.ndarray, side: int) -> np.ndarray:
    """Return bool [side, side] of a mask bool [height, width]."""
    height, width = fitted_size(*mask.shape, side=side)
    square = np.zeros((side, side), bool)
    square[:height, :width] = 2 * _covered(mask, height, width) >= mask.size
    return square


def fitted_size(height: int, width: int, *, side: int) -> tuple[int, int]:
    """Return height and width within the square, each at least 1."""
    longer = max(height, width)
    rows, columns = (max(1, (2 * edge * side + longer) // (2 * longer)) for edge in (height, width))
    return rows, columns


def _covered(values: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return int64 [height, width]: the sum of values times the area under each new pixel, of which a whole one is values.size.

    Every product and sum is a whole number far below 2**53, so that float64, which is fast, is exact.
    """
    rows, columns = _overlaps(values.shape[0], height), _overlaps(values.shape[1], width)
    return (rows @ values.astype(np.float64) @ columns.T).astype(np.int64)


@functools.lru_cache(maxsize=64)
def _overlaps(old: int, new: int) -> np.ndarray:
    """Return float64 [new, old]: the length that a new pixel and an old one share, where a new one is `old` long."""
    old_edges, new_edges = np.arange(old + 1) * new, np.arange(new + 1) * old
    ends = np.minimum(old_edges[None, 1:], new_edges[1:, None])
    return np.maximum(ends - np.maximum(old_edges[None, :-1], new_edges[:-1, None]), 0).astype(np.float64)

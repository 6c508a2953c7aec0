"""Boxes as detectors use them: anchors, and what the three runners' region pieces have in common.

A box is (left, top, right, bottom) in pixels; pixel i covers [i, i + 1], so that an image of 128 pixels spans 0 to 128.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runners.contract.data import streams

# The largest logarithm of a side over the anchor's that decoding takes, as in torchvision and detectron2.
LARGEST_LOG_SIDE = math.log(1000.0 / 16.0)


def anchors(model: dict[str, Any]) -> np.ndarray:
    """Return every anchor, float64 [anchor, 4], ordered by level, row, column, ratio (Ren et al. 2015, arXiv 1506.01497, 3.1.1).

    An anchor lies about the centre of its cell. Its area is about scale ** 2, its height over its width about the ratio: the
    sides are rounded to whole pixels, so that all corners are on halves. Areas, intersections and unions with boxes of whole
    pixels are then exact in float32, and every framework, machine and compiler finds the same best anchors and the same ties.

    Args:
        model: `image_shape` (height, width, channels), `strides` of the levels, `anchors`: `scales`, one a level, and `ratios`.
    """
    height, width = model["image_shape"][:2]
    found = []
    for stride, scale in zip(model["strides"], model["anchors"]["scales"], strict=True):
        ratios = np.sqrt(np.array(model["anchors"]["ratios"], np.float64))
        half = np.rint(np.stack([scale / ratios, scale * ratios], axis=1)) / 2
        down, across = ((np.arange(-(-side // stride)) + 0.5) * stride for side in (height, width))
        y, x = np.meshgrid(down, across, indexing="ij")
        centre = np.stack([x, y], axis=-1)[:, :, None]
        found.append(np.concatenate([centre - half, centre + half], axis=-1).reshape(-1, 4))
    return np.concatenate(found)


def priorities(seed: int, name: str, step: int, *, shape: tuple[int, int]) -> np.ndarray:
    """Return int32 [batch, n], each row a random order of 0 .. n-1.

    Whole numbers, as two uniform draws that float64 tells apart can be one number in float32.
    """
    batch, n = shape
    words = streams.raw(seed, name, step, count=batch * n).reshape(batch, n)
    return np.argsort(words, axis=1, kind="stable").astype(np.int32)

"""Windows that slide over the last axes of an array: what convolutions, pooling and patches have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# "same", "valid" or how much is added before and behind each of the last axes.
Padding = str | Sequence[Sequence[int]]


def at(*places: Any) -> Any:
    """Return an index of the last axes."""
    return (..., *places)


def amounts(
    padding: Padding, sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """Return how much is added before and behind each axis.

    same: as much as gives ceil(size / stride) windows, the odd one behind (https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2).
    """
    if padding == "valid":
        return [(0, 0)] * len(window)
    if padding != "same":
        return [(int(before), int(behind)) for before, behind in padding]
    found = []
    for size, width, stride, spread in zip(sizes, window, strides, dilation, strict=True):
        total = max(0, (-(-size // stride) - 1) * stride + (width - 1) * spread + 1 - size)
        found.append((total // 2, total - total // 2))
    return found


def padded(x: np.ndarray, pairs: Sequence[Sequence[int]], value: float = 0.0) -> np.ndarray:
    """Return an array with a value around its last axes."""
    return np.pad(x, [(0, 0)] * (x.ndim - len(pairs)) + [(before, behind) for before, behind in pairs], constant_values=value)


def windows(x: np.ndarray, window: Sequence[int], strides: Sequence[int], dilation: Sequence[int]) -> np.ndarray:
    """Return the windows of the last axes, [..., *places, *window]."""
    axes = tuple(range(x.ndim - len(window), x.ndim))
    spans = tuple((width - 1) * spread + 1 for width, spread in zip(window, dilation, strict=True))
    found = np.lib.stride_tricks.sliding_window_view(x, spans, axes)
    places = tuple(slice(None, None, stride) for stride in strides)
    return found[at(*places, *(slice(None, None, spread) for spread in dilation))]

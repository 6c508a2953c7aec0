"""Padding: what stands around the last axes of an array. Widths below zero cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument, normal, spread
from vigil.audit.entry import operator
from vigil.audit.windows import at

NUMPY = "https://numpy.org/doc/stable/reference/generated/numpy.pad.html"
LAX = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.pad.html"
_SPACE = ("d", "h", "w")


def _sizes(rank: int, *rows: Sequence[int]) -> list[Mapping[str, int]]:
    return [dict(zip(("n", "c", *_SPACE[-rank:]), row, strict=True)) for row in rows]


SIZES = {
    1: _sizes(1, (2, 3, 7), (1, 2, 1027), (3, 5, 33), (1, 2, 4099), (1, 1, 5)),
    2: _sizes(2, (1, 2, 5, 6), (1, 1, 40, 33), (2, 5, 9, 11), (1, 33, 5, 7), (1, 1, 5, 5)),
    3: _sizes(3, (1, 1, 4, 3, 5), (1, 2, 9, 8, 7), (2, 3, 5, 6, 7)),
}
_WIDTHS = {
    1: [[[2, 1]], [[0, 3]], [[4, 0]], [[1, 1]]],
    2: [[[2, 1], [0, 3]], [[1, 1], [1, 1]], [[0, 4], [4, 0]], [[2, 2], [3, 3]]],
    3: [[[2, 1], [0, 2], [1, 3]], [[1, 1], [1, 1], [1, 1]], [[0, 0], [2, 1], [0, 4]]],
}
WIDTHS = {rank: [{"widths": each} for each in rows] for rank, rows in _WIDTHS.items()}
VALUES = {
    rank: [{"widths": each, "value": value} for each, value in zip(rows, (0.0, 1.5, -2.0, 0.0), strict=False)]
    for rank, rows in _WIDTHS.items()
}
NEGATIVE = {
    1: [{"widths": [[-2, 3]]}, {"widths": [[1, -1]]}, {"widths": [[-1, -2]]}, {"widths": [[-2, 0]]}],
    2: [
        {"widths": [[-1, 2], [0, -2]]},
        {"widths": [[-2, -1], [3, -1]]},
        {"widths": [[-1, -1], [0, -2]]},
        {"widths": [[1, 1], [-1, -1]]},
    ],
    3: [{"widths": [[-1, 2], [0, -1], [1, 1]]}, {"widths": [[0, 0], [-1, 0], [0, -2]]}, {"widths": [[0, 0], [-1, 0], [-2, 1]]}],
}


def _input(rank: int) -> Argument:
    return normal("n", "c", *_SPACE[-rank:])


def _all(x: np.ndarray, widths: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [(0, 0)] * (x.ndim - len(widths)) + [(before, behind) for before, behind in widths]


def _cut(x: np.ndarray, widths: Any) -> np.ndarray:
    if any(size + min(0, before) + min(0, behind) < 0 for (before, behind), size in zip(widths, x.shape[2:], strict=True)):
        raise ValueError("more is taken away than there is")
    cut = tuple(
        slice(max(0, -before), size - max(0, -behind)) for (before, behind), size in zip(widths, x.shape[2:], strict=True)
    )
    return np.pad(x[at(*cut)], _all(x, [(max(0, before), max(0, behind)) for before, behind in widths]))


def _constant(x: np.ndarray, widths: Any, value: float) -> np.ndarray:
    return np.pad(x, _all(x, widths), constant_values=value)


@operator(source=NUMPY, sizes=SIZES[1], parameters=VALUES[1], takes_any=True, x=_input(1))
def pad_constant_1d(x: np.ndarray, widths: Any, value: float) -> np.ndarray:
    """A constant value around."""
    return _constant(x, widths, value)


@operator(source=NUMPY, sizes=SIZES[2], parameters=VALUES[2], takes_any=True, x=_input(2))
def pad_constant_2d(x: np.ndarray, widths: Any, value: float) -> np.ndarray:
    """A constant value around."""
    return _constant(x, widths, value)


@operator(source=NUMPY, sizes=SIZES[3], parameters=VALUES[3], takes_any=True, x=_input(3))
def pad_constant_3d(x: np.ndarray, widths: Any, value: float) -> np.ndarray:
    """A constant value around."""
    return _constant(x, widths, value)


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], takes_any=True, x=_input(1))
def pad_reflect_1d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands inside, mirrored at the outermost elements."""
    return np.pad(x, _all(x, widths), mode="reflect")


@operator(source=NUMPY, sizes=SIZES[2], parameters=WIDTHS[2], takes_any=True, x=_input(2))
def pad_reflect_2d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands inside, mirrored at the outermost elements."""
    return np.pad(x, _all(x, widths), mode="reflect")


@operator(source=NUMPY, sizes=SIZES[3], parameters=WIDTHS[3], takes_any=True, x=_input(3))
def pad_reflect_3d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands inside, mirrored at the outermost elements."""
    return np.pad(x, _all(x, widths), mode="reflect")


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], takes_any=True, x=_input(1))
def pad_symmetric_1d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands inside, mirrored behind the outermost elements."""
    return np.pad(x, _all(x, widths), mode="symmetric")


@operator(source=NUMPY, sizes=SIZES[2], parameters=WIDTHS[2], takes_any=True, x=_input(2))
def pad_symmetric_2d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands inside, mirrored behind the outermost elements."""
    return np.pad(x, _all(x, widths), mode="symmetric")


@operator(source=NUMPY, sizes=SIZES[3], parameters=WIDTHS[3], takes_any=True, x=_input(3))
def pad_symmetric_3d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands inside, mirrored behind the outermost elements."""
    return np.pad(x, _all(x, widths), mode="symmetric")


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], takes_any=True, x=_input(1))
def pad_edge_1d(x: np.ndarray, widths: Any) -> np.ndarray:
    """The outermost elements again."""
    return np.pad(x, _all(x, widths), mode="edge")


@operator(source=NUMPY, sizes=SIZES[2], parameters=WIDTHS[2], takes_any=True, x=_input(2))
def pad_edge_2d(x: np.ndarray, widths: Any) -> np.ndarray:
    """The outermost elements again."""
    return np.pad(x, _all(x, widths), mode="edge")


@operator(source=NUMPY, sizes=SIZES[3], parameters=WIDTHS[3], takes_any=True, x=_input(3))
def pad_edge_3d(x: np.ndarray, widths: Any) -> np.ndarray:
    """The outermost elements again."""
    return np.pad(x, _all(x, widths), mode="edge")


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], takes_any=True, x=_input(1))
def pad_circular_1d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands at the other side."""
    return np.pad(x, _all(x, widths), mode="wrap")


@operator(source=NUMPY, sizes=SIZES[2], parameters=WIDTHS[2], takes_any=True, x=_input(2))
def pad_circular_2d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands at the other side."""
    return np.pad(x, _all(x, widths), mode="wrap")


@operator(source=NUMPY, sizes=SIZES[3], parameters=WIDTHS[3], takes_any=True, x=_input(3))
def pad_circular_3d(x: np.ndarray, widths: Any) -> np.ndarray:
    """What stands at the other side."""
    return np.pad(x, _all(x, widths), mode="wrap")


@operator(source=LAX, sizes=SIZES[1], parameters=NEGATIVE[1], takes_any=True, x=_input(1))
def pad_negative_1d(x: np.ndarray, widths: Any) -> np.ndarray:
    """Zeros around, or less than there was."""
    return _cut(x, widths)


@operator(source=LAX, sizes=SIZES[2], parameters=NEGATIVE[2], takes_any=True, x=_input(2))
def pad_negative_2d(x: np.ndarray, widths: Any) -> np.ndarray:
    """Zeros around, or less than there was."""
    return _cut(x, widths)


@operator(source=LAX, sizes=SIZES[3], parameters=NEGATIVE[3], takes_any=True, x=_input(3))
def pad_negative_3d(x: np.ndarray, widths: Any) -> np.ndarray:
    """Zeros around, or less than there was."""
    return _cut(x, widths)


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], x=normal("n", "c", "w"))
def pad_linear_ramp(x: np.ndarray, widths: Any) -> np.ndarray:
    """A line to an end value around."""
    return np.pad(x, _all(x, widths), mode="linear_ramp", end_values=1.5)


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], x=normal("n", "c", "w"))
def pad_mean(x: np.ndarray, widths: Any) -> np.ndarray:
    """The mean of the axis around."""
    return np.pad(x, _all(x, widths), mode="mean")


@operator(source=NUMPY, sizes=[SIZES[1][0], SIZES[1][2], SIZES[1][4]], parameters=WIDTHS[1], x=spread("n", "c", "w"))
def pad_maximum(x: np.ndarray, widths: Any) -> np.ndarray:
    """The largest along the axis around."""
    return np.pad(x, _all(x, widths), mode="maximum")


@operator(source=NUMPY, sizes=[SIZES[1][0], SIZES[1][2], SIZES[1][4]], parameters=WIDTHS[1], x=spread("n", "c", "w"))
def pad_minimum(x: np.ndarray, widths: Any) -> np.ndarray:
    """The smallest along the axis around."""
    return np.pad(x, _all(x, widths), mode="minimum")


@operator(source=NUMPY, sizes=[SIZES[1][0], SIZES[1][2], SIZES[1][4]], parameters=WIDTHS[1], x=spread("n", "c", "w"))
def pad_median(x: np.ndarray, widths: Any) -> np.ndarray:
    """The median of the axis around."""
    return np.pad(x, _all(x, widths), mode="median")


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], x=normal("n", "c", "w"))
def pad_reflect_odd(x: np.ndarray, widths: Any) -> np.ndarray:
    """Twice the outermost element less what stands inside, mirrored."""
    return np.pad(x, _all(x, widths), mode="reflect", reflect_type="odd")


@operator(source=NUMPY, sizes=SIZES[1], parameters=WIDTHS[1], x=normal("n", "c", "w"))
def pad_symmetric_odd(x: np.ndarray, widths: Any) -> np.ndarray:
    """Twice the outermost element less what stands inside, mirrored behind it."""
    return np.pad(x, _all(x, widths), mode="symmetric", reflect_type="odd")


@operator(
    source=LAX,
    sizes=[{"h": 4, "w": 5}, {"h": 1, "w": 1}, {"h": 7, "w": 33}],
    parameters=[{"widths": [[1, 0, 2], [0, 2, 1]]}, {"widths": [[-1, 3, 1], [0, 1, 0]]}, {"widths": [[2, -1, 1], [-1, 1, 3]]}],
    x=normal("h", "w"),
    value=normal(),
)
def pad_between(x: np.ndarray, value: np.ndarray, widths: Any) -> np.ndarray:
    """A value before, behind and between elements; a width below zero cuts off of what there is then."""
    shape = [max(0, (size - 1) * (inside + 1) + 1) for size, (_, _, inside) in zip(x.shape, widths, strict=True)]
    wide = np.full(shape, value)
    wide[tuple(slice(None, None, inside + 1) for _, _, inside in widths)] = x
    cut = tuple(slice(max(0, -before), size - max(0, -behind)) for (before, behind, _), size in zip(widths, shape, strict=True))
    around = [(max(0, before), max(0, behind)) for before, behind, _ in widths]
    return np.pad(wide[cut], around, constant_values=value)

"""How far one tensor is from another: all that is kept of the two, so that no large tensor leaves the process that made it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

MISSING, UNEXPECTED, NOT_FINITE = "missing", "unexpected", "not finite"
Arrays = Mapping[str, np.ndarray]
# distance, slope less 1, intercept
Line = tuple[float, float, float]


def regress(difference: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """Return slope - 1 and intercept of observed on expected by least squares; the intercept in units of expected's rms.

    Taken of difference = observed - expected, whose digits would be lost beside those of the tensors. Fewer than 8 elements,
    or equal ones, leave no room for an intercept: the line goes through 0. Of zeros: (nan, nan).
    """
    x, d = np.asarray(expected, np.float64).ravel(), np.asarray(difference, np.float64).ravel()
    size = float(np.sqrt(np.mean(x * x))) if x.size else 0.0
    if not size > 0:
        return float("nan"), float("nan")
    centred = x - x.mean()
    if x.size < 8 or float(np.sqrt(np.mean(centred * centred))) < 1e-6 * size:
        return float(x @ d / (x @ x)), 0.0
    excess = float(centred @ d / (centred @ centred))
    return excess, float((d.mean() - excess * x.mean()) / size)


def line_of(observed: np.ndarray, expected: np.ndarray) -> Line:
    """Return how far a tensor is from what is expected, and in which direction. Both are finite and of one shape."""
    difference = np.asarray(observed, np.float64) - np.asarray(expected, np.float64)
    return (float(np.linalg.norm(difference)), *regress(difference, expected))


def lines_of(observed: Arrays, expected: Arrays) -> dict[str, Line | str]:
    """Return the line of each expected tensor, in their order, or the problem in words where there is none."""
    found: dict[str, Line | str] = {}
    for name, tensor in expected.items():
        found[name] = MISSING if name not in observed else _line_or_problem(np.asarray(observed[name]), tensor)
    return found | dict.fromkeys((name for name in observed if name not in expected), UNEXPECTED)


def _line_or_problem(observed: np.ndarray, expected: np.ndarray) -> Line | str:
    if observed.shape != expected.shape:
        return f"shape {list(observed.shape)}, expected {list(expected.shape)}"
    if np.iscomplexobj(observed) or np.iscomplexobj(expected):
        observed, expected = _parts(observed), _parts(expected)
    values, right = np.asarray(observed, np.float64), np.asarray(expected, np.float64)
    # Both may be infinite, as a mask is; they are equal there, or the tensors are not comparable.
    is_number, is_right = np.isfinite(values), np.isfinite(right)
    is_wrong = ~(is_number & is_right) & ~((values == right) | (np.isnan(values) & np.isnan(right)))
    if (is_wrong & ~is_number).any():
        return f"{int((is_wrong & ~is_number).sum())} of {values.size} values are {NOT_FINITE}"
    if is_wrong.any():
        return f"{int(is_wrong.sum())} of {values.size} values are numbers, expected {right[is_wrong][0]}"
    return line_of(values[is_right], right[is_right])


def _parts(array: np.ndarray) -> np.ndarray:
    """Return the real and the imaginary parts of numbers, along a last axis."""
    return np.stack([np.real(array), np.imag(array)], axis=-1)

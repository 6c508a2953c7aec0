"""How the arguments of an audited operator are drawn: from a generator, for given sizes, in float64.

A dimension is a number, or a name that the entry's sizes give a number to. Values keep away from where a derivative jumps: a
difference across a kink is no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

Dimension = int | str
Draw = Callable[[np.random.Generator, tuple[int, ...], Mapping[str, int]], np.ndarray]
_SPACING = 0.25  # between values that are compared with each other: bfloat16 tells them apart up to 32


class Argument(NamedTuple):
    """One argument: its shape, how it is drawn, and whether gradients go to it."""

    dims: tuple[Dimension, ...]
    draw: Draw
    is_differentiated: bool = True

    def fixed(self) -> Argument:
        """Return the same argument without a gradient."""
        return self._replace(is_differentiated=False)

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape for some sizes."""
        return tuple(_size(each, sizes) for each in self.dims)


def _size(dimension: Dimension, sizes: Mapping[str, int]) -> int:
    return sizes[dimension] if isinstance(dimension, str) else dimension


def twice(x: np.ndarray, axes: Iterable[int]) -> np.ndarray:
    """Return an array with each number twice, one beside the other, along each of some axes."""
    for axis in axes:
        x = np.repeat(x, 2, axis)
    return x


def normal(*dims: Dimension, mean: float = 0.0, scale: float = 1.0) -> Argument:
    """Return an argument of normal numbers."""
    return Argument(dims, lambda random, shape, sizes: mean + scale * random.standard_normal(shape))


def uniform(low: float, high: float, *dims: Dimension) -> Argument:
    """Return an argument of numbers between low and high."""
    return Argument(dims, lambda random, shape, sizes: random.uniform(low, high, shape))


def positive(*dims: Dimension) -> Argument:
    """Return an argument of numbers between 0.25 and 4, as many below 1 as above."""
    return Argument(dims, lambda random, shape, sizes: np.exp2(random.uniform(-2.0, 2.0, shape)))


def away(*dims: Dimension, kinks: tuple[float, ...] = (0.0,), scale: float = 1.0, margin: float = 0.05) -> Argument:
    """Return an argument of normal numbers, none nearer than a margin to where the derivative jumps."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        values = scale * random.standard_normal(shape)
        for kink in kinks:
            near = np.abs(values - kink) < margin
            values = np.where(near, kink + np.where(values < kink, -margin, margin) * (1 + np.abs(values - kink)), values)
        return values

    return Argument(dims, draw)


def spread(*dims: Dimension, axis: int | None = -1) -> Argument:
    """Return an argument whose values along an axis (None: all) are all different by a quarter at least, in random order.

    More than 256 along the axis do not fit a short range: then only every 256 neighbours differ by as much.
    """

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        count = int(np.prod(shape)) if axis is None else shape[axis]
        rows = int(np.prod(shape)) // max(count, 1)
        base = (np.arange(count) % 256 - min(count, 256) // 2) * _SPACING + (np.arange(count) // 256) * 2.0**-6
        orders = np.stack([random.permutation(base) for _ in range(rows)]) if rows else np.zeros((0, count))
        if axis is None:
            return orders.reshape(shape)
        moved = (*np.delete(shape, axis), count)
        return np.moveaxis(orders.reshape(moved), -1, axis)

    return Argument(dims, draw)


def integers(low: int, high: int | str, *dims: Dimension) -> Argument:
    """Return an argument of whole numbers from low to below high, which may be the name of a size."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return random.integers(low, _size(high, sizes), shape)

    return Argument(dims, draw, is_differentiated=False)


def permutation(of: str, *more: Dimension) -> Argument:
    """Return an argument of the numbers from 0 to below a size, each once, in random order along the first axis."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return random.permuted(np.broadcast_to(np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1)), shape), axis=0)

    return Argument((of, *more), draw, is_differentiated=False)


def ascending(low: int, high: int | str, *dims: Dimension) -> Argument:
    """Return an argument of whole numbers that never fall along the last axis: ids of segments, offsets."""
    drawn = integers(low, high, *dims).draw
    return Argument(dims, lambda random, shape, sizes: np.sort(drawn(random, shape, sizes), axis=-1), is_differentiated=False)


def mask(*dims: Dimension, share: float = 0.7) -> Argument:
    """Return an argument of truth values, a share of them true, and the first along the last axis always."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = random.random(shape) < share
        if shape and shape[-1]:
            found[..., 0] = True
        return found

    return Argument(dims, draw, is_differentiated=False)


def drawn(draw: Draw, *dims: Dimension, is_differentiated: bool = True) -> Argument:
    """Return an argument with a way of drawing of its own, (generator, shape, sizes) -> array."""
    return Argument(dims, draw, is_differentiated)

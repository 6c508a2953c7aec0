"""What an operator is tried on: sizes around powers of two and tiles, values at the edge, layouts, precisions."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

from runners.contract.operators.own import OperatorFile, is_floating
from runners.contract.steps.own import Batch, map_leaves

USUAL, SIZE, VALUES, LAYOUT, PRECISION = "usual", "size", "values", "layout", "precision"
PLAIN, GIVEN = "plain", "given"
# How an argument may lie in memory; `expanded`: the gradient of a sum, one number for all elements.
LAYOUTS = ("transposed", "strided", "offset", "expanded")
_TOGETHER = 12
_OTHER_SEEDS = 4
_SEED = 1997
_LARGE = {"fp32": 1e4, "bf16": 1e4, "fp16": 16.0}
_SMALL = 1e-4
UNITS = {"fp32": 2.0**-24, "bf16": 2.0**-8, "fp16": 2.0**-11}


class Trial(NamedTuple):
    """One set of inputs. group: why it is tried."""

    group: str
    seed: int
    sizes: dict[str, int]
    precision: str
    values: str = GIVEN
    layout: str = PLAIN


def plan(file: OperatorFile, *, precisions: tuple[str, ...], seeds: int, has_layouts: bool) -> list[Trial]:
    """Return what is tried, in order: the usual sizes with many seeds, then everything else with one each."""
    first = precisions[0]
    usual = file.usual
    trials = [Trial(USUAL, seed, usual, first) for seed in range(seeds)]
    tried = {name: around(file, name) for name in usual}
    apart = [usual | {name: size} for name, sizes in tried.items() for size in sizes if size != usual[name]]
    chosen = random.Random(_SEED)
    together = [{name: chosen.choice(sizes) for name, sizes in tried.items()} for _ in range(_TOGETHER if len(tried) > 1 else 0)]
    trials += [Trial(SIZE, 0, sizes, first) for sizes in [*apart, *together]]
    trials += [Trial(VALUES, 0, usual, first, values=each) for each in VALUES_AT_THE_EDGE]
    if has_layouts:
        trials += [Trial(LAYOUT, 0, usual, first, layout=each) for each in LAYOUTS]
    for precision in precisions[1:]:
        trials += [Trial(PRECISION, seed, usual, precision) for seed in range(_OTHER_SEEDS)]
        edges = [usual | {name: size} for name, sizes in tried.items() for size in {sizes[0], sizes[-1]} - {usual[name]}]
        trials += [Trial(PRECISION, 0, sizes, precision) for sizes in edges]
    return trials


def around(file: OperatorFile, name: str) -> list[int]:
    """Return the sizes to try: those that the file allows; else the least, and all around powers of two and the tile."""
    if name in file.sizes:
        return list(file.sizes[name])
    usual, tile = file.usual[name], file.tiles.get(name)
    largest = max(2 * usual, 2 * tile + 1 if tile else 0)
    found = {1, 2, 3, usual}
    power = 4
    while power <= largest:
        found |= {power - 1, power, power + 1}
        power *= 2
    if tile:
        found |= {each + more for each in (tile, 2 * tile) for more in (-1, 0, 1)}
    return sorted(each for each in found if 1 <= each <= largest)


def arranged(inputs: Batch, trial: Trial) -> Batch:
    """Return inputs with the values of the trial: each number one that its precision has, in float32."""
    change = _CHANGES[trial.values]
    return map_leaves(lambda leaf: rounded(change(leaf, trial.precision), trial.precision) if is_floating(leaf) else leaf, inputs)


def rounded(array: np.ndarray, precision: str) -> np.ndarray:
    """Return float32 numbers rounded to those that a precision has (to the nearest, ties to even)."""
    array = np.asarray(array, np.float32)
    if precision == "fp16":
        with np.errstate(over="ignore"):
            return array.astype(np.float16).astype(np.float32)
    if precision == "bf16":
        bits = np.ascontiguousarray(array).view(np.uint32).astype(np.uint64)
        kept = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).reshape(array.shape)
        return np.where(np.isfinite(array), kept, array)
    return array


def _one(array: np.ndarray) -> Any:
    return array.ravel()[0] if array.size else 0.0


_CHANGES = {
    GIVEN: lambda array, precision: array,
    "zeros": lambda array, precision: np.zeros_like(array),
    "equal": lambda array, precision: np.full_like(array, _one(array)),
    "halves": lambda array, precision: np.round(2 * array) / 2,
    "large": lambda array, precision: array * _LARGE[precision],
    "small": lambda array, precision: array * _SMALL,
}
VALUES_AT_THE_EDGE = tuple(name for name in _CHANGES if name != GIVEN)

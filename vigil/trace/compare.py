"""Records and operators of two runs held to each other: the first line that differs, and by how much its tensor does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_BITS = {"float16": np.int16, "float32": np.int32, "float64": np.int64, "bfloat16": np.int32}


class Line(NamedTuple):
    """A record as it is written."""

    step: int
    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    digest: int

    @property
    def is_of(self) -> tuple[Any, ...]:
        """Return what it is a record of."""
        return self[:-1]


class FirstDifference(NamedTuple):
    """The first record that differs; None in the place of one that a run does not have. first: the first of its step."""

    number: int
    one: Line | None
    other: Line | None
    first: int


def first_difference(one: Path, other: Path) -> FirstDifference | None:
    """Return where two files of records part; None where they are the same."""
    first, step = 0, None
    for number, (mine, its) in enumerate(zip_longest(_lines(one), _lines(other))):
        if mine == its and mine is not None:
            found = mine[1 : mine.index(",")]
            if found != step:
                first, step = number, found
            continue
        here, there = _parsed(mine), _parsed(its)
        at = (here or there).step if here or there else 0  # type: ignore[union-attr]
        return FirstDifference(number, here, there, first if str(at) == step else number)
    return None


class OperatorLine(NamedTuple):
    """An operator as it is written."""

    record: int
    step: int
    name: str
    where: str
    given: list
    results: list
    marks: list


class OperatorDifference(NamedTuple):
    """The first operator that differs. kind: other output, other inputs, or another operator."""

    number: int
    line: OperatorLine
    kind: str


OUTPUT, INPUTS, OPERATOR = "other output", "other inputs", "another operator"


def first_operator(one: Path, other: Path) -> OperatorDifference | None:
    """Return the first operator that two runs differ in; None where they do not."""
    for number, (mine, its) in enumerate(zip_longest(_lines(one), _lines(other))):
        if mine == its:
            continue
        here, there = (OperatorLine(*json.loads(text)) if text else None for text in (mine, its))
        if here is None or there is None or (here.name, here.where) != (there.name, there.where):
            return OperatorDifference(number, here or there, OPERATOR)  # type: ignore[arg-type]
        kind = INPUTS if here.given != there.given else OUTPUT if here.results != there.results else OPERATOR
        return OperatorDifference(number, here, kind)
    return None


def operator_at(path: Path, number: int) -> OperatorLine | None:
    """Return an operator of a run by its number."""
    text = next(islice(_lines(path), number, None), None)
    return OperatorLine(*json.loads(text)) if text else None


class Amount(NamedTuple):
    """How many elements of two tensors differ, and by how much at most. row: the first one along the first axis that does."""

    elements: int
    largest: float | None
    ulps: int | None
    row: int | None


def amount_of(one: np.ndarray, other: np.ndarray, dtype: str) -> Amount | None:
    """Return how far two tensors of one type and shape are apart; None where they are of different shapes."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return None
    first, second = (np.ascontiguousarray(each).reshape(-1).view(np.uint8).reshape(each.size, -1) for each in (one, other))
    differs = (first != second).any(axis=1)
    rows = np.unravel_index(int(np.argmax(differs)), one.shape)[0] if one.ndim and differs.any() else None
    largest = ulps = None
    if one.dtype.kind in "fiu" and differs.any():
        with np.errstate(all="ignore"):
            apart = np.abs(one.reshape(-1)[differs].astype(np.float64) - other.reshape(-1)[differs].astype(np.float64))
        largest = float(np.max(apart))
    if dtype in _BITS and one.dtype.kind == "f" and np.isfinite(one).all() and np.isfinite(other).all():
        a, b = (_ordered(each.reshape(-1)[differs], _BITS[dtype]) for each in (one, other))
        distance = int(np.max(np.maximum(a, b).view(np.uint64) - np.minimum(a, b).view(np.uint64), initial=0))
        ulps = distance >> 16 if dtype == "bfloat16" else distance
    return Amount(int(differs.sum()), largest, ulps, int(rows) if rows is not None else None)


def _ordered(values: np.ndarray, kind: type) -> np.ndarray:
    """Return whole numbers of which neighbours are neighbours among floats."""
    bits = np.ascontiguousarray(values).view(kind).astype(np.int64)
    lowest = np.iinfo(kind).min
    return np.where(bits < 0, np.int64(lowest) - bits, bits)


def kept(path: Path) -> tuple[int, np.ndarray] | None:
    """Return the record that a run kept, and its numbers."""
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as archive:
        return int(archive["record"]), archive["values"]


def lines_of(path: Path) -> int:
    """Return how many lines a file has."""
    return sum(1 for _ in _lines(path))


def _parsed(text: str | None) -> Line | None:
    if text is None:
        return None
    step, name, kind, dtype, shape, digest = json.loads(text)
    return Line(step, name, kind, dtype, tuple(shape), digest)


def _lines(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")

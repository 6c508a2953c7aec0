"""A user's file with an operator: `candidate`, what it shall compute (`reference`), and what both are given (`inputs`)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runners.contract.errors import Unsupported
from runners.contract.steps.own import Batch, Form, OwnFile, OwnFileError, load_own

INPUTS, CANDIDATE, REFERENCE = "inputs", "candidate", "reference"
OPERATOR = Form(
    "An operator",
    {INPUTS: "inputs(seed, size=64, ...)", CANDIDATE: "candidate(...)", REFERENCE: "reference(...)"},
    {},
)
SIZES, TILES, TOLERANCE, PRECISIONS, DIFFERENTIATED = "SIZES", "TILES", "TOLERANCE", "PRECISIONS", "DIFFERENTIATED"
ALL_PRECISIONS = ("fp32", "bf16", "fp16")


class Tolerance(NamedTuple):
    """What the user's own test allows: |candidate - reference| <= atol + rtol * |reference|, element by element."""

    atol: float
    rtol: float


class OperatorFile:
    """What a user's file says of an operator, each constant checked.

    usual: the sizes that `inputs` takes, by name, with their usual values.
    """

    def __init__(self, own: OwnFile) -> None:
        self.own, self.name = own, own.path.name
        parameters = list(own.signature(INPUTS).parameters.values())
        if not parameters or parameters[0].name != "seed":
            raise OwnFileError(f"{self.name}: inputs: found no `seed`. Allowed: `inputs(seed, rows=64)`, sizes after it.")
        self.usual: dict[str, int] = {}
        for each in parameters[1:]:
            if each.default is inspect.Parameter.empty or not _is_size(each.default):
                raise OwnFileError(
                    f"{self.name}: inputs: {each.name}: no usual size. "
                    f"Allowed: a whole number from 1 as its default: `{each.name}=64`."
                )
            self.usual[each.name] = each.default
        self.sizes = {name: self._sizes(SIZES, name, value) for name, value in self._named(SIZES).items()}
        self.tiles = {name: self._sizes(TILES, name, value)[-1] for name, value in self._named(TILES).items()}
        for name, value in self.usual.items():
            if name in self.sizes and value not in self.sizes[name]:
                raise OwnFileError(
                    f"{self.name}: {SIZES}: {name}: its usual size, {value}, is not among {list(self.sizes[name])}."
                )
        self.differentiated: tuple[str, ...] | None = None
        if own.value(DIFFERENTIATED, None) is not None:
            self.differentiated = tuple(own.value(DIFFERENTIATED, ()))

    def _named(self, constant: str) -> dict[str, Any]:
        found = self.own.value(constant, {})
        if not isinstance(found, dict) or not found.keys() <= self.usual.keys():
            raise OwnFileError(
                f"{self.name}: {constant}: found {found!r}. "
                f"Allowed: a dict of what `inputs` takes: {', '.join(self.usual) or 'nothing'}."
            )
        return found

    def _sizes(self, constant: str, name: str, value: Any) -> tuple[int, ...]:
        found = value if isinstance(value, (tuple, list, range)) else (value,)
        if not found or not all(map(_is_size, found)):
            raise OwnFileError(f"{self.name}: {constant}: {name}: found {value!r}. Allowed: whole numbers from 1.")
        return tuple(sorted(found))

    def call(self, name: str, arguments: Batch) -> Any:
        """Call a function of the file with inputs: by place where it can be, which is what decorators of frameworks take."""
        if not isinstance(arguments, dict):
            return self.own.call(name, *arguments)
        try:
            bound = self.own.signature(name).bind(**arguments)
        except TypeError as error:
            raise OwnFileError(
                f"{self.name}: {name}: inputs gives {', '.join(arguments)}: {error}. Give what it takes."
            ) from error
        except ValueError:  # of a function of a compiled library nothing is known
            return self.own.call(name, **arguments)
        return self.own.call(name, *bound.args, **bound.kwargs)

    def precisions(self) -> tuple[str, ...]:
        """Return what the file says to try."""
        found = self.own.value(PRECISIONS, ALL_PRECISIONS)
        if not isinstance(found, (tuple, list)) or not found or not {*found} <= {*ALL_PRECISIONS}:
            raise OwnFileError(f"{self.name}: {PRECISIONS}: found {found!r}. Allowed: some of {', '.join(ALL_PRECISIONS)}.")
        return tuple(found)

    def precisions_of(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Return which of some precisions the file says to try. Raises Unsupported where it is none of them."""
        own = self.precisions()
        found = tuple(each for each in asked if each in own)
        if not found:
            raise Unsupported(f"{self.name}: {PRECISIONS} is {', '.join(own)}: it is not tried in {', '.join(asked)}")
        return found

    def tolerance(self, precision: str) -> Tolerance | None:
        """Return the tolerance of the user's own test in a precision; None where the file has none."""
        found = self.own.value(TOLERANCE, None)
        if found is None:
            return None
        if isinstance(found, dict) and {*found} <= {*ALL_PRECISIONS} and found:
            if precision not in found:
                return None
            found = found[precision]
        if not isinstance(found, dict) or {*found} != {*Tolerance._fields} or not all(map(_is_tolerance, found.values())):
            raise OwnFileError(
                f"{self.name}: {TOLERANCE}: found {found!r}. Allowed: {{'atol': 1e-5, 'rtol': 1e-5}}, or such a dict for each of "
                f"{', '.join(ALL_PRECISIONS)}."
            )
        return Tolerance(float(found["atol"]), float(found["rtol"]))


def load_operator(path: Path, sha256: str) -> OperatorFile:
    """Import a user's file. Raises OwnFileError where it cannot be used."""
    return OperatorFile(load_own(path, sha256, OPERATOR))


def named_leaves(given: Batch, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what inputs or outputs are made of, in order, by its path: `x`, `weights.0`."""
    if isinstance(given, dict):
        pairs = [(str(key), value) for key, value in given.items()]
    elif isinstance(given, (tuple, list)):
        pairs = [(str(place), value) for place, value in enumerate(given)]
    else:
        yield name or "0", given
        return
    for key, value in pairs:
        yield from named_leaves(value, f"{name}.{key}" if name else key)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_tolerance(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def is_floating(leaf: Any) -> bool:
    """Is it an array of numbers that round?"""
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"

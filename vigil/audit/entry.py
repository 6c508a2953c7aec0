"""One audited operator: what it is in NumPy and float64, on what it is tried, and where that stands written.

An entry is a function with the decorator `operator`. Its name is the operator's, its docstring says what it computes, its keyword
arguments are the tensors and then the parameters. How a framework is called for it stands in `runners/<framework>/calls/`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vigil.audit.arguments import Argument

Sizes = Mapping[str, int]
Definition = Callable[..., Any]

# The least, one that no vector divides, one beyond a thousand that four does not divide, and beyond 4,096 and 65,536.
FLAT: tuple[Sizes, ...] = tuple({"n": size} for size in (7, 1, 33, 1027, 4099, 65537))
ROWS: tuple[Sizes, ...] = tuple(
    {"m": rows, "n": size} for rows, size in ((3, 7), (2, 1), (5, 33), (3, 1027), (2, 4099), (1, 65537))
)
PRECISIONS = ("fp32", "fp64", "bf16", "fp16")
COLLECTIVES = "collectives"  # the family of what devices tell each other


@dataclass(frozen=True)
class Entry:
    """One operator.

    definition: of float64 arrays, whole numbers and truth values, to an array or a tuple of arrays.
    parameters: sets of what is no tensor: numbers, texts, lists of them, None. Each is tried at the first sizes.
    sizes: each is tried, with one set of parameters.
    precisions: besides fp32.
    is_elementwise: one element of what it gives depends on one element of each argument, all of one shape.
    takes_any: NaN and infinities are tried as well; they go where the definition has them go.
    takes_equal: of an elementwise one, equal numbers and zeros are tried as well, in float64.
    kept: arguments that stay in float32 where the others are in a reduced precision.
    is_program: it is a whole program, which compiles what it compiles: no mode applies to it.
    rounded_as: how large a number each output is rounded as, at least: a share that is 0, where all of a sum is taken from it
        again, is rounded as 1 is.
    """

    name: str
    family: str
    definition: Definition
    arguments: Mapping[str, Argument]
    sizes: tuple[Sizes, ...]
    parameters: tuple[Mapping[str, Any], ...]
    source: str
    precisions: tuple[str, ...] = PRECISIONS
    is_elementwise: bool = False
    takes_any: bool = False
    takes_equal: bool = True
    kept: tuple[str, ...] = ()
    is_program: bool = False
    rounded_as: float = 0.0

    @property
    def differentiated(self) -> tuple[str, ...]:
        return tuple(name for name, each in self.arguments.items() if each.is_differentiated)

    def draw(self, random: np.random.Generator, sizes: Sizes) -> dict[str, np.ndarray]:
        """Return arguments of some sizes, in float64 where they are no whole numbers or truth values."""
        with np.errstate(all="ignore"):
            return {name: np.asarray(each.draw(random, each.shape(sizes), sizes)) for name, each in self.arguments.items()}

    def evaluate(self, arguments: Mapping[str, np.ndarray], parameters: Mapping[str, Any]) -> list[np.ndarray]:
        """Return what the definition gives, as a list of arrays."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            if not all(np.size(each) for each in arguments.values()):
                warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's of means of nothing
            found = self.definition(**arguments, **parameters)
        return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]


@dataclass
class Catalog:
    """Entries by name; two of one name are a mistake."""

    entries: dict[str, Entry] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        if entry.name in self.entries:
            raise ValueError(f"{entry.name}: two entries of one name, in {entry.family} and {self.entries[entry.name].family}")
        self.entries[entry.name] = entry


CATALOG = Catalog()


def operator(
    *,
    source: str,
    sizes: Sequence[Sizes] = FLAT,
    parameters: Sequence[Mapping[str, Any]] = ({},),
    precisions: Sequence[str] = PRECISIONS,
    is_elementwise: bool = False,
    takes_any: bool = False,
    takes_equal: bool = True,
    kept: Sequence[str] = (),
    is_program: bool = False,
    rounded_as: float = 0.0,
    **arguments: Argument,
) -> Callable[[Definition], Definition]:
    """Return a decorator that enters a definition into the catalog: the family is the name of its module."""

    def enter(definition: Definition) -> Definition:
        name = definition.__name__.rstrip("_")
        taken = set(inspect.signature(definition).parameters)
        for each in parameters:
            if taken != {*arguments, *each}:
                raise ValueError(f"{name}: takes {sorted(taken)}. Given: {sorted({*arguments, *each})}.")
        CATALOG.add(
            Entry(
                name=name, family=definition.__module__.rsplit(".", 1)[-1], definition=definition, arguments=dict(arguments),
                sizes=tuple(sizes), parameters=tuple(parameters), source=source, precisions=tuple(precisions),
                is_elementwise=is_elementwise, takes_any=takes_any, takes_equal=takes_equal, kept=tuple(kept),
                is_program=is_program, rounded_as=rounded_as,
            )
        )  # fmt: skip
        return definition

    return enter

"""Trials whose arguments a script draws itself, in one line each from one generator: no numbers need be written into it."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from runners.contract.audit.frame import Question
from runners.contract.operators.trials import rounded
from vigil.audit.entry import Entry
from vigil.audit.plan import Trial
from vigil.audit.script import Drawn

_SAMPLES = 3
_FEW = 8  # elements of which each is a direction of its own


class Written(Trial):
    """A trial with such arguments: normal numbers, or positive ones where the operator takes no others."""

    def texts(self) -> dict[str, str]:
        """Return the expression of each argument, before it is rounded to the precision."""
        sizes = tuple(sorted(self.sizes.items()))
        kinds = _kinds(self.entry, sizes)
        return {name: self._typed(kinds[name], each.shape(self.sizes)) for name, each in self.entry.arguments.items()}

    def _typed(self, kind: str, shape: tuple[int, ...]) -> str:
        text = kind.format(shape=shape)
        return text if "random.integers" in kind or "<" in kind else f"{text}.astype({self._type!r})"

    @property
    def _type(self) -> str:
        return "float64" if self.precision == "fp64" else "float32"

    def arguments(self, seed: int) -> dict[str, np.ndarray]:
        """Return arguments in float64, as the script draws them from a seed."""
        return self._drawn(np.random.default_rng(seed))

    def _drawn(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        given = {name: np.asarray(_value(text, random)) for name, text in self.texts().items()}
        return {name: self._rounded(name, np.asarray(each, np.float64 if each.dtype.kind == "f" else None))
                for name, each in given.items()}  # fmt: skip

    def question(self, seed: int) -> Question:
        """Return what a runner is asked; what is pulled back is drawn after the arguments."""
        random = np.random.default_rng(seed)
        arguments, kind = self._drawn(random), np.dtype(self._type)
        outputs = self.entry.evaluate(arguments, self.parameters)
        cotangents = tuple(
            None if text is None else rounded_as(np.asarray(_value(text, random)), self.precision)
            for text in self._cotangent_texts(outputs)
        )
        return Question(
            id=self.id,
            operator=self.entry.name,
            parameters=dict(self.parameters),
            arguments={name: each.astype(kind) if each.dtype.kind == "f" else each for name, each in arguments.items()},
            differentiated=self.entry.differentiated,
            kept=self.entry.kept,
            cotangents=cotangents,
            precision=self.precision,
            layout=self.layout,
        )

    def _cotangent_texts(self, outputs: list[np.ndarray]) -> list[str | None]:
        pulls = bool(self.entry.differentiated)
        return [self._typed("random.standard_normal({shape})", each.shape) if each.dtype.kind == "f" and pulls else None
                for each in outputs]  # fmt: skip

    def drawn(self, seed: int, argument: str | None) -> Drawn:
        """Return how the script draws all of it. argument: whose gradient is held along a direction, if any is."""
        outputs = self.entry.evaluate(self.arguments(seed), self.parameters)
        shape = self.entry.arguments[argument].shape(self.sizes) if argument else ()
        return Drawn(seed, self.texts(), self._cotangent_texts(outputs), _direction(seed, shape))

    def vectors(self, seed: int) -> Any:
        """Return what chooses directions: each element of few, else one of all elements, and one element."""

        def choose(array: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
            if array.size <= _FEW:
                return [each.reshape(array.shape) for each in np.eye(array.size)]
            one = np.zeros(array.size)
            one[random.integers(array.size)] = 1.0
            return [_value(_direction(seed, array.shape), random), one.reshape(array.shape)]

        return choose


def rounded_as(array: np.ndarray, precision: str) -> np.ndarray:
    """Return numbers that a precision has; float64 stays what it is."""
    return array if precision == "fp64" else rounded(array, precision)


def _direction(seed: int, shape: tuple[int, ...]) -> str:
    return f"np.random.default_rng({seed + 1}).choice((-1.0, 1.0), {shape})"


def _value(text: str, random: np.random.Generator) -> Any:
    """Return what an expression of this module makes: evaluated, so that it cannot differ from what the script draws."""
    return eval(text, {"np": np, "random": random})


@functools.lru_cache(maxsize=256)
def _kinds_of(entry_id: int, sizes: tuple[tuple[str, int], ...]) -> dict[str, str]:
    entry = _ENTRIES[entry_id]
    samples = [entry.draw(np.random.default_rng(number), dict(sizes)) for number in range(_SAMPLES)]
    return {name: _kind([each[name] for each in samples]) for name in entry.arguments}


_ENTRIES: dict[int, Entry] = {}  # held, so that no other entry has its id


def _kinds(entry: Entry, sizes: tuple[tuple[str, int], ...]) -> dict[str, str]:
    _ENTRIES[id(entry)] = entry
    return _kinds_of(id(entry), sizes)


def _kind(samples: list[np.ndarray]) -> str:
    """Return how numbers like these are drawn."""
    least, most = min(each.min() for each in samples), max(each.max() for each in samples)
    if samples[0].dtype.kind == "b":
        return "(random.random({shape}) < 0.7)"
    if samples[0].dtype.kind in "iu":
        return f"random.integers({int(least)}, {int(most) + 1}, {{shape}})"
    if least >= 0.0:
        return "random.uniform(0.1, 0.9, {shape})" if most <= 1.0 else "random.uniform(0.5, 2.0, {shape})"
    # A power of two: what is small, or far out, stays so.
    size = math.sqrt(sum(float(np.square(each).sum()) for each in samples) / max(1, sum(each.size for each in samples)))
    scale = 2.0 ** round(math.log2(size)) if size and math.isfinite(size) else 1.0
    return "random.standard_normal({shape})" if 0.5 <= scale <= 2.0 else f"({scale!r} * random.standard_normal({{shape}}))"

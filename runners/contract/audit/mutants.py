"""Defects that are planted in a framework's call, to count how many of them an audit sees.

Each is one that a real bug has been: a scaled result, a loop's tail left out, a term dropped from a long sum, an accumulator in
bfloat16, a window that is off by one, a mask ignored, another axis, half a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from runners.contract.errors import Unsupported

Call = Callable[..., Any]
_SCALED = 1.001
_VECTOR = 8
_LONG = 1024  # terms from which on one is dropped: a bug that small inputs never meet


class Tools(Protocol):
    """What a framework does to one of its tensors; all but `half_gradient` have derivatives."""

    def is_floating(self, value: Any) -> bool: ...

    def is_truth(self, value: Any) -> bool: ...

    def shape(self, value: Any) -> tuple[int, ...]: ...

    def scaled(self, value: Any, factor: np.ndarray | float) -> Any:
        """Return value times a number, or an array of its shape."""

    def rolled(self, value: Any) -> Any:
        """Return value with the last axis shifted by one."""

    def all_true(self, value: Any) -> Any: ...

    def narrowed(self, value: Any) -> Any:
        """Return value in bfloat16."""

    def like(self, value: Any, other: Any) -> Any:
        """Return value in the type of another one."""

    def half_gradient(self, value: Any) -> Any:
        """Return value, with half of its gradient."""


def _on_outputs(change: Callable[[Any, Tools], Any]) -> Callable[[Call, Tools], Call]:
    """Return a mutant that changes the first floating output."""

    def mutate(call: Call, tools: Tools) -> Call:
        def mutated(**arguments: Any) -> Any:
            found = call(**arguments)
            several = list(found) if isinstance(found, (tuple, list)) else [found]
            for place, each in enumerate(several):
                if tools.is_floating(each):
                    several[place] = change(each, tools)
                    break
            return tuple(several) if isinstance(found, (tuple, list)) else several[0]

        return mutated

    return mutate


def _on_arguments(change: Callable[[str, Any, Tools], Any], *, first: bool = False) -> Callable[[Call, Tools], Call]:
    """Return a mutant that changes arguments; `first`: only the first that it can change.

    It raises `Unsupported` where it can change none, before the call is traced and compiled as it was.
    """

    def mutate(call: Call, tools: Tools) -> Call:
        def mutated(**arguments: Any) -> Any:
            changed: dict[str, Any] = {}
            for name, value in arguments.items():
                found = change(name, value, tools)
                if found is not None:
                    changed[name] = found
                    if first:
                        break
            if not changed:
                raise Unsupported("no argument to change")
            return call(**arguments | changed)

        return mutated

    return mutate


def _without_tail(value: Any, tools: Tools) -> Any:
    count = int(np.prod(tools.shape(value)))
    kept = np.ones(count, np.float32)
    if count > _VECTOR:
        kept[count - count % _VECTOR :] = 0.0
    return tools.scaled(value, kept.reshape(tools.shape(value)))


def _without_last(name: str, value: Any, tools: Tools) -> Any:
    if not tools.is_floating(value) or not tools.shape(value) or tools.shape(value)[-1] <= _LONG:
        return None
    kept = np.ones(tools.shape(value), np.float32)
    kept[..., -1] = 0.0
    return tools.scaled(value, kept)


def _rolled(name: str, value: Any, tools: Tools) -> Any:
    return tools.rolled(value) if tools.is_floating(value) and tools.shape(value) else None


def _unmasked(name: str, value: Any, tools: Tools) -> Any:
    return tools.all_true(value) if tools.is_truth(value) else None


def _other_axis(name: str, value: Any, tools: Tools) -> Any:
    if name != "axis" or isinstance(value, bool) or not isinstance(value, int):
        return None
    return 0 if value in (-1, 1) else -1


def _halved(name: str, value: Any, tools: Tools) -> Any:
    return tools.half_gradient(value) if tools.is_floating(value) else None


def _narrowed(call: Call, tools: Tools) -> Call:
    def mutated(**arguments: Any) -> Any:
        narrow = {name: tools.narrowed(each) if tools.is_floating(each) else each for name, each in arguments.items()}
        wide = next((each for each in arguments.values() if tools.is_floating(each)), None)
        found = call(**narrow)
        several = found if isinstance(found, (tuple, list)) else (found,)
        back = tuple(tools.like(each, wide) if wide is not None and tools.is_floating(each) else each for each in several)
        return back if isinstance(found, (tuple, list)) else back[0]

    return mutated


MUTANTS: dict[str, Callable[[Call, Tools], Call]] = {
    "scaled": _on_outputs(lambda value, tools: tools.scaled(value, _SCALED)),
    "tail": _on_outputs(_without_tail),
    "term": _on_arguments(_without_last, first=True),
    "bfloat16": _narrowed,
    "shifted": _on_arguments(_rolled, first=True),
    "unmasked": _on_arguments(_unmasked),
    "axis": _on_arguments(_other_axis),
    "gradient": _on_arguments(_halved, first=True),
}


def has_effect(clean: Mapping[str, np.ndarray], mutated: Mapping[str, np.ndarray]) -> bool:
    """Did a mutant change a bit of what a call gave?"""
    return any(
        name not in mutated or clean[name].shape != mutated[name].shape or clean[name].tobytes() != mutated[name].tobytes()
        for name in clean
    )

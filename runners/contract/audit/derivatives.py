"""Derivatives by the other ways that a framework offers: forward mode, and the second derivative along two directions.

A gradient by reverse mode has a formula of its own in a framework, and so has each of these.
One may be wrong where the others are right. A call that has no such rule says so, and is held to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

# What each way is of: outputs y(x), their gradient g(x, c) that is pulled back from cotangents c, directions d and e of x.
FORWARD = "forward"  # of y along d
FORWARD_OVER_FORWARD = "forward over forward"  # of that, along e
FORWARD_OVER_REVERSE = "forward over reverse"  # of g along d, then the sum of it times e
REVERSE_OVER_FORWARD = "reverse over forward"  # the gradient of the derivative of y along d, by x, then the sum of it times e
REVERSE_OVER_REVERSE = "reverse over reverse"  # the gradient of the sum of g times d, by x, then the sum of it times e; and by c
WAYS = (FORWARD, FORWARD_OVER_FORWARD, FORWARD_OVER_REVERSE, REVERSE_OVER_FORWARD, REVERSE_OVER_REVERSE)
# Those that give a second derivative of all outputs times their cotangents.
PULLED = (FORWARD_OVER_REVERSE, REVERSE_OVER_FORWARD, REVERSE_OVER_REVERSE)
_LONGEST_MESSAGE = 300
_REFUSALS = (
    "don't support automatic differentiation",
    "autograd.Function with functorch transforms",
    "inside of a function being transformed",
    "inside functorch transform is not allowed",
    "unless it is captured completely with torch.compile",
    "marked with @once_differentiable",
    "Gradient explicitly disabled",
    "Forward-mode differentiation",
    "forward-mode autodiff",
    "Reverse-mode differentiation does not work",
    "can't apply forward-mode differentiation",
)


def first_of(place: int) -> str:
    """Return the quantity of an output's derivative by forward mode."""
    return f"forward/{place}"


def by_cotangent(place: int) -> str:
    """Return the quantity of the gradient's derivative by a cotangent, which is that of the output again."""
    return f"cotangent/{place}"


def second_of(way: str, place: int | None = None) -> str:
    """Return the quantity of a second derivative: of an output, or of all of them times their cotangents."""
    return f"second/{way}" if place is None else f"second/{way}/{place}"


def way_of(quantity: str) -> str | None:
    """Return the way by which a quantity was found; None for an output, or a gradient.

    >>> way_of("second/forward over reverse"), way_of("cotangent/0"), way_of("gradients/x")
    ('forward over reverse', 'reverse over reverse', None)
    """
    group, _, rest = quantity.partition("/")
    if group == "second":
        return rest.partition("/")[0]
    return {"forward": FORWARD, "cotangent": REVERSE_OVER_REVERSE}.get(group)


class Derived(NamedTuple):
    """What the ways came to: arrays by quantity. answered: those that gave any. refused, raised: by way, what was said."""

    arrays: dict[str, np.ndarray]
    answered: tuple[str, ...]
    refused: dict[str, str]
    raised: dict[str, str]


def tried(ways: Mapping[str, Callable[[], Any]], *, refusals: Iterable[str]) -> tuple[dict[str, Any], Derived]:
    """Return what each way gave, and of the others what they said.

    Args:
        refusals: what frameworks say of a rule that there is not, besides `_REFUSALS`.
    """
    gave: dict[str, Any] = {}
    refused: dict[str, str] = {}
    raised: dict[str, str] = {}
    phrases = (*refusals, *_REFUSALS)
    for way, work in ways.items():
        try:
            gave[way] = work()
        except Exception as error:  # whatever a way raises is an answer of its own, and others go on
            message = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:_LONGEST_MESSAGE]
            is_said = isinstance(error, NotImplementedError) or any(phrase in str(error) for phrase in phrases)
            (refused if is_said else raised)[way] = message
    return gave, Derived({}, tuple(gave), refused, raised)

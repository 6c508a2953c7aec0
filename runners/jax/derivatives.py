"""Derivatives of a call of JAX by forward mode, and second ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from runners.contract.audit.derivatives import (
    FORWARD,
    FORWARD_OVER_FORWARD,
    FORWARD_OVER_REVERSE,
    REVERSE_OVER_FORWARD,
    REVERSE_OVER_REVERSE,
    by_cotangent,
    first_of,
    second_of,
)

Arrays = Mapping[str, Any]
Way = Callable[[Any, Any], dict[str, Any]]


def ways_of(call: Callable[[Arrays], Sequence[Any]], cotangents: Sequence[Any], first: Arrays, second: Arrays) -> dict[str, Way]:
    """Return what finds the derivatives by each way, of arrays and cotangents, as arrays by quantity.

    Args:
        call: of the arrays that derivatives are of.
        first, second: the directions.
    """
    shapes = {place: each.shape for place, each in enumerate(cotangents) if each is not None}

    def outputs_of(arrays: Arrays) -> dict[int, Any]:
        """Return the outputs that have a cotangent."""
        found = call(arrays)
        return {place: found[place] for place, shape in shapes.items() if found[place].shape == shape}

    def gradient_of(arrays: Arrays, pulled: Mapping[int, Any]) -> Arrays:
        outputs, pull = jax.vjp(outputs_of, arrays)
        [found] = pull({place: pulled[place].astype(each.dtype) for place, each in outputs.items()})
        return dict(found)

    def along(gradients: Arrays, direction: Arrays) -> Any:
        return sum(jnp.sum(each * direction[name]) for name, each in gradients.items())

    def pushed(arrays: Arrays) -> dict[int, Any]:
        return dict(jax.jvp(outputs_of, (arrays,), (first,))[1])

    def forward(arrays: Arrays, pulled: Mapping[int, Any]) -> dict[str, Any]:
        return {first_of(place): each for place, each in pushed(arrays).items()}

    def forward_over_forward(arrays: Arrays, pulled: Mapping[int, Any]) -> dict[str, Any]:
        _, found = jax.jvp(pushed, (arrays,), (second,))
        return {second_of(FORWARD_OVER_FORWARD, place): each for place, each in found.items()}

    def forward_over_reverse(arrays: Arrays, pulled: Mapping[int, Any]) -> dict[str, Any]:
        _, found = jax.jvp(lambda arrays: gradient_of(arrays, pulled), (arrays,), (first,))
        return {second_of(FORWARD_OVER_REVERSE): along(found, second)}

    def reverse_over_forward(arrays: Arrays, pulled: Mapping[int, Any]) -> dict[str, Any]:
        def whole(arrays: Arrays) -> Any:
            return sum(jnp.sum(each * pulled[place]) for place, each in pushed(arrays).items())

        return {second_of(REVERSE_OVER_FORWARD): along(jax.grad(whole)(arrays), second)}

    def reverse_over_reverse(arrays: Arrays, pulled: Mapping[int, Any]) -> dict[str, Any]:
        def whole(arrays: Arrays, pulled: Mapping[int, Any]) -> Any:
            return along(gradient_of(arrays, pulled), first)

        of_arrays, of_pulled = jax.grad(whole, (0, 1))(arrays, pulled)
        return {second_of(REVERSE_OVER_REVERSE): along(of_arrays, second)} | {
            by_cotangent(place): each for place, each in of_pulled.items()
        }

    return {
        FORWARD: forward,
        FORWARD_OVER_FORWARD: forward_over_forward,
        FORWARD_OVER_REVERSE: forward_over_reverse,
        REVERSE_OVER_FORWARD: reverse_over_forward,
        REVERSE_OVER_REVERSE: reverse_over_reverse,
    }

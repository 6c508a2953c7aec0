"""Derivatives of a call of TensorFlow by forward mode, and second ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from runners.contract.audit.derivatives import (
    FORWARD,
    FORWARD_OVER_REVERSE,
    REVERSE_OVER_FORWARD,
    REVERSE_OVER_REVERSE,
    by_cotangent,
    first_of,
    second_of,
)

Tensors = Mapping[str, Any]
_ZERO = tf.UnconnectedGradients.ZERO


def ways_of(
    call: Callable[[Tensors], Sequence[Any]], leaves: Tensors, cotangents: Sequence[Any], first: Tensors, second: Tensors
) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what finds the derivatives by each way, as tensors by quantity.

    DIFFERS(tensorflow): forward over forward is left out. It has no rules of its own, but is made of those for gradients as the
    others are, and tracing it takes two thirds of the time of all.

    Args:
        call: of the tensors that derivatives are of.
        first, second: the directions.
    """
    names = list(leaves)
    shapes = {place: tuple(each.shape) for place, each in enumerate(cotangents) if each is not None}

    def outputs_of(tensors: Tensors) -> dict[int, Any]:
        """Return the outputs that have a cotangent."""
        found = call(tensors)
        return {place: found[place] for place, shape in shapes.items() if tuple(found[place].shape) == shape}

    def own() -> dict[str, Any]:
        return {name: tf.identity(each) for name, each in leaves.items()}

    def accumulator(tensors: Tensors, direction: Tensors) -> Any:
        return tf.autodiff.ForwardAccumulator([tensors[name] for name in names], [direction[name] for name in names])

    def gradient_of(tensors: Tensors, pulled: Mapping[int, Any]) -> dict[str, Any]:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(list(tensors.values()))
            outputs = outputs_of(tensors)
        given = [tf.cast(pulled[place], each.dtype) for place, each in outputs.items()]
        found = tape.gradient(list(outputs.values()), list(tensors.values()), output_gradients=given, unconnected_gradients=_ZERO)
        return {name: tf.convert_to_tensor(each) for name, each in zip(tensors, found, strict=True)}

    def along(gradients: Tensors, direction: Tensors) -> Any:
        return tf.add_n([tf.reduce_sum(tf.convert_to_tensor(each) * direction[name]) for name, each in gradients.items()])

    def pushed(tensors: Tensors) -> dict[int, Any]:
        """Return the derivatives of the outputs along the first direction."""
        with accumulator(tensors, first) as inner:
            outputs = outputs_of(tensors)
        return {place: tf.convert_to_tensor(inner.jvp(each, unconnected_gradients=_ZERO)) for place, each in outputs.items()}

    def forward() -> dict[str, Any]:
        return {first_of(place): each for place, each in pushed(own()).items()}

    def reverse_over_forward() -> dict[str, Any]:
        tensors = own()
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(list(tensors.values()))
            once = pushed(tensors)
            whole = tf.add_n([tf.reduce_sum(each * tf.cast(cotangents[place], each.dtype)) for place, each in once.items()])
        return {second_of(REVERSE_OVER_FORWARD): along(tape.gradient(whole, tensors, unconnected_gradients=_ZERO), second)}

    def forward_over_reverse() -> dict[str, Any]:
        tensors = own()
        with accumulator(tensors, first) as inner:
            gradients = gradient_of(tensors, {place: each for place, each in enumerate(cotangents) if each is not None})
        tangents = {name: inner.jvp(each, unconnected_gradients=_ZERO) for name, each in gradients.items()}
        return {second_of(FORWARD_OVER_REVERSE): along(tangents, second)}

    def reverse_over_reverse() -> dict[str, Any]:
        tensors = own()
        pulled = {place: tf.identity(each) for place, each in enumerate(cotangents) if each is not None}
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([*tensors.values(), *pulled.values()])
            whole = along(gradient_of(tensors, pulled), first)
        of_tensors, of_pulled = tape.gradient(whole, (tensors, pulled), unconnected_gradients=_ZERO)
        return {second_of(REVERSE_OVER_REVERSE): along(of_tensors, second)} | {
            by_cotangent(place): tf.convert_to_tensor(each) for place, each in of_pulled.items()
        }

    return {
        FORWARD: forward,
        FORWARD_OVER_REVERSE: forward_over_reverse,
        REVERSE_OVER_FORWARD: reverse_over_forward,
        REVERSE_OVER_REVERSE: reverse_over_reverse,
    }

"""Keras layers with weights that are given: each variable gets the one that the end of its path names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras


def kind(x: Any) -> str:
    """Return the name of the type of a tensor: a layer is made in it, or it would convert what it is given."""
    return keras.backend.standardize_dtype(x.dtype)


def applied(layer: Any, weights: Mapping[str, Any], *inputs: Any, **options: Any) -> Any:
    """Return what a built layer makes of its inputs with other weights, by the ends of their variables' paths."""
    chosen = []
    for each in layer.trainable_variables:
        [name] = [name for name in weights if each.path.endswith(f"/{name}")]
        chosen.append(keras.ops.reshape(weights[name], tuple(each.shape)))
    found, _ = layer.stateless_call(chosen, [each.value for each in layer.non_trainable_variables], *inputs, **options)
    return found

"""Keras: normalisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def _built(layer: Any, x: Any) -> Any:
    layer.build(tuple(x.shape))
    return layer


def _batch(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, share: float, **more: Any) -> Any:
    """Return what a layer over channels of axis 1 gives, and its new statistics."""
    layer = _built(keras.layers.BatchNormalization(axis=1, epsilon=epsilon, momentum=1.0 - share, dtype=_kind(x)), x)
    found, state = layer.stateless_call([scale, bias], [mean, variance], x, **more)
    return found, *state


def _fresh(x: Any) -> dict[str, Any]:
    return {"mean": ops.zeros_like(x[0, :, 0]), "variance": ops.ones_like(x[0, :, 0])}


def _plain(x: Any) -> dict[str, Any]:
    return {"scale": ops.ones_like(x[0, :, 0]), "bias": ops.zeros_like(x[0, :, 0])}


def _in_training(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _batch(x, scale, bias, **_fresh(x), epsilon=epsilon, share=0.1, training=True)[0]


def _in_evaluation(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _batch(x, scale, bias, mean, variance, epsilon, 0.1, training=False)[0]


def _running(x: Any, mean: Any, variance: Any, share: float) -> Any:
    return _batch(x, **_plain(x), mean=mean, variance=variance, epsilon=1e-3, share=share, training=True)[1:]


def _masked_layer(x: Any, where: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, share: float) -> Any:
    """Return what a layer over the last axis gives for [m, l, channel], whose mask is [m, l]."""
    moved = ops.transpose(x, (0, 2, 1))
    layer = _built(keras.layers.BatchNormalization(epsilon=epsilon, momentum=1.0 - share, dtype=_kind(x)), moved)
    found, state = layer.stateless_call([scale, bias], [mean, variance], moved, training=True, mask=where)
    return ops.transpose(found, (0, 2, 1)), *state


def _masked(x: Any, where: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _masked_layer(x, where, scale, bias, **_fresh(x), epsilon=epsilon, share=0.1)[0]


def _masked_running(x: Any, mean: Any, variance: Any, where: Any, share: float) -> Any:
    return _masked_layer(x, where, **_plain(x), mean=mean, variance=variance, epsilon=1e-3, share=share)[1:]


def _function(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return ops.batch_normalization(x, mean, variance, axis=1, offset=bias, scale=scale, epsilon=epsilon)


def _by_moments(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    mean, variance = ops.moments(x, axes=(0, 2))
    return _function(x, mean, variance, scale, bias, epsilon)


def _layer(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    axes = list(range(1, len(x.shape)))
    layer = _built(keras.layers.LayerNormalization(axis=axes, epsilon=epsilon, dtype=_kind(x)), x)
    return layer.stateless_call([scale, bias], [], x)[0]


def _rms(x: Any, scale: Any, epsilon: float) -> Any:
    layer = _built(keras.layers.RMSNormalization(epsilon=epsilon, dtype=_kind(x)), x)
    return layer.stateless_call([scale], [], x)[0]


def _group(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    layer = _built(keras.layers.GroupNormalization(groups, axis=1, epsilon=epsilon, dtype=_kind(x)), x)
    return layer.stateless_call([scale, bias], [], x)[0]


def _units(x: Any, p: float, axis: int) -> Any:
    if p != 2.0:
        raise Unsupported("another norm than that of squares")
    return keras.layers.UnitNormalization(axis=axis, dtype=_kind(x))(x)


_LAYER: Mapping[str, Call] = {"keras.layers.LayerNormalization": _layer}
_ROWS: Mapping[str, Call] = {
    **_LAYER,
    "keras.ops.layer_normalization": lambda x, scale, bias, epsilon: ops.layer_normalization(
        x, gamma=scale, beta=bias, axis=-1, epsilon=epsilon
    ),
}

CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "batch_norm_in_training": {
        "keras.layers.BatchNormalization": _in_training,
        "keras.ops.batch_normalization (moments)": _by_moments,
    },
    "batch_norm_running_biased": {"keras.layers.BatchNormalization (running)": _running},
    "batch_norm_in_evaluation": {
        "keras.layers.BatchNormalization (evaluation)": _in_evaluation,
        "keras.ops.batch_normalization": _function,
    },
    "masked_batch_norm": {"keras.layers.BatchNormalization (mask)": _masked},
    "masked_batch_norm_running": {"keras.layers.BatchNormalization (mask, running)": _masked_running},
    "layer_norm": _ROWS,
    "layer_norm_of_large_means": _ROWS,
    "layer_norm_of_two_axes": _LAYER,
    "rms_norm": {
        "keras.layers.RMSNormalization": _rms,
        "keras.ops.rms_normalization": lambda x, scale, epsilon: ops.rms_normalization(x, scale=scale, epsilon=epsilon),
    },
    "group_norm": {"keras.layers.GroupNormalization": _group},
    "instance_norm": {
        "keras.layers.GroupNormalization (each channel)": lambda x, scale, bias, epsilon: _group(
            x, scale, bias, x.shape[1], epsilon
        )
    },
    "normalize": {
        "keras.ops.normalize": lambda x, p, axis: ops.normalize(x, axis=axis, order=int(p)),
        "keras.layers.UnitNormalization": _units,
    },
    "normalize_of_little": {
        "keras.ops.normalize (epsilon)": lambda x, axis, epsilon: ops.normalize(x, axis=axis, order=2, epsilon=epsilon)
    },
    "moments": {"keras.ops.moments": lambda x, axes: ops.moments(x, axes=axes)},
}

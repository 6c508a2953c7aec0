"""Keras: what is done to gradients and weights around an optimizer."""

from __future__ import annotations

from typing import Any

import keras

from runners.contract.errors import Unsupported
from runners.keras.optimizers import is_symbolic, precise, variable, walked


def _accumulated(w: Any, g: Any, *, rate: float, momentum: float, period: int) -> Any:
    with precise(w):
        _, walk = walked(
            lambda: keras.optimizers.SGD(rate, momentum=momentum, gradient_accumulation_steps=period),
            [w], [[g[step]] for step in range(len(g))],
        )  # fmt: skip
    return [walk[0][0], walk[period - 1][0], walk[-1][0]]


def _clipped_step(v: Any, w: Any, x: Any, y: Any, *, rate: float, kind: str, limit: float) -> Any:
    name = {"each norm": "clipnorm", "global norm": "global_clipnorm", "value": "clipvalue"}[kind]
    with precise(w):
        return walked(lambda: keras.optimizers.SGD(rate, **{name: limit}), [v, w], [[x, y]])[1][0]


def _alone(tensor: Any) -> None:
    """Raise where variables are not to be made, or not to be changed."""
    if keras.backend.backend() == "jax" or is_symbolic(tensor):
        raise Unsupported("jit: what is asked of an optimizer between its steps changes its variables.")


def _scaled_loss(w: Any, g: Any, *, rate: float, scale: float, growth: float, backoff: float, period: int) -> Any:
    _alone(w)
    if (growth, backoff) != (2.0, 0.5):
        raise Unsupported("growth, backoff: Keras doubles and halves.")
    with precise(w) as kind:
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(rate), scale, period)
        weight = variable(w)
        optimizer.build([weight])
        scales = []
        for step in range(len(g)):
            optimizer.apply([g[step] * optimizer.scale_loss(keras.ops.ones((), kind))], [weight])
            scales.append(keras.ops.cast(keras.ops.copy(optimizer.dynamic_scale.value), kind))
        return [keras.ops.copy(weight.value), keras.ops.stack(scales)]


def _averaged_weights(w: Any, g: Any, *, rate: float, decay: float, period: int) -> Any:
    _alone(w)
    with precise(w):
        optimizer = keras.optimizers.SGD(rate, use_ema=True, ema_momentum=decay, ema_overwrite_frequency=period or None)
        weight = variable(w)
        optimizer.build([weight])
        for step in range(len(g)):
            optimizer.apply([g[step]], [weight])
        last = keras.ops.copy(weight.value)
        optimizer.finalize_variable_values([weight])
        return [last, keras.ops.copy(weight.value)]


CALLS = {
    "clipped_by_value": {"keras.ops.clip": lambda x, *, limit: keras.ops.clip(x, -limit, limit)},
    "without_nan": {"keras.ops.nan_to_num": lambda x: keras.ops.nan_to_num(x, nan=0.0)},
    "accumulated": {"keras.optimizers.SGD": _accumulated},
    "clipped_step": {"keras.optimizers.SGD": _clipped_step},
    "scaled_loss": {"keras.optimizers.LossScaleOptimizer": _scaled_loss},
    "averaged_weights": {"keras.optimizers.SGD": _averaged_weights},
}

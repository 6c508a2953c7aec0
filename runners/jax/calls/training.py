"""JAX: what is done to gradients and weights around an optimizer, with optax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from runners.contract.errors import Unsupported


def _once(transformation: Any, updates: Any, weights: Any = None) -> Any:
    return transformation.update(updates, transformation.init(updates if weights is None else weights), weights)[0]


def _walked(optimizer: Any, w: Any, g: Any) -> tuple[Any, Any]:
    """Return the weights after each step, and the state after all."""

    def step(carried: tuple[Any, Any], gradient: Any) -> tuple[tuple[Any, Any], Any]:
        weights, state = carried
        updates, state = optimizer.update(gradient, state, weights)
        weights = optax.apply_updates(weights, updates)
        return (weights, state), weights

    (_, state), walk = jax.lax.scan(step, (w, optimizer.init(w)), g)
    return walk, state


def _by_global_norm(x: Any, y: Any, *, limit: float, order: Any, epsilon: float) -> Any:
    if order != 2.0 or epsilon:
        raise Unsupported("order, epsilon: optax has the Euclidean norm, without an epsilon.")
    return [*_once(optax.clip_by_global_norm(limit), (x, y)), optax.global_norm((x, y))]


def _average(x: Any, *, decay: float, begin: str, is_corrected: bool) -> Any:
    if begin != "zero":
        raise Unsupported("begin: optax begins with zero.")
    average = optax.ema(decay, is_corrected)

    def step(state: Any, each: Any) -> tuple[Any, Any]:
        found, state = average.update(each, state)
        return state, found

    _, walk = jax.lax.scan(step, average.init(x[0]), x)
    return [walk[1], walk[-1]]


def _incremental(x: Any, *, decay: float, begin: str, is_corrected: bool) -> Any:
    if is_corrected:
        raise Unsupported("is_corrected: it is not.")
    first = x[0] if begin == "first" else jnp.zeros_like(x[0])

    def step(mean: Any, each: Any) -> tuple[Any, Any]:
        mean = optax.incremental_update(each, mean, 1.0 - decay)
        return mean, mean

    _, walk = jax.lax.scan(step, first, x[1:] if begin == "first" else x)
    return [walk[0 if begin == "first" else 1], walk[-1]]


def _accumulated(w: Any, g: Any, *, rate: float, momentum: float, period: int) -> Any:
    # What accumulates is float32 unless told otherwise.
    optimizer = optax.MultiSteps(optax.sgd(rate, momentum or None), period, accumulator_dtype=w.dtype)
    walk, _ = _walked(optimizer, w, g)
    return [walk[0], walk[period - 1], walk[-1]]


def _applied(w: Any, g: Any, *, rate: float, momentum: float, period: int) -> Any:
    if momentum:
        raise Unsupported("momentum: what comes before it sees every gradient.")
    walk, _ = _walked(optax.chain(optax.apply_every(period), optax.sgd(rate / period)), w, g)
    return [walk[0], walk[period - 1], walk[-1]]


def _clipped_step(v: Any, w: Any, x: Any, y: Any, *, rate: float, kind: str, limit: float) -> Any:
    if kind == "each norm":
        raise Unsupported("kind: optax has no norm of each tensor.")
    clip = optax.clip(limit) if kind == "value" else optax.clip_by_global_norm(limit)
    return optax.apply_updates((v, w), _once(optax.chain(clip, optax.sgd(rate)), (x, y), (v, w)))


def _if_finite(w: Any, g: Any, *, rate: float, most: int) -> Any:
    return _walked(optax.apply_if_finite(optax.sgd(rate), most), w, g)[0][-1]


def _slow(w: Any, g: Any, *, rate: float, period: int) -> Any:
    def step(carried: Any, gradient: Any) -> Any:
        count, weights, copy = carried
        weights = optax.apply_updates(weights, -rate * gradient)
        return (count + 1, weights, optax.periodic_update(weights, copy, count + 1, period)), None

    return jax.lax.scan(step, (jnp.asarray(0), w, w), g)[0][2]


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "clipped_by_value": {
        "optax.clip": lambda x, *, limit: _once(optax.clip(limit), x),
        "jax.numpy.clip": lambda x, *, limit: jnp.clip(x, -limit, limit),
    },
    "clipped_by_norm": {
        "optax.clip_by_global_norm": lambda x, *, limit: _once(optax.clip_by_global_norm(limit), x),
        "optax.projections.projection_l2_ball": lambda x, *, limit: optax.projections.projection_l2_ball(x, limit),
    },
    "clipped_by_global_norm": {"optax.clip_by_global_norm": _by_global_norm},
    "global_norm": {
        "optax.global_norm": lambda x, y: optax.global_norm((x, y)),
        "optax.tree.norm": lambda x, y: optax.tree.norm((x, y)),
    },
    "clipped_by_rms": {"optax.clip_by_block_rms": lambda x, *, limit: _once(optax.clip_by_block_rms(limit), x)},
    "clipped_adaptively": {
        "optax.adaptive_grad_clip": lambda w, g, *, share, least: _once(optax.adaptive_grad_clip(share, least), g, w),
    },
    "centralized": {"optax.centralize": lambda x: _once(optax.centralize(), x)},
    "without_nan": {
        "optax.zero_nans": lambda x: _once(optax.zero_nans(), x),
        "jax.numpy.nan_to_num": lambda x: jnp.nan_to_num(x, nan=0.0),
    },
    "moving_average": {"optax.ema": _average, "optax.incremental_update": _incremental},
    "accumulated": {"optax.MultiSteps": _accumulated, "optax.apply_every": _applied},
    "clipped_step": {"optax.clip_by_global_norm": _clipped_step},
    "step_if_finite": {"optax.apply_if_finite": _if_finite},
    "safe_root_of_mean_square": {
        "optax.safe_root_mean_squares": lambda x, *, least: optax.safe_root_mean_squares(x, least),
    },
    "clipped_by_example": {
        "optax.per_example_global_norm_clip": lambda x, y, *, limit: optax.per_example_global_norm_clip([x, y], limit)[0],
    },
    "clipped_by_example_and_weight": {
        "optax.per_example_layer_norm_clip": lambda x, y, *, limit: optax.per_example_layer_norm_clip([x, y], limit)[0],
    },
    "kept_from_below_zero": {
        "optax.keep_params_nonnegative": lambda w, g: optax.apply_updates(w, _once(optax.keep_params_nonnegative(), g, w)),
    },
    "slow_copy": {
        "optax.periodic_update": _slow,
    },
}

"""JAX and flax: pooling. Flax has channels last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen
import flax.linen.pooling
import jax
import jax.numpy as jnp
from flax import nnx

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _last(x: Any) -> Any:
    return jnp.moveaxis(x, 1, -1)


def _first(x: Any) -> Any:
    return jnp.moveaxis(x, -1, 1)


def _border(padding: Any) -> Any:
    return padding.upper() if isinstance(padding, str) else [tuple(pair) for pair in padding]


def _no_ceil(ceil: bool) -> None:
    if ceil:
        raise Unsupported("ceil: no such form.")


def _reduced(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
    _no_ceil(ceil)
    border = padding.upper() if isinstance(padding, str) else [(0, 0), (0, 0), *(tuple(pair) for pair in padding)]
    around = (1, 1, *window), (1, 1, *strides), border
    return jax.lax.reduce_window(x, jnp.asarray(-jnp.inf, x.dtype), jax.lax.max, *around, window_dilation=(1, 1, *dilation))


def _max(function: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        _no_ceil(ceil)
        if max(dilation) > 1:
            raise Unsupported("dilation: no such form.")
        return _first(function(_last(x), tuple(window), tuple(strides), _border(padding)))

    return call


def _min(function: Call) -> Call:
    return lambda x, window, strides: _first(function(_last(x), tuple(window), tuple(strides)))


def _min_reduced(x: Any, window: Any, strides: Any) -> Any:
    start = jnp.asarray(jnp.inf, x.dtype)
    return jax.lax.reduce_window(x, start, jax.lax.min, (1, 1, *window), (1, 1, *strides), "VALID")


def _mean(function: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        _no_ceil(ceil)
        if divisor is not None:
            raise Unsupported("divisor: no such form.")
        given = (_last(x), tuple(window), tuple(strides), _border(padding))
        return _first(function(*given, count_include_pad=counts_border))

    return call


def of_equals(call: Call, first: int) -> Call:
    """Return a call that is given every number twice along each axis from the first one on."""

    def of_twice(x: Any, **form: Any) -> Any:
        for axis in range(first, len(x.shape)):
            x = jnp.repeat(x, 2, axis=axis)
        return call(x, **form)

    return of_twice


CALLS: dict[str, dict[str, Call]] = {}
for _rank in (1, 2, 3):
    _space = tuple(range(2, 2 + _rank))
    CALLS[f"max_pool_{_rank}d"] = {
        "jax.lax.reduce_window": _reduced,
        "flax.linen.max_pool": _max(flax.linen.max_pool),
        "flax.nnx.max_pool": _max(nnx.max_pool),
    }
    CALLS[f"max_pool_{_rank}d_of_equals"] = {name: of_equals(call, 2) for name, call in CALLS[f"max_pool_{_rank}d"].items()}
    CALLS[f"average_pool_{_rank}d"] = {
        "flax.linen.avg_pool": _mean(flax.linen.avg_pool),
        "flax.nnx.avg_pool": _mean(nnx.avg_pool),
    }
    CALLS[f"global_average_pool_{_rank}d"] = {"jax.numpy.mean": lambda x, _space=_space: jnp.mean(x, _space)}
    CALLS[f"global_max_pool_{_rank}d"] = {"jax.numpy.max": lambda x, _space=_space: jnp.max(x, _space)}
CALLS["min_pool_2d"] = {
    "jax.lax.reduce_window": _min_reduced,
    "flax.linen.pooling.min_pool": _min(lambda *given: flax.linen.pooling.min_pool(*given)),
    "flax.nnx.min_pool": _min(lambda *given: nnx.min_pool(*given)),
}

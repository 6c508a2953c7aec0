"""JAX: padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Call = Callable[..., Any]


def _all(x: Any, widths: Any) -> Any:
    return [(0, 0)] * (x.ndim - len(widths)) + [tuple(pair) for pair in widths]


def _mode(mode: str, **more: Any) -> Call:
    return lambda x, widths: jnp.pad(x, _all(x, widths), mode, **more)


def _constant(x: Any, widths: Any, value: float) -> Any:
    return jnp.pad(x, _all(x, widths), constant_values=value)


def _lax(x: Any, widths: Any, value: float = 0.0) -> Any:
    return jax.lax.pad(x, jnp.asarray(value, x.dtype), [(*pair, 0) for pair in _all(x, widths)])


def _between(x: Any, value: Any, widths: Any) -> Any:
    return jax.lax.pad(x, value, [tuple(each) for each in widths])


CALLS = {
    **{f"pad_constant_{rank}d": {"jax.numpy.pad": _constant, "jax.lax.pad": _lax} for rank in (1, 2, 3)},
    **{f"pad_negative_{rank}d": {"jax.lax.pad": _lax} for rank in (1, 2, 3)},
    **{f"pad_reflect_{rank}d": {"jax.numpy.pad": _mode("reflect")} for rank in (1, 2, 3)},
    **{f"pad_symmetric_{rank}d": {"jax.numpy.pad": _mode("symmetric")} for rank in (1, 2, 3)},
    **{f"pad_edge_{rank}d": {"jax.numpy.pad": _mode("edge")} for rank in (1, 2, 3)},
    **{f"pad_circular_{rank}d": {"jax.numpy.pad": _mode("wrap")} for rank in (1, 2, 3)},
    **{f"pad_{name}": {"jax.numpy.pad": _mode(name)} for name in ("mean", "maximum", "minimum", "median")},
    "pad_linear_ramp": {"jax.numpy.pad": _mode("linear_ramp", end_values=1.5)},
    "pad_reflect_odd": {"jax.numpy.pad": _mode("reflect", reflect_type="odd")},
    "pad_symmetric_odd": {"jax.numpy.pad": _mode("symmetric", reflect_type="odd")},
    "pad_between": {"jax.lax.pad": _between},
}

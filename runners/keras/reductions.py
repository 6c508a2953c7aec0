"""Keras: what gathers numbers along axes."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported
from runners.keras.pooling import of_equals


def _all(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _over(function: Any) -> Any:
    return lambda x, axis, keepdims: function(x, axis=_all(axis), keepdims=keepdims)


def _along(function: Any) -> Any:
    return lambda x, axis: function(x, axis=axis)


def _uncorrected(function: Any) -> Any:
    def call(x: Any, axis: Any, correction: int, keepdims: bool) -> Any:
        if correction:
            raise Unsupported("over the count itself")
        return function(x, axis=_all(axis), keepdims=keepdims)

    return call


def _norm(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    if isinstance(axis, list):
        raise Unsupported("two axes are those of a matrix")
    return ops.norm(x, ord=order, axis=axis, keepdims=keepdims)


def _quantile(x: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
    given = ops.convert_to_tensor(q, dtype=x.dtype) if isinstance(q, list) else q
    return ops.quantile(x, given, axis=axis, method=method, keepdims=keepdims)


def _percentile(x: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
    given = ops.convert_to_tensor([100.0 * each for each in q], dtype=x.dtype) if isinstance(q, list) else 100.0 * q
    return ops.percentile(x, given, axis=axis, method=method, keepdims=keepdims)


def _typed(layer: Any, x: Any, **more: Any) -> Any:
    """Return what a layer gives in the type of its input."""
    return layer(dtype=keras.backend.standardize_dtype(x.dtype), **more)(x)


_SOFTMAX = {
    "keras.ops.softmax": _along(ops.softmax),
    "keras.activations.softmax": _along(keras.activations.softmax),
    "keras.layers.Softmax": lambda x, axis: _typed(keras.layers.Softmax, x, axis=axis),
}

CALLS = {
    "sum": {"keras.ops.sum": _over(ops.sum)},
    "sum_of_all": {"keras.ops.sum": None},
    "mean": {"keras.ops.mean": _over(ops.mean)},
    "prod": {"keras.ops.prod": _over(ops.prod)},
    "prod_with_a_zero": {"keras.ops.prod": _along(ops.prod)},
    "prod_with_two_zeros": {"keras.ops.prod": _along(ops.prod)},
    "max": {"keras.ops.max": _over(ops.max), "keras.ops.amax": _over(ops.amax)},
    "min": {"keras.ops.min": _over(ops.min), "keras.ops.amin": _over(ops.amin)},
    "ptp": {"keras.ops.ptp": _over(ops.ptp)},
    "argmax": {"keras.ops.argmax": _along(ops.argmax)},
    "argmin": {"keras.ops.argmin": _along(ops.argmin)},
    "argmax_of_equals": {"keras.ops.argmax": _along(ops.argmax)},
    "any": {"keras.ops.any": _over(ops.any)},
    "all": {"keras.ops.all": _over(ops.all)},
    "count_nonzero": {"keras.ops.count_nonzero": _along(ops.count_nonzero)},
    "var": {"keras.ops.var": _uncorrected(ops.var)},
    "var_far_from_zero": {"keras.ops.var": lambda x: ops.var(x, axis=-1)},
    "std": {"keras.ops.std": _uncorrected(ops.std)},
    "average": {"keras.ops.average": lambda x, weights, axis: ops.average(x, axis=axis, weights=weights)},
    "corrcoef": {"keras.ops.corrcoef": None},
    "vector_norm": {"keras.ops.norm": _norm},
    "vector_norm_infinity": {"keras.ops.norm": lambda x, axis: ops.norm(x, ord=float("inf"), axis=axis)},
    "vector_norm_zero": {"keras.ops.norm": lambda x: ops.norm(x, ord=0, axis=-1)},
    "l2_normalize": {
        "keras.ops.normalize": lambda x, axis: ops.normalize(x, axis=axis),
        "keras.layers.UnitNormalization": lambda x, axis: _typed(keras.layers.UnitNormalization, x, axis=axis),
        "keras.utils.normalize": lambda x, axis: keras.utils.normalize(x, axis=axis),
    },
    "logsumexp": {"keras.ops.logsumexp": _over(ops.logsumexp)},
    "logsumexp_of_infinities": {"keras.ops.logsumexp": lambda x: ops.logsumexp(x, axis=-1)},
    "softmax": _SOFTMAX,
    "softmax_of_three_axes": _SOFTMAX,
    "softmax_of_large_numbers": {"keras.ops.softmax": None, "keras.activations.softmax": None},
    "softmax_of_infinities": {"keras.ops.softmax": None, "keras.activations.softmax": None},
    "log_softmax": {
        "keras.ops.log_softmax": _along(ops.log_softmax),
        "keras.activations.log_softmax": _along(keras.activations.log_softmax),
    },
    "cumsum": {
        "keras.ops.cumsum": _along(ops.cumsum),
        "keras.ops.associative_scan": _along(lambda x, axis: ops.associative_scan(lambda one, other: one + other, x, axis=axis)),
    },
    "cumprod": {"keras.ops.cumprod": _along(ops.cumprod)},
    "cumprod_with_a_zero": {"keras.ops.cumprod": _along(ops.cumprod)},
    "median": {"keras.ops.median": _over(ops.median), "keras.ops.nanmedian": _over(ops.nanmedian)},
    "quantile": {"keras.ops.quantile": _quantile, "keras.ops.percentile": _percentile},
    "nansum": {"keras.ops.nansum": _over(ops.nansum)},
    "nanmean": {"keras.ops.nanmean": _over(ops.nanmean)},
    "nanmax": {"keras.ops.nanmax": _over(ops.nanmax)},
    "nanmin": {"keras.ops.nanmin": _over(ops.nanmin)},
    "nanvar": {"keras.ops.nanvar": _over(ops.nanvar)},
    "nanstd": {"keras.ops.nanstd": _over(ops.nanstd)},
    "nanmedian": {"keras.ops.nanmedian": _over(ops.nanmedian)},
    "nanprod": {"keras.ops.nanprod": _along(ops.nanprod)},
    "nancumsum": {"keras.ops.nancumsum": _along(ops.nancumsum)},
    "nanargmax": {"keras.ops.nanargmax": _along(ops.nanargmax)},
    "nanargmin": {"keras.ops.nanargmin": _along(ops.nanargmin)},
    "nanquantile": {
        "keras.ops.nanquantile": lambda x, q, axis: ops.nanquantile(x, q, axis=axis),
        "keras.ops.nanpercentile": lambda x, q, axis: ops.nanpercentile(x, 100.0 * q, axis=axis),
    },
    "diff": {"keras.ops.diff": lambda x, order, axis: ops.diff(x, n=order, axis=axis)},
    "trapezoid": {"keras.ops.trapezoid": lambda y, spacing, axis: ops.trapezoid(y, dx=spacing, axis=axis)},
    "trapezoid_at_places": {"keras.ops.trapezoid": lambda y, x: ops.trapezoid(y, x)},
    "histogram": {"keras.ops.histogram": lambda x, bins, low, high: ops.histogram(x, bins=bins, range=(low, high))[0]},
    "bincount": {"keras.ops.bincount": lambda x: ops.bincount(x, minlength=10)},
    "bincount_weighted": {"keras.ops.bincount": lambda x, weights: ops.bincount(x, weights=weights, minlength=10)},
    "nancumprod": {
        "keras.ops.nancumprod": _along(ops.nancumprod),
    },
}
for _name in ("max", "vector_norm_infinity"):
    CALLS[f"{_name}_of_equals"] = {name: of_equals(call, 0) for name, call in CALLS[_name].items()}

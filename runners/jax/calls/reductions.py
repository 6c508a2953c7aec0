"""JAX: what gathers numbers along axes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

from runners.contract.errors import Unsupported
from runners.jax.calls.pooling import of_equals


def _all(axis: Any) -> Any:
    """Return the axes as JAX takes them: several in a tuple."""
    return tuple(axis) if isinstance(axis, list) else axis


def _over(function: Any) -> Any:
    return lambda x, axis, keepdims: function(x, axis=_all(axis), keepdims=keepdims)


def _along(function: Any) -> Any:
    return lambda x, axis: function(x, axis=axis)


def _lax(function: Any) -> Any:
    """Return a call of a primitive, which takes axes that are not negative, in a tuple."""

    def call(x: Any, axis: Any, keepdims: bool) -> Any:
        if keepdims:
            raise Unsupported("keeps no axis of size 1")
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, list) else [axis]
        return function(x, tuple(each % x.ndim for each in axes))

    return call


def _lax_along(function: Any, **more: Any) -> Any:
    return lambda x, axis: function(x, axis=axis % x.ndim, **more)


def _reduce(start: float, operation: Any) -> Any:
    return _lax(lambda x, axes: lax.reduce(x, jnp.asarray(start, x.dtype), operation, axes))


def _corrected(function: Any, name: str = "ddof") -> Any:
    return lambda x, axis, correction, keepdims: function(x, axis=_all(axis), keepdims=keepdims, **{name: correction})


def _quantile(x: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
    return jnp.quantile(x, jnp.asarray(q, x.dtype), axis=axis, method=method, keepdims=keepdims)


def _percentile(x: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
    return jnp.percentile(x, 100.0 * jnp.asarray(q, x.dtype), axis=axis, method=method, keepdims=keepdims)


def _norm(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    if axis is None or isinstance(axis, list):
        raise Unsupported("several axes are those of a matrix")
    return jnp.linalg.norm(x, ord=order, axis=axis, keepdims=keepdims)


def _cumsum_directed(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    if exclusive:
        raise Unsupported("running sums have the number itself")
    return lax.cumsum(x, axis=axis % x.ndim, reverse=reverse)


def _histogram(x: Any, weights: Any, density: bool) -> Any:
    return jnp.histogram(x, bins=16, range=(-4.0, 4.0), weights=weights, density=density)[0]


def _histogramdd(x: Any, weights: Any, density: bool) -> Any:
    return jnp.histogramdd(x[:, None], bins=16, range=[(-4.0, 4.0)], weights=weights, density=density)[0]


def _scanned(operation: Any) -> Any:
    return lambda x, axis: lax.associative_scan(operation, x, axis=axis)


def _softmax(x: Any, axis: int) -> Any:
    return jax.nn.softmax(x, axis=axis)


def _scipy_softmax(x: Any, axis: int) -> Any:
    return jax.scipy.special.softmax(x, axis=axis)


CALLS = {
    "sum": {
        "jax.numpy.sum": _over(jnp.sum),
        "jax.lax.reduce_sum": _lax(lax.reduce_sum),
        "jax.lax.reduce": _reduce(0.0, lax.add),
    },
    "sum_of_all": {"jax.numpy.sum": None},
    "sum_where": {"jax.numpy.sum": lambda x, where, axis: jnp.sum(x, axis=axis, where=where)},
    "mean": {
        "jax.numpy.mean": _over(jnp.mean),
        "jax.numpy.average": _over(jnp.average),
        "jax.numpy.nanmean": _over(jnp.nanmean),
    },
    "mean_where": {"jax.numpy.mean": lambda x, where, axis: jnp.mean(x, axis=axis, where=where)},
    "prod": {
        "jax.numpy.prod": _over(jnp.prod),
        "jax.lax.reduce_prod": _lax(lax.reduce_prod),
        "jax.lax.reduce": _reduce(1.0, lax.mul),
    },
    "prod_with_a_zero": {"jax.numpy.prod": _along(jnp.prod)},
    "prod_with_two_zeros": {"jax.numpy.prod": _along(jnp.prod)},
    "max": {
        "jax.numpy.max": _over(jnp.max),
        "jax.numpy.amax": _over(jnp.amax),
        "jax.lax.reduce_max": _lax(lax.reduce_max),
        "jax.lax.reduce": _reduce(float("-inf"), lax.max),
    },
    "min": {
        "jax.numpy.min": _over(jnp.min),
        "jax.numpy.amin": _over(jnp.amin),
        "jax.lax.reduce_min": _lax(lax.reduce_min),
        "jax.lax.reduce": _reduce(float("inf"), lax.min),
    },
    "ptp": {"jax.numpy.ptp": _over(jnp.ptp)},
    "max_where": {"jax.numpy.max": lambda x, where, axis: jnp.max(x, axis=axis, where=where, initial=-100.0)},
    "argmax": {"jax.numpy.argmax": _along(jnp.argmax), "jax.lax.argmax": _lax_along(lax.argmax, index_dtype=jnp.int32)},
    "argmin": {"jax.numpy.argmin": _along(jnp.argmin), "jax.lax.argmin": _lax_along(lax.argmin, index_dtype=jnp.int32)},
    "argmax_of_equals": {
        "jax.numpy.argmax": _along(jnp.argmax),
        "jax.lax.argmax": _lax_along(lax.argmax, index_dtype=jnp.int32),
    },
    "any": {"jax.numpy.any": _over(jnp.any), "jax.lax.reduce_or": _lax(lax.reduce_or)},
    "all": {"jax.numpy.all": _over(jnp.all), "jax.lax.reduce_and": _lax(lax.reduce_and)},
    "count_nonzero": {"jax.numpy.count_nonzero": _along(jnp.count_nonzero)},
    "var": {
        "jax.numpy.var": _corrected(jnp.var),
        "jax.numpy.var (correction)": _corrected(jnp.var, "correction"),
        "jax.numpy.nanvar": _corrected(jnp.nanvar),
    },
    "var_far_from_zero": {"jax.numpy.var": lambda x: jnp.var(x, axis=-1)},
    "std": {"jax.numpy.std": _corrected(jnp.std), "jax.numpy.nanstd": _corrected(jnp.nanstd)},
    "average": {"jax.numpy.average": lambda x, weights, axis: jnp.average(x, weights=weights, axis=axis)},
    "cov": {"jax.numpy.cov": None},
    "corrcoef": {"jax.numpy.corrcoef": None},
    "vector_norm": {
        "jax.numpy.linalg.vector_norm": lambda x, order, axis, keepdims: jnp.linalg.vector_norm(
            x, ord=order, axis=_all(axis), keepdims=keepdims
        ),
        "jax.numpy.linalg.norm": _norm,
        "optax.safe_norm": lambda x, order, axis, keepdims: optax.safe_norm(
            x, 0.0, ord=order, axis=_single(axis), keepdims=keepdims
        ),
    },
    "vector_norm_infinity": {
        "jax.numpy.linalg.vector_norm": lambda x, axis: jnp.linalg.vector_norm(x, ord=jnp.inf, axis=axis),
        "jax.numpy.linalg.norm": lambda x, axis: jnp.linalg.norm(x, ord=jnp.inf, axis=axis),
    },
    "vector_norm_zero": {
        "jax.numpy.linalg.vector_norm": lambda x: jnp.linalg.vector_norm(x, ord=0, axis=-1),
        "jax.numpy.linalg.norm": lambda x: jnp.linalg.norm(x, ord=0, axis=-1),
    },
    "logsumexp": {
        "jax.nn.logsumexp": _over(jax.nn.logsumexp),
        "jax.scipy.special.logsumexp": _over(jax.scipy.special.logsumexp),
    },
    "logsumexp_of_infinities": {"jax.nn.logsumexp": lambda x: jax.nn.logsumexp(x, axis=-1)},
    "logsumexp_weighted": {
        "jax.nn.logsumexp": lambda x, weights, axis: jax.nn.logsumexp(x, axis=axis, b=weights),
        "jax.scipy.special.logsumexp": lambda x, weights, axis: jax.scipy.special.logsumexp(x, axis=axis, b=weights),
    },
    "logmeanexp": {"jax.nn.logmeanexp": _along(jax.nn.logmeanexp)} if hasattr(jax.nn, "logmeanexp") else {},
    "softmax": {"jax.nn.softmax": _softmax, "jax.scipy.special.softmax": _scipy_softmax},
    "softmax_of_three_axes": {"jax.nn.softmax": _softmax, "jax.scipy.special.softmax": _scipy_softmax},
    "softmax_of_large_numbers": {"jax.nn.softmax": None, "jax.scipy.special.softmax": lambda x: _scipy_softmax(x, -1)},
    "softmax_of_infinities": {"jax.nn.softmax": None, "jax.scipy.special.softmax": lambda x: _scipy_softmax(x, -1)},
    "log_softmax": {
        "jax.nn.log_softmax": _along(jax.nn.log_softmax),
        "jax.scipy.special.log_softmax": _along(jax.scipy.special.log_softmax),
    },
    "softmax_where": {"jax.nn.softmax": lambda x, where, axis: jax.nn.softmax(x, axis=axis, where=where)},
    "cumsum": {
        "jax.numpy.cumsum": _along(jnp.cumsum),
        "jax.numpy.cumulative_sum": _along(jnp.cumulative_sum),
        "jax.lax.cumsum": _lax_along(lax.cumsum),
        "jax.lax.associative_scan": _scanned(jnp.add),
    },
    "cumsum_directed": {"jax.lax.cumsum": _cumsum_directed},
    "cumulative_sum_with_initial": {
        "jax.numpy.cumulative_sum": lambda x, axis: jnp.cumulative_sum(x, axis=axis, include_initial=True)
    },
    "cumprod": {
        "jax.numpy.cumprod": _along(jnp.cumprod),
        "jax.numpy.cumulative_prod": _along(jnp.cumulative_prod),
        "jax.lax.cumprod": _lax_along(lax.cumprod),
        "jax.lax.associative_scan": _scanned(jnp.multiply),
    },
    "cumprod_with_a_zero": {"jax.numpy.cumprod": _along(jnp.cumprod), "jax.lax.cumprod": _lax_along(lax.cumprod)},
    "cummax": {"jax.lax.cummax": _lax_along(lax.cummax), "jax.lax.associative_scan": _scanned(jnp.maximum)},
    "cummin": {"jax.lax.cummin": _lax_along(lax.cummin), "jax.lax.associative_scan": _scanned(jnp.minimum)},
    "logcumsumexp": {
        "jax.lax.cumlogsumexp": _lax_along(lax.cumlogsumexp),
        "jax.lax.associative_scan": _scanned(jnp.logaddexp),
    },
    "median": {"jax.numpy.median": _over(jnp.median), "jax.numpy.nanmedian": _over(jnp.nanmedian)},
    "quantile": {
        "jax.numpy.quantile": _quantile,
        "jax.numpy.percentile": _percentile,
        "jax.numpy.nanquantile": lambda x, q, axis, method, keepdims: jnp.nanquantile(
            x, jnp.asarray(q, x.dtype), axis=axis, method=method, keepdims=keepdims
        ),
    },
    "nansum": {"jax.numpy.nansum": _over(jnp.nansum)},
    "nanmean": {"jax.numpy.nanmean": _over(jnp.nanmean)},
    "nanmax": {"jax.numpy.nanmax": _over(jnp.nanmax)},
    "nanmin": {"jax.numpy.nanmin": _over(jnp.nanmin)},
    "nanvar": {"jax.numpy.nanvar": _over(jnp.nanvar)},
    "nanstd": {"jax.numpy.nanstd": _over(jnp.nanstd)},
    "nanmedian": {"jax.numpy.nanmedian": _over(jnp.nanmedian)},
    "nanprod": {"jax.numpy.nanprod": _along(jnp.nanprod)},
    "nancumsum": {"jax.numpy.nancumsum": _along(jnp.nancumsum)},
    "nanargmax": {"jax.numpy.nanargmax": _along(jnp.nanargmax)},
    "nanargmin": {"jax.numpy.nanargmin": _along(jnp.nanargmin)},
    "nanquantile": {
        "jax.numpy.nanquantile": lambda x, q, axis: jnp.nanquantile(x, q, axis=axis),
        "jax.numpy.nanpercentile": lambda x, q, axis: jnp.nanpercentile(x, 100.0 * q, axis=axis),
    },
    "diff": {"jax.numpy.diff": lambda x, order, axis: jnp.diff(x, n=order, axis=axis)},
    "trapezoid": {
        "jax.numpy.trapezoid": lambda y, spacing, axis: jnp.trapezoid(y, dx=spacing, axis=axis),
        "jax.scipy.integrate.trapezoid": lambda y, spacing, axis: jax.scipy.integrate.trapezoid(y, dx=spacing, axis=axis),
    },
    "trapezoid_at_places": {
        "jax.numpy.trapezoid": lambda y, x: jnp.trapezoid(y, x),
        "jax.scipy.integrate.trapezoid": lambda y, x: jax.scipy.integrate.trapezoid(y, x),
    },
    "histogram": {"jax.numpy.histogram": lambda x, bins, low, high: jnp.histogram(x, bins=bins, range=(low, high))[0]},
    "histogram_weighted": {"jax.numpy.histogram": _histogram, "jax.numpy.histogramdd": _histogramdd},
    "bincount": {"jax.numpy.bincount": lambda x: jnp.bincount(x, minlength=10, length=10)},
    "bincount_weighted": {"jax.numpy.bincount": lambda x, weights: jnp.bincount(x, weights, minlength=10, length=10)},
    "gradient_along": {"jax.numpy.gradient": lambda x, spacing, axis: jnp.gradient(x, spacing, axis=axis)},
    "clip_by_norm": {
        "optax.clip_by_global_norm": lambda x, limit: optax.clip_by_global_norm(limit).update(x, optax.EmptyState())[0]
    },
    "nancumprod": {
        "jax.numpy.nancumprod": _along(jnp.nancumprod),
    },
}
for _name in ("max", "vector_norm_infinity"):
    CALLS[f"{_name}_of_equals"] = {name: of_equals(call, 0) for name, call in CALLS[_name].items()}


def _single(axis: Any) -> Any:
    if axis is None or isinstance(axis, list):
        raise Unsupported("several axes are those of a matrix")
    return axis

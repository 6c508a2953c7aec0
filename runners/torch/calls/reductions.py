"""PyTorch: what gathers numbers along axes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.errors import Unsupported
from runners.torch.calls.pooling import of_equals


def _all(x: Any, axis: Any) -> Any:
    """Return the axes as PyTorch takes them where it takes several: None stands for all."""
    return tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, list) else axis


def _over(function: Any) -> Any:
    """Return a call with the axes as `dim` and `keepdim`."""
    return lambda x, axis, keepdims: function(x, dim=_all(x, axis), keepdim=keepdims)


def _one(axis: Any) -> Any:
    if axis is None or isinstance(axis, list):
        raise Unsupported(f"one axis alone. Given: {axis}.")
    return axis


def _one_over(function: Any) -> Any:
    """Return a call with one axis as `dim` and `keepdim`."""
    return lambda x, axis, keepdims: function(x, dim=_one(axis), keepdim=keepdims)


def _along(function: Any) -> Any:
    return lambda x, axis: function(x, dim=axis)


def _product(x: Any, axis: Any, keepdims: bool = False) -> Any:
    return torch.prod(x) if axis is None else torch.prod(x, dim=_one(axis), keepdim=keepdims)


def _corrected(function: Any) -> Any:
    return lambda x, axis, correction, keepdims: function(x, dim=_all(x, axis), correction=correction, keepdim=keepdims)


def _quantile(function: Any) -> Any:
    def call(x: Any, q: Any, axis: int, method: str, keepdims: bool) -> Any:
        given = torch.tensor(q, dtype=x.dtype) if isinstance(q, list) else q
        return function(x, given, dim=axis, keepdim=keepdims, interpolation=method)

    return call


def _nan_reduced(function: Any) -> Any:
    return lambda x, axis, keepdims: function(x, dim=axis, keepdim=keepdims)


def _norm(function: Any) -> Any:
    return lambda x, order, axis, keepdims: function(x, order, dim=_all(x, axis), keepdim=keepdims)


def _dist(x: Any, order: float, axis: Any, keepdims: bool) -> Any:
    if axis != -1 or keepdims:
        raise Unsupported("of all numbers alone")
    rows = [torch.dist(row, torch.zeros_like(row), p=order) for row in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape[:-1])


def _histogramdd(x: Any, weights: Any, density: bool) -> Any:
    found = torch.histogramdd(x[:, None], bins=[16], range=[-4.0, 4.0], weight=weights, density=density)
    return found.hist


_SOFTMAX = {
    "torch.softmax": lambda x, axis: torch.softmax(x, axis),
    "torch.nn.functional.softmax": lambda x, axis: F.softmax(x, axis),
    "torch.nn.Softmax": lambda x, axis: nn.Softmax(axis)(x),
    "torch.special.softmax": lambda x, axis: torch.special.softmax(x, axis),
}
_LAST_SOFTMAX = {
    "torch.softmax": lambda x: torch.softmax(x, -1),
    "torch.nn.functional.softmax": lambda x: F.softmax(x, -1),
    "torch.nn.Softmax": lambda x: nn.Softmax(-1)(x),
    "torch.special.softmax": lambda x: torch.special.softmax(x, -1),
}

CALLS = {
    "sum": {
        "torch.sum": _over(torch.sum),
        "torch.einsum": lambda x, axis, keepdims: torch.einsum("abc->" + _kept_letters(x, axis, keepdims), x),
    },
    "sum_of_all": {"torch.sum": None},
    "mean": {"torch.mean": _over(torch.mean), "torch.nanmean": _over(torch.nanmean)},
    "prod": {"torch.prod": _product},
    "prod_with_a_zero": {"torch.prod": _product},
    "prod_with_two_zeros": {"torch.prod": _product},
    "max": {
        "torch.amax": _over(torch.amax),
        "torch.max": lambda x, axis, keepdims: torch.max(x) if axis is None else torch.max(x, _one(axis), keepdims).values,
    },
    "min": {
        "torch.amin": _over(torch.amin),
        "torch.min": lambda x, axis, keepdims: torch.min(x) if axis is None else torch.min(x, _one(axis), keepdims).values,
    },
    "aminmax": {"torch.aminmax": _along(torch.aminmax)},
    "argmax": {"torch.argmax": _along(torch.argmax), "torch.max": lambda x, axis: torch.max(x, axis).indices},
    "argmin": {"torch.argmin": _along(torch.argmin), "torch.min": lambda x, axis: torch.min(x, axis).indices},
    "argmax_of_equals": {"torch.argmax": _along(torch.argmax)},
    "any": {"torch.any": _over(torch.any)},
    "all": {"torch.all": _over(torch.all)},
    "count_nonzero": {"torch.count_nonzero": _along(torch.count_nonzero)},
    "var": {"torch.var": _corrected(torch.var)},
    "var_far_from_zero": {"torch.var": lambda x: torch.var(x, dim=-1, correction=0)},
    "std": {"torch.std": _corrected(torch.std)},
    "var_mean": {"torch.var_mean": _corrected(torch.var_mean)},
    "std_mean": {"torch.std_mean": _corrected(torch.std_mean)},
    "cov": {"torch.cov": None},
    "corrcoef": {"torch.corrcoef": None},
    "vector_norm": {
        "torch.linalg.vector_norm": _norm(torch.linalg.vector_norm),
        "torch.linalg.norm": lambda x, order, axis, keepdims: torch.linalg.norm(x, order, dim=_one(axis), keepdim=keepdims),
        "torch.norm": _norm(torch.norm),
        "torch.dist": _dist,
    },
    "vector_norm_infinity": {
        "torch.linalg.vector_norm": lambda x, axis: torch.linalg.vector_norm(x, float("inf"), dim=axis),
        "torch.linalg.norm": lambda x, axis: torch.linalg.norm(x, float("inf"), dim=axis),
        "torch.norm": lambda x, axis: torch.norm(x, float("inf"), dim=axis),
    },
    "vector_norm_zero": {
        "torch.linalg.vector_norm": lambda x: torch.linalg.vector_norm(x, 0, dim=-1),
        "torch.norm": lambda x: torch.norm(x, 0, dim=-1),
    },
    "l2_normalize": {"torch.nn.functional.normalize": lambda x, axis: F.normalize(x, dim=axis, eps=0.0)},
    "logsumexp": {"torch.logsumexp": _over(torch.logsumexp), "torch.special.logsumexp": _over(torch.special.logsumexp)},
    "logsumexp_of_infinities": {"torch.logsumexp": lambda x: torch.logsumexp(x, -1)},
    "softmax": _SOFTMAX | {"torch.nn.Softmax2d": lambda x, axis: _softmax_2d(x, axis)},
    "softmax_of_three_axes": _SOFTMAX,
    "softmax_of_large_numbers": _LAST_SOFTMAX,
    "softmax_of_infinities": _LAST_SOFTMAX,
    "log_softmax": {
        "torch.log_softmax": lambda x, axis: torch.log_softmax(x, axis),
        "torch.nn.functional.log_softmax": lambda x, axis: F.log_softmax(x, axis),
        "torch.nn.LogSoftmax": lambda x, axis: nn.LogSoftmax(axis)(x),
        "torch.special.log_softmax": lambda x, axis: torch.special.log_softmax(x, axis),
    },
    "softmin": {
        "torch.nn.functional.softmin": lambda x, axis: F.softmin(x, axis),
        "torch.nn.Softmin": lambda x, axis: nn.Softmin(axis)(x),
    },
    "cumsum": {"torch.cumsum": _along(torch.cumsum)},
    "cumprod": {"torch.cumprod": _along(torch.cumprod)},
    "cumprod_with_a_zero": {"torch.cumprod": _along(torch.cumprod)},
    "cummax": {"torch.cummax": lambda x, axis: torch.cummax(x, axis).values},
    "cummin": {"torch.cummin": lambda x, axis: torch.cummin(x, axis).values},
    "cummax_with_places": {"torch.cummax": lambda x, axis: tuple(torch.cummax(x, axis))},
    "cummin_with_places": {"torch.cummin": lambda x, axis: tuple(torch.cummin(x, axis))},
    "logcumsumexp": {"torch.logcumsumexp": _along(torch.logcumsumexp)},
    "median_lower": {
        "torch.median": lambda x, axis, keepdims: torch.median(x, axis, keepdims).values,
        "torch.nanmedian": lambda x, axis, keepdims: torch.nanmedian(x, axis, keepdims).values,
    },
    "median": {"torch.quantile": lambda x, axis, keepdims: torch.quantile(x, 0.5, dim=axis, keepdim=keepdims)},
    "quantile": {"torch.quantile": _quantile(torch.quantile), "torch.nanquantile": _quantile(torch.nanquantile)},
    "kthvalue": {"torch.kthvalue": lambda x, k_th, axis: torch.kthvalue(x, min(k_th, x.shape[axis]), axis).values},
    "nansum": {"torch.nansum": _nan_reduced(torch.nansum)},
    "nanmean": {"torch.nanmean": _nan_reduced(torch.nanmean)},
    "nanquantile": {"torch.nanquantile": lambda x, q, axis: torch.nanquantile(x, q, dim=axis)},
    "diff": {"torch.diff": lambda x, order, axis: torch.diff(x, n=order, dim=axis)},
    "trapezoid": {
        "torch.trapezoid": lambda y, spacing, axis: torch.trapezoid(y, dx=spacing, dim=axis),
        "torch.trapz": lambda y, spacing, axis: torch.trapz(y, dx=spacing, dim=axis),
    },
    "trapezoid_at_places": {
        "torch.trapezoid": lambda y, x: torch.trapezoid(y, x),
        "torch.trapz": lambda y, x: torch.trapz(y, x),
    },
    "cumulative_trapezoid": {"torch.cumulative_trapezoid": lambda y, axis: torch.cumulative_trapezoid(y, dim=axis)},
    "histogram": {
        "torch.histc": lambda x, bins, low, high: torch.histc(x, bins, low, high),
        "torch.histogram": lambda x, bins, low, high: torch.histogram(x, bins, range=(low, high)).hist,
    },
    "histogram_weighted": {
        "torch.histogram": lambda x, weights, density: (
            torch.histogram(x, 16, range=(-4.0, 4.0), weight=weights, density=density).hist
        ),
        "torch.histogramdd": _histogramdd,
    },
    "bincount": {"torch.bincount": lambda x: torch.bincount(x, minlength=10)},
    "bincount_weighted": {"torch.bincount": lambda x, weights: torch.bincount(x, weights, minlength=10)},
    "gradient_along": {"torch.gradient": lambda x, spacing, axis: torch.gradient(x, spacing=spacing, dim=axis)[0]},
    "renorm": {"torch.renorm": lambda x, order, limit, axis: torch.renorm(x, order, axis, limit)},
}
for _name in ("max", "vector_norm_infinity"):
    CALLS[f"{_name}_of_equals"] = {name: of_equals(call, 0) for name, call in CALLS[_name].items()}


def _kept_letters(x: Any, axis: Any, keepdims: bool) -> str:
    if keepdims:
        raise Unsupported("einsum keeps no axis of size 1")
    reduced = {0, 1, 2} if axis is None else {each % x.ndim for each in (axis if isinstance(axis, list) else [axis])}
    return "".join(letter for place, letter in enumerate("abc") if place not in reduced)


def _softmax_2d(x: Any, axis: int) -> Any:
    if axis != 0:
        raise Unsupported("channels alone")
    return nn.Softmax2d()(x[:, :, None])[:, :, 0]

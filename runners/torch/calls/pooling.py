"""PyTorch: pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _border(padding: Any, window: Any) -> list[int]:
    if padding == "valid":
        return [0] * len(window)
    if isinstance(padding, str):
        raise Unsupported("padding: same. Allowed: numbers.")
    if any(before != behind for before, behind in padding):
        raise Unsupported("another border before than behind. Allowed: the same.")
    return [before for before, _ in padding]


def _max(function: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        return function(x, window, strides, _border(padding, window), dilation, ceil)

    return call


def _max_where(function: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        return function(x, window, strides, _border(padding, window), dilation, ceil, True)

    return call


def _max_where_raw(function: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        return function(x, window, strides, _border(padding, window), dilation, ceil)

    return call


def _max_layer(kind: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        given = (tuple(each) for each in (window, strides, _border(padding, window), dilation))
        return kind(*given, ceil_mode=ceil)(x)

    return call


def _max_layer_where(kind: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, dilation: Any, ceil: bool) -> Any:
        given = (tuple(each) for each in (window, strides, _border(padding, window), dilation))
        return kind(*given, return_indices=True, ceil_mode=ceil)(x)

    return call


def _mean(function: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        more = {} if divisor is None else {"divisor_override": divisor}
        return function(x, window, strides, _border(padding, window), ceil, counts_border, **more)

    return call


def _mean_layer(kind: Call) -> Call:
    def call(x: Any, window: Any, strides: Any, padding: Any, ceil: bool, counts_border: bool, divisor: int | None) -> Any:
        more = {} if divisor is None else {"divisor_override": divisor}
        given = (tuple(each) for each in (window, strides, _border(padding, window)))
        return kind(*given, ceil, counts_border, **more)(x)

    return call


def _norm(rank: int) -> dict[str, Call]:
    function, kind = getattr(F, f"lp_pool{rank}d", None), getattr(nn, f"LPPool{rank}d", None)

    def call(x: Any, power: float, window: Any, strides: Any, ceil: bool) -> Any:
        return function(x, power, tuple(window) if rank > 1 else window[0], tuple(strides) if rank > 1 else strides[0], ceil)

    def layer(x: Any, power: float, window: Any, strides: Any, ceil: bool) -> Any:
        return kind(power, tuple(window) if rank > 1 else window[0], tuple(strides) if rank > 1 else strides[0], ceil)(x)

    return {f"torch.nn.functional.lp_pool{rank}d": call, f"torch.nn.LPPool{rank}d": layer}


def _adaptive(function: Call) -> Call:
    return lambda x, output: function(x, output)


def _adaptive_layer(kind: Call) -> Call:
    return lambda x, output: kind(tuple(output) if len(output) > 1 else output[0])(x)


def _one(function: Call, rank: int) -> Call:
    return lambda x: function(x, [1] * rank).flatten(1)


def _unpool(x: Any, places: Any) -> Any:
    return F.max_unpool1d(x, 2 * places[None, None], 2)


def _unpool_layer(x: Any, places: Any) -> Any:
    return nn.MaxUnpool1d(2)(x, 2 * places[None, None])


def _unpool_rows(x: Any, places: Any) -> Any:
    return F.max_unpool2d(x[:, :, None], 2 * places[None, None, None], (1, 2))[:, :, 0]


def _unpool_boxes(x: Any, places: Any) -> Any:
    return F.max_unpool3d(x[:, :, None, None], 2 * places[None, None, None, None], (1, 1, 2))[:, :, 0, 0]


def of_equals(call: Call, first: int) -> Call:
    """Return a call that is given every number twice along each axis from the first one on."""

    def of_twice(x: Any, **form: Any) -> Any:
        for axis in range(first, len(x.shape)):
            x = torch.repeat_interleave(x, 2, dim=axis)
        return call(x, **form)

    return of_twice


def _calls(rank: int) -> dict[str, dict[str, Call]]:
    largest, where, mean = (getattr(F, f"{name}_pool{rank}d") for name in ("max", "max", "avg"))
    adaptive_max, adaptive_mean = getattr(F, f"adaptive_max_pool{rank}d"), getattr(F, f"adaptive_avg_pool{rank}d")
    of_torch, layer = getattr(torch, f"max_pool{rank}d"), getattr(nn, f"MaxPool{rank}d")
    calls = {
        f"max_pool_{rank}d": {
            f"torch.nn.functional.max_pool{rank}d": _max(largest),
            f"torch.max_pool{rank}d": _max(of_torch),
            f"torch.nn.MaxPool{rank}d": _max_layer(layer),
        },
        f"max_pool_{rank}d_where": {
            f"torch.nn.functional.max_pool{rank}d (return_indices)": _max_where(where),
            f"torch.nn.functional.max_pool{rank}d_with_indices": _max_where_raw(getattr(F, f"max_pool{rank}d_with_indices")),
            f"torch.nn.MaxPool{rank}d (return_indices)": _max_layer_where(layer),
        },
        f"average_pool_{rank}d": {
            f"torch.nn.functional.avg_pool{rank}d": _mean(mean),
            f"torch.nn.AvgPool{rank}d": _mean_layer(getattr(nn, f"AvgPool{rank}d")),
        },
        f"norm_pool_{rank}d": _norm(rank),
        f"adaptive_average_pool_{rank}d": {
            f"torch.nn.functional.adaptive_avg_pool{rank}d": _adaptive(adaptive_mean),
            f"torch.nn.AdaptiveAvgPool{rank}d": _adaptive_layer(getattr(nn, f"AdaptiveAvgPool{rank}d")),
        },
        f"adaptive_max_pool_{rank}d": {
            f"torch.nn.functional.adaptive_max_pool{rank}d": _adaptive(adaptive_max),
            f"torch.nn.AdaptiveMaxPool{rank}d": _adaptive_layer(getattr(nn, f"AdaptiveMaxPool{rank}d")),
        },
        f"global_average_pool_{rank}d": {f"torch.nn.functional.adaptive_avg_pool{rank}d": _one(adaptive_mean, rank)},
        f"global_max_pool_{rank}d": {f"torch.nn.functional.adaptive_max_pool{rank}d": _one(adaptive_max, rank)},
    }
    if rank == 1:
        calls["average_pool_1d"]["torch.avg_pool1d"] = _mean(torch.avg_pool1d)
        calls["adaptive_average_pool_1d"]["torch.adaptive_avg_pool1d"] = _adaptive(torch.adaptive_avg_pool1d)
    calls[f"max_pool_{rank}d_of_equals"] = {name: of_equals(call, 2) for name, call in calls[f"max_pool_{rank}d"].items()}
    return calls


CALLS = {
    **_calls(1),
    **_calls(2),
    **_calls(3),
    "max_unpool_1d": {
        "torch.nn.functional.max_unpool1d": _unpool,
        "torch.nn.MaxUnpool1d": _unpool_layer,
        "torch.nn.functional.max_unpool2d": _unpool_rows,
        "torch.nn.functional.max_unpool3d": _unpool_boxes,
    },
}

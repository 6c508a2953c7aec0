"""PyTorch: convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.errors import Unsupported


def _border(padding: Any, strides: list[int]) -> Any:
    """Return how much PyTorch adds: a text, or one number for each axis."""
    if isinstance(padding, str):
        if padding == "same" and max(strides) > 1:
            raise Unsupported("padding='same' with strides. Allowed: stride 1.")
        return padding
    if any(before != behind for before, behind in padding):
        raise Unsupported("another border before than behind. Allowed: the same.")
    return [before for before, _ in padding]


def _convolve(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        groups = x.shape[1] // weight.shape[1]
        return function(x, weight, bias, strides, _border(padding, strides), dilation, groups)

    return call


def _with(module: nn.Module, arguments: tuple[Any, ...], **parameters: Any) -> Any:
    return torch.func.functional_call(module, parameters, arguments)


def _layer(kind: Callable[..., nn.Module]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        border = _border(padding, strides)
        around = border if isinstance(border, str) else tuple(border)
        module = kind(
            x.shape[1], weight.shape[0], tuple(weight.shape[2:]), tuple(strides), around, tuple(dilation),
            x.shape[1] // weight.shape[1], device="meta",
        )  # fmt: skip
        return _with(module, (x,), weight=weight, bias=bias)

    return call


def _raw(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    border = _border(padding, strides)
    if isinstance(border, str):
        raise Unsupported("torch.convolution takes no padding by name.")
    groups = x.shape[1] // weight.shape[1]
    return torch.convolution(x, weight, bias, strides, border, dilation, False, [0] * len(border), groups)


def _around(kind: Callable[..., nn.Module]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, bias: Any, mode: str, strides: int, dilation: int) -> Any:
        border = tuple(dilation * (size - 1) // 2 for size in weight.shape[2:])
        module = kind(
            x.shape[1], weight.shape[0], tuple(weight.shape[2:]), strides, border, dilation, x.shape[1] // weight.shape[1],
            padding_mode=mode, device="meta",
        )  # fmt: skip
        return _with(module, (x,), weight=weight, bias=bias)

    return call


def _cut(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what PyTorch calls padding and output_padding."""
    pairs = padding
    if isinstance(padding, str):
        pairs = []
        for width, stride, spread in zip(weight.shape[2:], strides, dilation, strict=True):
            total = (width - 1) * spread + 1 - stride
            before = max(total, 0) // 2 if padding == "same" else 0
            pairs.append((before, total - before if padding == "same" else min(total, 0)))
    more = tuple(before - behind for before, behind in pairs)
    if min(more) < 0:
        raise Unsupported("more cut off behind than before. Allowed: output_padding of 0 or more.")
    if any(extra >= max(stride, spread) for extra, stride, spread in zip(more, strides, dilation, strict=True)):
        raise Unsupported("output_padding must be smaller than stride or dilation")
    return tuple(before for before, _ in pairs), more


def _transpose(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        border, more = _cut(x, weight, strides, padding, dilation)
        return function(x, weight, bias, strides, border, more, bias.shape[0] // weight.shape[1], dilation)

    return call


def _transposing(kind: Callable[..., nn.Module]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        border, more = _cut(x, weight, strides, padding, dilation)
        groups = bias.shape[0] // weight.shape[1]
        module = kind(
            x.shape[1], bias.shape[0], tuple(weight.shape[2:]), tuple(strides), border, more, groups, dilation=tuple(dilation),
            device="meta",
        )  # fmt: skip
        return _with(module, (x,), weight=weight, bias=bias)

    return call


def _depthwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        flat = weight.reshape(-1, 1, *weight.shape[2:])
        return function(x, flat, None, strides, _border(padding, strides), dilation, x.shape[1])

    return call


def _separable(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, pointwise: Any, strides: Any, padding: Any, dilation: Any) -> Any:
        found = _depthwise(function)(x, weight, strides, padding, dilation)
        return function(found, pointwise.reshape(*pointwise.shape, *[1] * (x.ndim - 2)))

    return call


def _causal(x: Any, weight: Any, bias: Any, strides: int, dilation: int) -> Any:
    wide = F.pad(x, (dilation * (weight.shape[2] - 1), 0))
    return F.conv1d(wide, weight, bias, strides, 0, dilation, x.shape[1] // weight.shape[1])


def _by_weight(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, weight: Any, cotangent: Any) -> Any:
        return function(x, weight.shape, cotangent, padding=1, groups=x.shape[1] // weight.shape[1])

    return call


def _by_input(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(weight: Any, cotangent: Any, x: Any) -> Any:
        return function(x.shape, weight, cotangent, padding=1, groups=x.shape[1] // weight.shape[1])

    return call


def _calls(rank: int) -> dict[str, dict[str, Callable[..., Any]]]:
    function, transpose = getattr(F, f"conv{rank}d"), getattr(F, f"conv_transpose{rank}d")
    kind, transposing = getattr(nn, f"Conv{rank}d"), getattr(nn, f"ConvTranspose{rank}d")
    grad = torch.nn.grad
    calls = {
        "": {
            f"torch.nn.functional.conv{rank}d": _convolve(function),
            f"torch.conv{rank}d": _convolve(getattr(torch, f"conv{rank}d")),
            f"torch.nn.Conv{rank}d": _layer(kind),
            "torch.convolution": _raw,
        },
        "_around": {f"torch.nn.Conv{rank}d (padding_mode)": _around(kind)},
        "_transposed": {
            f"torch.nn.functional.conv_transpose{rank}d": _transpose(transpose),
            f"torch.conv_transpose{rank}d": _transpose(getattr(torch, f"conv_transpose{rank}d")),
            f"torch.nn.ConvTranspose{rank}d": _transposing(transposing),
        },
        "_by_weight": {f"torch.nn.grad.conv{rank}d_weight": _by_weight(getattr(grad, f"conv{rank}d_weight"))},
        "_by_input": {f"torch.nn.grad.conv{rank}d_input": _by_input(getattr(grad, f"conv{rank}d_input"))},
    }
    if rank < 3:
        calls["_depthwise"] = {f"torch.nn.functional.conv{rank}d": _depthwise(function)}
        calls["_separable"] = {f"torch.nn.functional.conv{rank}d": _separable(function)}
    forms = {form: each for form, each in calls.items() if rank < 3 or form not in ("_depthwise", "_separable", "_local")}
    return {f"convolution_{rank}d{form}": each for form, each in forms.items()}


CALLS = {
    **_calls(1),
    **_calls(2),
    **_calls(3),
    "convolution_1d_causal": {"torch.nn.functional.conv1d": _causal},
    "convolution_time_first": {
        "torch.nn.functional.conv_tbc": lambda x, weight, bias, border: F.conv_tbc(x, weight, bias, border),
        "torch.conv_tbc": lambda x, weight, bias, border: torch.conv_tbc(x, weight, bias, border),
    },
}

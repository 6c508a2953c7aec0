"""JAX and flax: convolutions. Flax has channels last, jax.lax any layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flax.linen
import jax
import jax.numpy as jnp
from flax import nnx

from runners.contract.errors import Unsupported


def _last(x: Any) -> Any:
    return jnp.moveaxis(x, 1, -1)


def _first(x: Any) -> Any:
    return jnp.moveaxis(x, -1, 1)


def _kernel(weight: Any) -> Any:
    """Return weights as flax has them, [*window, channels of a group, out]."""
    return jnp.moveaxis(weight, (1, 0), (-2, -1))


def _border(padding: Any) -> Any:
    return padding.upper() if isinstance(padding, str) else [tuple(pair) for pair in padding]


def _each(bias: Any, x: Any) -> Any:
    return bias.reshape(-1, *[1] * (x.ndim - 2))


def _general(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    groups = x.shape[1] // weight.shape[1]
    found = jax.lax.conv_general_dilated(x, weight, strides, _border(padding), rhs_dilation=dilation, feature_group_count=groups)
    return found + _each(bias, x)


def _general_last(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    space = "DHW"[3 - (x.ndim - 2) :]
    found = jax.lax.conv_general_dilated(
        _last(x), _kernel(weight), strides, _border(padding), rhs_dilation=dilation,
        dimension_numbers=(f"N{space}C", f"{space}IO", f"N{space}C"), feature_group_count=x.shape[1] // weight.shape[1],
    )  # fmt: skip
    return _first(found + bias)


def _plain(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    if max(dilation) > 1 or not isinstance(padding, str) or x.shape[1] != weight.shape[1]:
        raise Unsupported("jax.lax.conv takes no dilation, border or groups.")
    return jax.lax.conv(x, weight, strides, _border(padding)) + _each(bias, x)


def _padded(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    if isinstance(padding, str) or x.shape[1] != weight.shape[1]:
        raise Unsupported("conv_with_general_padding takes a border in numbers and no groups.")
    ones = [1] * len(strides)
    return jax.lax.conv_with_general_padding(x, weight, strides, _border(padding), ones, dilation) + _each(bias, x)


def _linen(module: Any, x: Any, weight: Any, bias: Any) -> Any:
    return _first(module.apply({"params": {"kernel": weight, "bias": bias}}, _last(x)))


def _nnx(layer: Any, x: Any, weight: Any, bias: Any) -> Any:
    layer.kernel, layer.bias = nnx.Param(weight), nnx.Param(bias)
    return _first(layer(_last(x)))


def _layer(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    module = flax.linen.Conv(
        weight.shape[0], weight.shape[2:], tuple(strides), _border(padding), kernel_dilation=tuple(dilation),
        feature_group_count=x.shape[1] // weight.shape[1],
    )  # fmt: skip
    return _linen(module, x, _kernel(weight), bias)


def _layer_nnx(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    layer = nnx.Conv(
        x.shape[1], weight.shape[0], weight.shape[2:], tuple(strides), padding=_border(padding), kernel_dilation=tuple(dilation),
        feature_group_count=x.shape[1] // weight.shape[1], rngs=nnx.Rngs(0),
    )  # fmt: skip
    return _nnx(layer, x, _kernel(weight), bias)


def _named(x: Any, weight: Any, name: str, strides: int, dilation: int) -> dict[str, Any]:
    rank = x.ndim - 2
    return {
        "kernel_size": weight.shape[2:],
        "strides": (strides,) * rank,
        "padding": name,
        "kernel_dilation": (dilation,) * rank,
        "feature_group_count": x.shape[1] // weight.shape[1],
    }


def _around(x: Any, weight: Any, mode: str, strides: int, dilation: int) -> dict[str, Any]:
    if mode == "replicate":
        raise Unsupported("padding: replicate. Allowed: CIRCULAR, REFLECT.")
    return _named(x, weight, mode.upper(), strides, dilation)


def _around_linen(x: Any, weight: Any, bias: Any, mode: str, strides: int, dilation: int) -> Any:
    return _linen(flax.linen.Conv(weight.shape[0], **_around(x, weight, mode, strides, dilation)), x, _kernel(weight), bias)


def _around_nnx(x: Any, weight: Any, bias: Any, mode: str, strides: int, dilation: int) -> Any:
    layer = nnx.Conv(x.shape[1], weight.shape[0], **_around(x, weight, mode, strides, dilation), rngs=nnx.Rngs(0))
    return _nnx(layer, x, _kernel(weight), bias)


def _causal_linen(x: Any, weight: Any, bias: Any, strides: int, dilation: int) -> Any:
    module = flax.linen.Conv(weight.shape[0], **_named(x, weight, "CAUSAL", strides, dilation))
    return _linen(module, x, _kernel(weight), bias)


def _causal_nnx(x: Any, weight: Any, bias: Any, strides: int, dilation: int) -> Any:
    layer = nnx.Conv(x.shape[1], weight.shape[0], **_named(x, weight, "CAUSAL", strides, dilation), rngs=nnx.Rngs(0))
    return _nnx(layer, x, _kernel(weight), bias)


def _cut(weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    """Return the border of an input with zeros between its elements that cuts as much off the sums."""
    if isinstance(padding, str):
        return padding.upper()
    spans = [(width - 1) * spread for width, spread in zip(weight.shape[2:], dilation, strict=True)]
    return [(span - before, span - behind) for span, (before, behind) in zip(spans, padding, strict=True)]


def _no_groups(weight: Any, bias: Any) -> None:
    if weight.shape[1] != bias.shape[0]:
        raise Unsupported("no groups.")


def _transposed(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _no_groups(weight, bias)
    space = "DHW"[3 - (x.ndim - 2) :]
    found = jax.lax.conv_transpose(
        x, weight, strides, _cut(weight, strides, padding, dilation), dilation,
        dimension_numbers=(f"NC{space}", f"OI{space}", f"NC{space}"), transpose_kernel=True,
    )  # fmt: skip
    return found + _each(bias, x)


def _by_input_dilation(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    border = _cut(weight, strides, padding, dilation)
    if isinstance(border, str):
        raise Unsupported("conv_general_dilated's names are those of no transposed convolution.")
    groups, share = bias.shape[0] // weight.shape[1], weight.shape[1]
    turned = jnp.flip(weight, tuple(range(2, weight.ndim))).reshape(groups, -1, share, *weight.shape[2:])
    kernel = jnp.swapaxes(turned, 1, 2).reshape(groups * share, -1, *weight.shape[2:])
    ones = [1] * len(strides)
    found = jax.lax.conv_general_dilated(x, kernel, ones, border, strides, dilation, feature_group_count=groups)
    return found + _each(bias, x)


def _turned(x: Any, weight: Any) -> Any:
    """Return weights [*window, channels, out] that a transposed convolution of flax does not turn."""
    return jnp.moveaxis(jnp.flip(weight, tuple(range(2, weight.ndim))), (0, 1), (-2, -1))


def _transposed_linen(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _no_groups(weight, bias)
    border = _cut(weight, strides, padding, dilation)
    module = flax.linen.ConvTranspose(weight.shape[1], weight.shape[2:], tuple(strides), border, tuple(dilation))
    return _linen(module, x, _turned(x, weight), bias)


def _transposed_linen_kernel(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _no_groups(weight, bias)
    border = _cut(weight, strides, padding, dilation)
    module = flax.linen.ConvTranspose(
        weight.shape[1], weight.shape[2:], tuple(strides), border, tuple(dilation), transpose_kernel=True
    )
    return _linen(module, x, jnp.moveaxis(weight, (1, 0), (-2, -1)), bias)


def _transposed_nnx(x: Any, weight: Any, bias: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    _no_groups(weight, bias)
    layer = nnx.ConvTranspose(
        x.shape[1], weight.shape[1], weight.shape[2:], tuple(strides), padding=_cut(weight, strides, padding, dilation),
        kernel_dilation=tuple(dilation), rngs=nnx.Rngs(0),
    )  # fmt: skip
    return _nnx(layer, x, _turned(x, weight), bias)


def _depthwise(x: Any, weight: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    flat = weight.reshape(-1, 1, *weight.shape[2:])
    return jax.lax.conv_general_dilated(x, flat, strides, _border(padding), rhs_dilation=dilation, feature_group_count=x.shape[1])


def _separable(x: Any, weight: Any, pointwise: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    found = _depthwise(x, weight, strides, padding, dilation)
    ones = [1] * (x.ndim - 2)
    return jax.lax.conv_general_dilated(found, pointwise.reshape(*pointwise.shape, *ones), ones, "VALID")


def _dilated_input(x: Any, weight: Any, strides: Any, pairs: Any, input_dilation: Any, dilation: Any) -> Any:
    groups = x.shape[1] // weight.shape[1]
    return jax.lax.conv_general_dilated(x, weight, strides, pairs, input_dilation, dilation, feature_group_count=groups)


def _dilated_input_padded(x: Any, weight: Any, strides: Any, pairs: Any, input_dilation: Any, dilation: Any) -> Any:
    if x.shape[1] != weight.shape[1]:
        raise Unsupported("conv_with_general_padding takes no groups.")
    return jax.lax.conv_with_general_padding(x, weight, strides, pairs, input_dilation, dilation)


def _dilated_input_linen(x: Any, weight: Any, strides: Any, pairs: Any, input_dilation: Any, dilation: Any) -> Any:
    module = flax.linen.Conv(
        weight.shape[0], weight.shape[2:], tuple(strides), _border(pairs), tuple(input_dilation), tuple(dilation),
        x.shape[1] // weight.shape[1], use_bias=False,
    )  # fmt: skip
    return _first(module.apply({"params": {"kernel": _kernel(weight)}}, _last(x)))


def _batch_groups(x: Any, weight: Any, groups: int, strides: Any) -> Any:
    return jax.lax.conv_general_dilated(x, weight, strides, "VALID", batch_group_count=groups)


def _local(x: Any, weight: Any) -> Any:
    """Return the call with weights [channels * window, *places, out], channels outermost, as its documentation has them."""
    rank = x.ndim - 2
    rows = weight.reshape(*weight.shape[: rank + 1], -1)
    space = "DHW"[3 - rank :]
    return jax.lax.conv_general_dilated_local(
        x, jnp.moveaxis(rows, (-2, -1), (0, 1)), [1] * rank, "VALID", weight.shape[rank + 2 :],
        dimension_numbers=(f"NC{space}", f"OI{space}", f"NC{space}"),
    )  # fmt: skip


def _local_linen(x: Any, weight: Any) -> Any:
    rank = x.ndim - 2
    rows = jnp.moveaxis(weight.reshape(*weight.shape[: rank + 1], -1), -2, -1)
    module = flax.linen.ConvLocal(weight.shape[rank], weight.shape[rank + 2 :], padding="VALID", use_bias=False)
    return _first(module.apply({"params": {"kernel": rows}}, _last(x)))


def _calls(rank: int) -> dict[str, dict[str, Callable[..., Any]]]:
    calls: dict[str, dict[str, Callable[..., Any]]] = {
        "": {
            "jax.lax.conv_general_dilated": _general,
            "jax.lax.conv_general_dilated (channels last)": _general_last,
            "jax.lax.conv": _plain,
            "jax.lax.conv_with_general_padding": _padded,
            "flax.linen.Conv": _layer,
            "flax.nnx.Conv": _layer_nnx,
        },
        "_around": {"flax.linen.Conv (padding by name)": _around_linen, "flax.nnx.Conv (padding by name)": _around_nnx},
        "_transposed": {
            "jax.lax.conv_transpose": _transposed,
            "jax.lax.conv_general_dilated (lhs_dilation)": _by_input_dilation,
            "flax.linen.ConvTranspose": _transposed_linen,
            "flax.linen.ConvTranspose (transpose_kernel)": _transposed_linen_kernel,
            "flax.nnx.ConvTranspose": _transposed_nnx,
        },
    }
    if rank < 3:
        calls["_depthwise"] = {"jax.lax.conv_general_dilated": _depthwise}
        calls["_separable"] = {"jax.lax.conv_general_dilated": _separable}
        calls["_local"] = {"jax.lax.conv_general_dilated_local": _local, "flax.linen.ConvLocal": _local_linen}
    forms = {form: each for form, each in calls.items() if rank < 3 or form not in ("_depthwise", "_separable", "_local")}
    return {f"convolution_{rank}d{form}": each for form, each in forms.items()}


CALLS = {
    **_calls(1),
    **_calls(2),
    **_calls(3),
    "convolution_1d_causal": {"flax.linen.Conv (causal)": _causal_linen, "flax.nnx.Conv (causal)": _causal_nnx},
    "convolution_2d_dilated_input": {
        "jax.lax.conv_general_dilated": _dilated_input,
        "jax.lax.conv_with_general_padding": _dilated_input_padded,
        "flax.linen.Conv": _dilated_input_linen,
    },
    "convolution_2d_batch_groups": {"jax.lax.conv_general_dilated": _batch_groups},
}

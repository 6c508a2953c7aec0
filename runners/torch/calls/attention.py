"""PyTorch: attention. Each kernel that the processor has is asked for by name."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from runners.contract.audit.ways import Call
from runners.contract.errors import Unsupported

_NAME = "torch.nn.functional.scaled_dot_product_attention"


def _swapped(x: Any) -> Any:
    """Return [batch, heads, length, width] of [batch, length, heads, width], or the other way round."""
    return x.transpose(1, 2)


def _attention(q: Any, k: Any, v: Any, **options: Any) -> Any:
    return _swapped(F.scaled_dot_product_attention(_swapped(q), _swapped(k), _swapped(v), **options))


def _contiguous(q: Any, k: Any, v: Any, **options: Any) -> Any:
    return _swapped(F.scaled_dot_product_attention(*(_swapped(each).contiguous() for each in (q, k, v)), **options))


def _kernel(kernel: Any) -> Call:
    def call(q: Any, k: Any, v: Any, **options: Any) -> Any:
        try:
            with sdpa_kernel(kernel):
                return _attention(q, k, v, **options)
        except RuntimeError as error:
            if "No available kernel" in str(error):
                raise Unsupported("the kernel does not take these arguments") from error
            raise

    return call


def _ways(**fixed: Any) -> dict[str, Call]:
    """Return each kernel's call. fixed: options of all."""
    kernels = {
        _NAME: _attention,
        f"{_NAME} (contiguous)": _contiguous,
        f"{_NAME} (math)": _kernel(SDPBackend.MATH),
        f"{_NAME} (flash)": _kernel(SDPBackend.FLASH_ATTENTION),
    }
    return {name: lambda q, k, v, call=call, **given: call(q, k, v, **_options(fixed | given)) for name, call in kernels.items()}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Return options under PyTorch's names. A mask of truth values and what is added are one option there."""
    mask, bias = given.pop("mask", None), given.pop("bias", None)
    if bias is not None and mask is not None:
        mask = torch.where(mask, bias, float("-inf"))
    elif bias is not None:
        mask = bias
    return given if mask is None else given | {"attn_mask": mask}


def _of_lengths(q: Any, k: Any, v: Any, lengths: Any) -> Any:
    return _attention(q, k, v, attn_mask=(torch.arange(k.shape[1]) < lengths[:, None])[:, None, None])


def _of_window(q: Any, k: Any, v: Any, before: int, after: int) -> Any:
    distance = torch.arange(k.shape[1]) - torch.arange(q.shape[1])[:, None]
    return _attention(q, k, v, attn_mask=(distance >= -before) & (distance <= after))


def _time_first(x: Any) -> Any:
    """Return [length, batch, features] of [batch, length, features], or the other way round."""
    return x.transpose(0, 1)


def _layer_weights(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "in_proj_weight": torch.cat([given[f"w{each}"].T for each in "qkv"]),
        "in_proj_bias": torch.cat([given[f"b{each}"] for each in "qkv"]),
        "out_proj.weight": given["wo"].T,
        "out_proj.bias": given["bo"],
    }


def _layer(query: Any, value: Any, given: dict[str, Any], *, batch_first: bool = True, **options: Any) -> Any:
    module = nn.MultiheadAttention(query.shape[-1], 2, batch_first=batch_first, dtype=query.dtype)
    several = (query, value, value) if batch_first else tuple(_time_first(each) for each in (query, value, value))
    found, weights = torch.func.functional_call(module, _layer_weights(given), several, options)
    return found if batch_first else _time_first(found), weights


def _multi_head(batch_first: bool, need_weights: bool) -> Call:
    def call(query: Any, value: Any, mask: Any, **given: Any) -> Any:
        options = {"key_padding_mask": ~mask, "need_weights": need_weights, "batch_first": batch_first}
        return _layer(query, value, given, **options)[0]

    return call


def _biased(query: Any, value: Any, mask: Any, **given: Any) -> Any:
    hidden = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(~mask, float("-inf"))
    return _layer(query, value, given, key_padding_mask=hidden, need_weights=False)[0]


def _function(query: Any, value: Any, mask: Any, **given: Any) -> Any:
    weights = _layer_weights(given)
    found, _ = F.multi_head_attention_forward(
        _time_first(query), _time_first(value), _time_first(value), query.shape[-1], 2, weights["in_proj_weight"],
        weights["in_proj_bias"], None, None, False, 0.0, weights["out_proj.weight"], weights["out_proj.bias"],
        training=False, key_padding_mask=~mask, need_weights=False,
    )  # fmt: skip
    return _time_first(found)


def _separate(query: Any, value: Any, mask: Any, **given: Any) -> Any:
    weights = _layer_weights(given)
    several = (_time_first(query), _time_first(value), _time_first(value))
    found, _ = F.multi_head_attention_forward(
        *several, query.shape[-1], 2, None, weights["in_proj_bias"], None, None, False, 0.0, weights["out_proj.weight"],
        weights["out_proj.bias"], training=False, key_padding_mask=~mask, need_weights=False, use_separate_proj_weight=True,
        q_proj_weight=given["wq"].T, k_proj_weight=given["wk"].T, v_proj_weight=given["wv"].T,
    )  # fmt: skip
    return _time_first(found)


def _of_each_head(query: Any, value: Any, mask: Any, is_averaged: bool, **given: Any) -> Any:
    return _layer(query, value, given, key_padding_mask=~mask, need_weights=True, average_attn_weights=is_averaged)


def _self(is_hinted: bool) -> Call:
    def call(x: Any, is_causal: bool, **given: Any) -> Any:
        if not is_causal:
            return _layer(x, x, given, need_weights=False)[0]
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        return _layer(x, x, given, attn_mask=mask, is_causal=is_hinted, need_weights=False)[0]

    return call


def _evaluated(x: Any, **given: Any) -> Any:
    module = nn.MultiheadAttention(x.shape[-1], 2, batch_first=True, dtype=x.dtype).eval()
    with torch.no_grad():
        found, _ = torch.func.functional_call(module, _layer_weights(given), (x, x, x), {"need_weights": False})
    return found


def _encoder_weights(given: dict[str, Any]) -> dict[str, Any]:
    return {f"self_attn.{name}": each for name, each in _layer_weights(given).items()} | {
        "linear1.weight": given["w1"].T,
        "linear1.bias": given["b1"],
        "linear2.weight": given["w2"].T,
        "linear2.bias": given["b2"],
        "norm1.weight": given["g1"],
        "norm1.bias": given["c1"],
        "norm2.weight": given["g2"],
        "norm2.bias": given["c2"],
    }


def _encoder_layer(x: Any, given: dict[str, Any]) -> nn.Module:
    return nn.TransformerEncoderLayer(
        x.shape[-1], 2, given["b1"].shape[0], 0.0, given["activation"], batch_first=True, norm_first=given["norm_first"],
        dtype=x.dtype,
    )  # fmt: skip


def _encoder(is_training: bool) -> Call:
    def call(x: Any, **given: Any) -> Any:
        module = _encoder_layer(x, given).train(is_training)
        return torch.func.functional_call(module, _encoder_weights(given), x)

    return call


def _time_major(x: Any, **given: Any) -> Any:
    module = nn.TransformerEncoderLayer(
        x.shape[-1], 2, given["b1"].shape[0], 0.0, given["activation"], norm_first=given["norm_first"], dtype=x.dtype
    )
    return _time_first(torch.func.functional_call(module, _encoder_weights(given), _time_first(x)))


def _loaded(x: Any, given: dict[str, Any]) -> nn.Module:
    layer = _encoder_layer(x, given)
    layer.load_state_dict(_encoder_weights(given))
    return layer.eval()


def _fast(x: Any, lengths: Any, **given: Any) -> Any:
    mask = torch.arange(x.shape[1]) < lengths[:, None]
    with torch.no_grad():
        found = _loaded(x, given)(x, src_key_padding_mask=~mask)
    return torch.where(mask[..., None], found, 0.0)


def _nested(x: Any, lengths: Any, **given: Any) -> Any:
    mask = torch.arange(x.shape[1]) < lengths[:, None]
    with torch.no_grad():
        found = nn.TransformerEncoder(_loaded(x, given), 1).eval()(x, src_key_padding_mask=~mask)
    # What was a nested tensor is as long as its longest sequence.
    return torch.where(mask[..., None], F.pad(found, (0, 0, 0, x.shape[1] - found.shape[1])), 0.0)


CALLS = {
    "attention": _ways(),
    "attention_other_width": _ways(),
    "attention_masked": _ways(),
    "attention_biased": _ways(),
    "attention_biased_masked": _ways(),
    "attention_causal": _ways(is_causal=True),
    "attention_grouped": _ways(enable_gqa=True),
    "attention_key_lengths": {_NAME: _of_lengths},
    "attention_window": {_NAME: _of_window},
    "multi_head": {
        "torch.nn.MultiheadAttention": _multi_head(batch_first=True, need_weights=False),
        "torch.nn.MultiheadAttention (time first)": _multi_head(batch_first=False, need_weights=False),
        "torch.nn.MultiheadAttention (with weights)": _multi_head(batch_first=True, need_weights=True),
        "torch.nn.MultiheadAttention (added mask)": _biased,
        "torch.nn.functional.multi_head_attention_forward": _function,
        "torch.nn.functional.multi_head_attention_forward (separate)": _separate,
    },
    "multi_head_weights": {"torch.nn.MultiheadAttention": _of_each_head},
    "multi_head_self": {
        "torch.nn.MultiheadAttention": _self(is_hinted=False),
        "torch.nn.MultiheadAttention (is_causal)": _self(is_hinted=True),
    },
    "multi_head_inference": {"torch.nn.MultiheadAttention (evaluated)": _evaluated},
    "encoder_layer": {
        "torch.nn.TransformerEncoderLayer": _encoder(is_training=True),
        "torch.nn.TransformerEncoderLayer (evaluated)": _encoder(is_training=False),
        "torch.nn.TransformerEncoderLayer (time first)": _time_major,
    },
    "encoder_layer_inference": {
        "torch.nn.TransformerEncoderLayer": _fast,
        "torch.nn.TransformerEncoder": _nested,
    },
}

"""JAX and flax: attention."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx

_JAX = "jax.nn.dot_product_attention"
_LINEN, _NNX = "flax.linen.dot_product_attention", "flax.nnx.dot_product_attention"


def _attention(q: Any, k: Any, v: Any, **options: Any) -> Any:
    return jax.nn.dot_product_attention(q, k, v, **options, implementation="xla")


def _causal(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    mask = (jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1]))[None, None]
    return linen.dot_product_attention(_scaled(q, scale), k, v, mask=mask)


def _scaled(q: Any, scale: float | None) -> Any:
    """Return queries for a function that knows no scale but its own."""
    return q if scale is None else q * jnp.asarray(scale * q.shape[-1] ** 0.5, q.dtype)


def _kernels(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a layer of two heads, under linen's names."""
    names = {"q": "query", "k": "key", "v": "value"}
    found = {
        name: {
            "kernel": given[f"w{each}"].reshape(-1, 2, given[f"w{each}"].shape[1] // 2),
            "bias": given[f"b{each}"].reshape(2, -1),
        }
        for each, name in names.items()
    }
    return found | {"out": {"kernel": given["wo"].reshape(2, -1, given["wo"].shape[1]), "bias": given["bo"]}}


def _linen(query: Any, value: Any, given: dict[str, Any], mask: Any = None) -> Any:
    module = linen.MultiHeadDotProductAttention(num_heads=2)
    return module.apply({"params": _kernels(given)}, query, inputs_k=value, inputs_v=value, mask=mask)


def _nnx(query: Any, value: Any, given: dict[str, Any], mask: Any = None, **options: Any) -> Any:
    module = nnx.MultiHeadAttention(2, query.shape[-1], decode=False, rngs=nnx.Rngs(0))
    for name, weights in _kernels(given).items():
        layer = getattr(module, name)
        layer.kernel.value, layer.bias.value = weights["kernel"], weights["bias"]
    return module(query, value, mask=mask, **options)


def _causal_mask(x: Any, is_causal: bool) -> Any:
    return linen.make_causal_mask(x[..., 0]) if is_causal else None


def _self(x: Any, is_causal: bool, **given: Any) -> Any:
    module = linen.SelfAttention(num_heads=2)
    return module.apply({"params": _kernels(given)}, x, mask=_causal_mask(x, is_causal))


def _weights(q: Any, k: Any, v: Any) -> Any:
    weights = linen.dot_product_attention_weights(q, k)
    return jnp.einsum("bhst,bthd->bshd", weights, v), weights


def _shown(weights: Any, is_averaged: bool) -> Any:
    return weights.mean(1) if is_averaged else weights


def _sown(query: Any, value: Any, mask: Any, is_averaged: bool, **given: Any) -> Any:
    module = linen.MultiHeadDotProductAttention(num_heads=2)
    found, sown = module.apply(
        {"params": _kernels(given)}, query, inputs_k=value, inputs_v=value, mask=mask[:, None, None], sow_weights=True,
        mutable=["intermediates"],
    )  # fmt: skip
    return found, _shown(sown["intermediates"]["attention_weights"][0], is_averaged)


CALLS = {
    "attention": {
        _JAX: _attention,
        _LINEN: lambda q, k, v, scale: linen.dot_product_attention(_scaled(q, scale), k, v),
        _NNX: lambda q, k, v, scale: nnx.dot_product_attention(_scaled(q, scale), k, v),
    },
    "attention_other_width": {_LINEN: lambda q, k, v: linen.dot_product_attention(q, k, v)},
    "attention_masked": {
        _JAX: _attention,
        _LINEN: lambda q, k, v, mask: linen.dot_product_attention(q, k, v, mask=mask),
        _NNX: lambda q, k, v, mask: nnx.dot_product_attention(q, k, v, mask=mask),
    },
    "attention_biased": {
        _JAX: _attention,
        _LINEN: lambda q, k, v, bias: linen.dot_product_attention(q, k, v, bias=bias),
        _NNX: lambda q, k, v, bias: nnx.dot_product_attention(q, k, v, bias=bias),
    },
    "attention_biased_masked": {
        _JAX: _attention,
        _LINEN: lambda q, k, v, bias, mask: linen.dot_product_attention(q, k, v, bias=bias, mask=mask),
        _NNX: lambda q, k, v, bias, mask: nnx.dot_product_attention(q, k, v, bias=bias, mask=mask),
    },
    "attention_causal": {
        _JAX: lambda q, k, v, scale: _attention(q, k, v, scale=scale, is_causal=True),
        _LINEN: _causal,
        _NNX: lambda q, k, v, scale: nnx.dot_product_attention(_scaled(q, scale), k, v, is_causal=True),
    },
    "attention_grouped": {_JAX: _attention},
    "attention_key_lengths": {_JAX: lambda q, k, v, lengths: _attention(q, k, v, key_value_seq_lengths=lengths)},
    "attention_query_lengths": {_JAX: lambda q, k, v, lengths: _attention(q, k, v, query_seq_lengths=lengths)},
    "attention_window": {_JAX: lambda q, k, v, before, after: _attention(q, k, v, local_window_size=(before, after))},
    "attention_residual": {_JAX: lambda q, k, v: _attention(q, k, v, return_residual=True)},
    "attention_weights": {"flax.linen.dot_product_attention_weights": _weights},
    "multi_head": {
        "flax.linen.MultiHeadDotProductAttention": lambda query, value, mask, **given: _linen(
            query, value, given, mask[:, None, None]
        ),
        "flax.nnx.MultiHeadAttention": lambda query, value, mask, **given: _nnx(query, value, given, mask[:, None, None]),
    },
    "multi_head_weights": {"flax.linen.MultiHeadDotProductAttention": _sown},
    "multi_head_self": {
        "flax.linen.SelfAttention": _self,
        "flax.linen.MultiHeadDotProductAttention": lambda x, is_causal, **given: _linen(x, x, given, _causal_mask(x, is_causal)),
        "flax.nnx.MultiHeadAttention": lambda x, is_causal, **given: _nnx(x, x, given, is_causal=is_causal),
    },
    "multi_head_inference": {"flax.nnx.MultiHeadAttention": lambda x, **given: _nnx(x, x, given)},
}

"""Keras: attention."""

from __future__ import annotations

from typing import Any

import keras

from runners.contract.errors import Unsupported
from runners.keras.weights import applied, kind

_NAME = "keras.ops.dot_product_attention"
_MULTI, _GROUPED = "keras.layers.MultiHeadAttention", "keras.layers.GroupQueryAttention"


def _causal(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    return keras.ops.dot_product_attention(q, k, v, scale=scale, is_causal=True)


def _projections(given: dict[str, Any]) -> dict[str, Any]:
    names = {"q": "query", "k": "key", "v": "value", "o": "attention_output"}
    kernels = {f"{name}/kernel": given[f"w{each}"] for each, name in names.items()}
    return kernels | {f"{name}/bias": given[f"b{each}"] for each, name in names.items()}


def _multi_head(query: Any, value: Any, given: dict[str, Any], options: dict[str, Any], **made: Any) -> Any:
    layer = keras.layers.MultiHeadAttention(2, query.shape[-1] // 2, dtype=kind(query), **made)
    layer.build(tuple(query.shape), tuple(value.shape))
    return applied(layer, _projections(given), query, value, **options)


def _with_mask(query: Any, value: Any, mask: Any, **given: Any) -> Any:
    return _multi_head(query, value, given, {"attention_mask": mask[:, None]})


def _with_value_mask(query: Any, value: Any, mask: Any, **given: Any) -> Any:
    return _multi_head(query, value, given, {"value_mask": mask})


def _without_flash(query: Any, value: Any, mask: Any, **given: Any) -> Any:
    return _multi_head(query, value, given, {"attention_mask": mask[:, None]}, flash_attention=False)


def _with_weights(query: Any, value: Any, mask: Any, is_averaged: bool, **given: Any) -> Any:
    if is_averaged:
        raise Unsupported("weights are of each head")
    return _multi_head(query, value, given, {"attention_mask": mask[:, None], "return_attention_scores": True})


def _grouped(query: Any, value: Any, given: dict[str, Any], options: dict[str, Any], sizes: tuple[int, ...], **made: Any) -> Any:
    layer = keras.layers.GroupQueryAttention(*sizes, dtype=kind(query), **made)
    layer.build(tuple(query.shape), tuple(value.shape))
    return applied(layer, _projections(given), query, value, **options)


def _causal_layer(x: Any, is_causal: bool, **given: Any) -> Any:
    return _multi_head(x, x, given, {"use_causal_mask": is_causal})


def _causal_groups(x: Any, is_causal: bool, **given: Any) -> Any:
    return _grouped(x, x, given, {"use_causal_mask": is_causal}, (x.shape[-1] // 2, 2, 2))


def _window(x: Any, window: int, is_causal: bool, **given: Any) -> Any:
    return _multi_head(x, x, given, {"use_causal_mask": is_causal}, sliding_window=window)


def _window_groups(x: Any, window: int, is_causal: bool, **given: Any) -> Any:
    return _grouped(x, x, given, {"use_causal_mask": is_causal}, (x.shape[-1] // 2, 2, 2), sliding_window=window)


def _of_scores(layer: Any, q: Any, k: Any, v: Any, scale: Any, mask: Any, is_causal: bool) -> Any:
    layer.build([tuple(each.shape) for each in (q, v, k)])
    given = {"scale": scale}
    options = {"mask": [None, mask], "return_attention_scores": True, "use_causal_mask": is_causal}
    return applied(layer, given, [q, v, k], **options)


def _luong(q: Any, k: Any, v: Any, **given: Any) -> Any:
    return _of_scores(keras.layers.Attention(use_scale=True, dtype=kind(q)), q, k, v, **given)


def _bahdanau(q: Any, k: Any, v: Any, **given: Any) -> Any:
    return _of_scores(keras.layers.AdditiveAttention(use_scale=True, dtype=kind(q)), q, k, v, **given)


def _two_masks(q: Any, k: Any, v: Any, query_mask: Any, mask: Any) -> Any:
    return keras.layers.Attention(dtype=kind(q))([q, v, k], mask=[query_mask, mask])


CALLS = {
    "attention": {
        _NAME: None,
        f"{_NAME} (without flash)": lambda q, k, v, scale: keras.ops.dot_product_attention(
            q, k, v, scale=scale, flash_attention=False
        ),
    },
    "attention_masked": {_NAME: lambda q, k, v, mask: keras.ops.dot_product_attention(q, k, v, mask=mask)},
    "attention_biased": {_NAME: lambda q, k, v, bias: keras.ops.dot_product_attention(q, k, v, bias=bias)},
    "attention_causal": {_NAME: _causal},
    "attention_luong": {"keras.layers.Attention": _luong},
    "attention_bahdanau": {"keras.layers.AdditiveAttention": _bahdanau},
    "attention_two_masks": {"keras.layers.Attention": _two_masks},
    "multi_head": {
        _MULTI: _with_mask,
        f"{_MULTI} (value_mask)": _with_value_mask,
        f"{_MULTI} (without flash)": _without_flash,
        _GROUPED: lambda query, value, mask, **given: _grouped(
            query, value, given, {"value_mask": mask}, (query.shape[-1] // 2, 2, 2)
        ),
    },
    "multi_head_weights": {_MULTI: _with_weights},
    "multi_head_self": {_MULTI: _causal_layer, _GROUPED: _causal_groups},
    "multi_head_inference": {_MULTI: lambda x, **given: _multi_head(x, x, given, {"training": False})},
    "multi_head_window": {_MULTI: _window, _GROUPED: _window_groups},
    "multi_head_grouped": {
        _GROUPED: lambda query, value, mask, **given: _grouped(query, value, given, {"attention_mask": mask}, (3, 4, 2))
    },
}

"""PyTorch: embedding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

Call = Callable[..., Any]


def _module(w: Any, ids: Any, **options: Any) -> Any:
    return functional_call(nn.Embedding(*w.shape, dtype=w.dtype, **options), {"weight": w}, (ids,))


def _bag_module(w: Any, ids: Any, starts: Any, mode: str, weights: Any = None, **options: Any) -> Any:
    module = nn.EmbeddingBag(*w.shape, mode=mode, dtype=w.dtype, **options)
    return functional_call(module, {"weight": w}, (ids, starts, weights))


def _all_starts(w: Any, ids: Any, starts: Any, mode: str) -> Any:
    """Return what bags give of which the last one's end is told as well."""
    ends = torch.cat([starts, starts.new_tensor([len(ids)])])
    return F.embedding_bag(ids, w, ends, mode=mode, include_last_offset=True)


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "embedding": {
        "torch.nn.functional.embedding": lambda w, ids: F.embedding(ids, w),
        "torch.nn.Embedding": _module,
        "torch.index_select": lambda w, ids: torch.index_select(w, 0, ids.flatten()).reshape(*ids.shape, -1),
    },
    "embedding_with_padding": {
        "torch.nn.functional.embedding (padding)": lambda w, ids: F.embedding(ids, w, padding_idx=0),
        "torch.nn.functional.embedding (padding from behind)": lambda w, ids: F.embedding(ids, w, padding_idx=-len(w)),
        "torch.nn.Embedding (padding)": lambda w, ids: _module(w, ids, padding_idx=0),
    },
    # A table that is made as short as it may be is changed in its place, so each call has its own.
    "embedding_with_largest_norm": {
        "torch.nn.functional.embedding (max_norm)": lambda w, ids, max_norm, norm_type: F.embedding(
            ids, w.clone(), max_norm=max_norm, norm_type=norm_type
        ),
        "torch.nn.Embedding (max_norm)": lambda w, ids, max_norm, norm_type: _module(
            w.clone(), ids, max_norm=max_norm, norm_type=norm_type
        ),
        "torch.nn.functional.embedding_bag (max_norm)": lambda w, ids, max_norm, norm_type: F.embedding_bag(
            ids.reshape(-1, 1), w.clone(), max_norm=max_norm, norm_type=norm_type
        ).reshape(*ids.shape, -1),
    },
    "embedding_bag": {
        "torch.nn.functional.embedding_bag": lambda w, ids, starts, mode: F.embedding_bag(ids, w, starts, mode=mode),
        "torch.nn.functional.embedding_bag (last offset)": _all_starts,
        "torch.nn.EmbeddingBag": _bag_module,
    },
    "embedding_bag_of_largest": {
        "torch.nn.functional.embedding_bag (max)": lambda w, ids, starts: F.embedding_bag(ids, w, starts, mode="max"),
        "torch.nn.EmbeddingBag (max)": lambda w, ids, starts: _bag_module(w, ids, starts, "max"),
    },
    "weighted_embedding_bag": {
        "torch.nn.functional.embedding_bag (weights)": lambda w, ids, starts, weights: F.embedding_bag(
            ids, w, starts, mode="sum", per_sample_weights=weights
        ),
        "torch.nn.EmbeddingBag (weights)": lambda w, ids, starts, weights: _bag_module(w, ids, starts, "sum", weights),
    },
    "embedding_bag_with_padding": {
        "torch.nn.functional.embedding_bag (padding)": lambda w, ids, starts, mode: F.embedding_bag(
            ids, w, starts, mode=mode, padding_idx=0
        ),
        "torch.nn.EmbeddingBag (padding)": lambda w, ids, starts, mode: _bag_module(w, ids, starts, mode, padding_idx=0),
    },
    "one_hot": {"torch.nn.functional.one_hot": lambda ids, classes: F.one_hot(ids, classes)},
}

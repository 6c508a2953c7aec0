"""Attention: softmax(q k^T * scale + what is added) v, over heads, with masks; and the layers that project into and out of it.

A query that may look at no key has no weights: no question asks for one, since frameworks give NaN, zero or the mean there.
One that sees a single key has a gradient of 0, of which rounding leaves any share: masks show two keys at least.
Tensors are [batch, length, heads, width], as JAX and Keras have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr

from vigil.audit.arguments import Argument, drawn, normal
from vigil.audit.entry import operator

TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html"
JAX = "https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html"
PAPER = "https://arxiv.org/abs/1706.03762"

_LENGTHS = ((3, 4), (1, 2), (7, 5), (33, 65), (129, 33), (65, 129))


def _sizes(*lengths: tuple[int, int], heads: int = 2, width: int = 3) -> list[dict[str, int]]:
    """Return sizes with lengths of queries (s) and keys (t); the width of a head is one that no vector divides, then 16."""
    return [
        {"b": 2 if place < 3 else 1, "s": s, "t": t, "h": heads, "d": width if place < 2 else 16, "e": 2 if place < 2 else 9}
        for place, (s, t) in enumerate(lengths)
    ]


_ANY_LENGTHS = _sizes(*_LENGTHS)
_LONG = [*_ANY_LENGTHS, {"b": 1, "s": 5, "t": 513, "h": 1, "d": 8, "e": 8}, {"b": 1, "s": 2, "t": 1027, "h": 1, "d": 8, "e": 8}]
_SQUARE = _sizes((3, 3), (2, 2), (7, 7), (33, 33), (65, 65), (129, 129))
_CAUSAL = [{"b": 1, "s": 13, "t": 9, "h": 1, "d": 2}, *_ANY_LENGTHS[1:2], *_ANY_LENGTHS[3:]]
_THREE = {"q": normal("b", "s", "h", "d"), "k": normal("b", "t", "h", "d"), "v": normal("b", "t", "h", "d")}
_SQUARES = {"q": normal("b", "s", "h", "d"), "k": normal("b", "s", "h", "d"), "v": normal("b", "s", "h", "d")}


def _seen(*dims: str | int, has_first: bool = False) -> Argument:
    """Return a mask in which two keys at least are true, anywhere along the last axis, or with the first two."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
        order = np.argsort(random.random(shape), -1)
        return (random.random(shape) < 0.6) | (order < 2) | (has_first & (np.arange(shape[-1]) < 2))

    return drawn(draw, *dims, is_differentiated=False)


def _lengths(of: str) -> Argument:
    """Return an argument of a length for each sequence of a batch, from 2 to a size."""
    return drawn(
        lambda random, shape, sizes: random.integers(min(2, sizes[of]), sizes[of] + 1, shape), "b", is_differentiated=False
    )


def weighted(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float | None, added: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return attention of [batch, length, heads, width], and its weights [batch, heads, queries, keys].

    Each group of query heads shares a head of keys and values where those have fewer.
    """
    if scale is None and not q.shape[-1]:
        raise ValueError("1 over the root of a width of 0 scales nothing")
    groups = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, groups, 2), np.repeat(v, groups, 2)
    logits = np.einsum("bshd,bthd->bhst", q, k) * (1.0 / np.sqrt(q.shape[-1]) if scale is None else scale) + added
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("bhst,bthe->bshe", weights, v), weights


def hidden(mask: np.ndarray) -> np.ndarray:
    """Return what is added to logits: 0 where a mask is true, and minus infinity elsewhere."""
    return np.where(mask, 0.0, -np.inf)


def causal(queries: int, keys: int) -> np.ndarray:
    """Return a mask with which each query sees the keys up to its own place, counted from the first."""
    return np.arange(queries)[:, None] >= np.arange(keys)


@operator(source=TORCH, sizes=_LONG, parameters=[{"scale": None}, {"scale": 0.3}], **_THREE)
def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float | None) -> np.ndarray:
    """Return attention; a scale of None is 1 / sqrt(width)."""
    return weighted(q, k, v, scale)[0]


@operator(source=TORCH, sizes=_ANY_LENGTHS, **(_THREE | {"v": normal("b", "t", "h", "e")}))
def attention_other_width(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return attention to values that are of another width than keys."""
    return weighted(q, k, v, None)[0]


@operator(source=TORCH, sizes=_ANY_LENGTHS, **_THREE, mask=_seen("b", 1, "s", "t"))
def attention_masked(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return attention to the keys where a mask of truth values [batch, 1, queries, keys] is true."""
    return weighted(q, k, v, None, hidden(mask))[0]


@operator(source=TORCH, sizes=_ANY_LENGTHS, **_THREE, bias=normal("b", "h", "s", "t"))
def attention_biased(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return attention with numbers added to the logits, which have a gradient."""
    return weighted(q, k, v, None, bias)[0]


@operator(
    source=JAX,
    sizes=_ANY_LENGTHS,
    **_THREE,
    bias=normal("b", "h", "s", "t"),
    mask=_seen("b", "h", "s", "t"),
)
def attention_biased_masked(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return attention with numbers added to the logits where a mask is true."""
    return weighted(q, k, v, None, bias + hidden(mask))[0]


@operator(source=TORCH, sizes=_CAUSAL, parameters=[{"scale": None}, {"scale": 0.7}], **_THREE)
def attention_causal(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float | None) -> np.ndarray:
    """Return attention in which a query sees the keys up to its own place, counted from the first."""
    return weighted(q, k, v, scale, hidden(causal(q.shape[1], k.shape[1])))[0]


@operator(
    source=TORCH,
    sizes=[
        {"b": 2, "s": 3, "h": 4, "g": 2, "d": 2},
        {"b": 1, "s": 1, "h": 2, "g": 1, "d": 1},
        {"b": 2, "s": 7, "h": 6, "g": 2, "d": 5},
        {"b": 1, "s": 65, "h": 4, "g": 1, "d": 16},
    ],
    parameters=[{"is_causal": False}, {"is_causal": True}],
    q=normal("b", "s", "h", "d"),
    k=normal("b", "s", "g", "d"),
    v=normal("b", "s", "g", "d"),
)
def attention_grouped(q: np.ndarray, k: np.ndarray, v: np.ndarray, is_causal: bool) -> np.ndarray:
    """Return attention in which consecutive heads of queries share one head of keys and values."""
    return weighted(q, k, v, None, hidden(causal(q.shape[1], k.shape[1])) if is_causal else 0.0)[0]


@operator(source=JAX, sizes=_ANY_LENGTHS, **_THREE, lengths=_lengths("t"))
def attention_key_lengths(q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return attention to the first keys of each sequence, as many as it has."""
    return weighted(q, k, v, None, hidden(np.arange(k.shape[1]) < lengths[:, None, None, None]))[0]


@operator(source=JAX, sizes=_ANY_LENGTHS, **_THREE, lengths=_lengths("s"))
def attention_query_lengths(q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return attention of the first queries of each sequence; what comes of the others is 0."""
    return np.where(np.arange(q.shape[1])[:, None, None] < lengths[:, None, None, None], weighted(q, k, v, None)[0], 0.0)


@operator(
    source=JAX,
    sizes=_SQUARE,
    parameters=[{"before": 1, "after": 1}, {"before": 2, "after": 1}, {"before": 1, "after": 5}, {"before": 40, "after": 3}],
    **_SQUARES,
)
def attention_window(q: np.ndarray, k: np.ndarray, v: np.ndarray, before: int, after: int) -> np.ndarray:
    """Return attention to keys within a window around the query: so many before it and so many after."""
    distance = np.arange(k.shape[1]) - np.arange(q.shape[1])[:, None]
    return weighted(q, k, v, None, hidden((distance >= -before) & (distance <= after)))[0]


@operator(source=TORCH, sizes=_ANY_LENGTHS, **_THREE)
def attention_weights(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return attention and its weights [batch, heads, queries, keys]."""
    return weighted(q, k, v, None)


_ROWS = [
    {"b": 2, "s": 3, "t": 4, "d": 3},
    {"b": 1, "s": 1, "t": 2, "d": 1},
    {"b": 3, "s": 7, "t": 5, "d": 9},
    {"b": 1, "s": 33, "t": 65, "d": 16},
]
_ROW = {"q": normal("b", "s", "d", scale=0.5), "k": normal("b", "t", "d", scale=0.5), "v": normal("b", "t", "d")}
_KERAS = "https://keras.io/api/layers/attention_layers/"


@operator(
    source=_KERAS,
    sizes=_ROWS,
    parameters=[{"is_causal": False}, {"is_causal": True}],
    **_ROW,
    scale=normal(1),
    mask=_seen("b", "t", has_first=True),
)
def attention_luong(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: np.ndarray, mask: np.ndarray, is_causal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return attention with a learned scale (Luong), to keys where a mask [batch, keys] is true, and its weights."""
    return _of_scores(np.einsum("bsd,btd->bst", q, k) * scale, v, mask, is_causal)


@operator(
    source=_KERAS,
    sizes=_ROWS,
    parameters=[{"is_causal": False}, {"is_causal": True}],
    **_ROW,
    scale=normal("d", scale=0.5),
    mask=_seen("b", "t", has_first=True),
)
def attention_bahdanau(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: np.ndarray, mask: np.ndarray, is_causal: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return additive attention (Bahdanau), whose scores are the sum of scale * tanh(q + k), and its weights."""
    return _of_scores(np.sum(scale * np.tanh(q[:, :, None] + k[:, None]), -1), v, mask, is_causal)


@operator(source=_KERAS, sizes=_ROWS, **_ROW, query_mask=_seen("b", "s"), mask=_seen("b", "t"))
def attention_two_masks(q: np.ndarray, k: np.ndarray, v: np.ndarray, query_mask: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return attention without a scale, to keys where a mask is true, and 0 for queries where theirs is false."""
    found, _ = _of_scores(np.einsum("bsd,btd->bst", q, k), v, mask, is_causal=False)
    return np.where(query_mask[..., None], found, 0.0)


def _of_scores(scores: np.ndarray, v: np.ndarray, mask: np.ndarray, is_causal: bool) -> tuple[np.ndarray, np.ndarray]:
    seen = mask[:, None] & (causal(*scores.shape[1:]) if is_causal else True)
    logits = np.where(seen, scores, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v, weights


@operator(source=JAX, sizes=_ANY_LENGTHS, **_THREE)
def attention_residual(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return attention and the logarithm of the sum of exponentials that it divides by, [batch, queries, heads]."""
    logits = np.einsum("bshd,bthd->bsht", q, k) / np.sqrt(q.shape[-1])
    return weighted(q, k, v, None)[0], logsumexp(logits, axis=-1)


_LAYER = [
    {"b": 2, "s": 3, "t": 4, "n": 4},
    {"b": 1, "s": 2, "t": 3, "n": 4},
    {"b": 2, "s": 7, "t": 5, "n": 6},
    {"b": 1, "s": 33, "t": 65, "n": 8},
]
# Logits are the same whatever is added to all keys: nothing but rounding is left of a gradient of their bias.
_WEIGHTS = {f"w{each}": normal("n", "n", scale=0.3) for each in "qkvo"} | {
    f"b{each}": normal("n", scale=0.3)._replace(is_differentiated=each != "k") for each in "qkvo"
}
Given = dict[str, np.ndarray]


def _projected(query: np.ndarray, value: np.ndarray, given: Given, added: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return a layer of two heads, and its weights. given: matrices wq, wk, wv, wo [in, out], and bq, bk, bv, bo."""
    q, k, v = (
        (x @ given[f"w{each}"] + given[f"b{each}"]).reshape(*x.shape[:2], 2, given[f"b{each}"].size // 2)
        for each, x in zip("qkv", (query, value, value), strict=True)
    )
    found, weights = weighted(q, k, v, None, added)
    return found.reshape(query.shape) @ given["wo"] + given["bo"], weights


@operator(source=PAPER, sizes=_LAYER, query=normal("b", "s", "n"), value=normal("b", "t", "n"), mask=_seen("b", "t"), **_WEIGHTS)
def multi_head(query, value, mask, wq, wk, wv, wo, bq, bk, bv, bo):
    """Return a layer of two heads that sees keys where a mask [batch, keys] is true."""
    return _projected(query, value, locals(), hidden(mask[:, None, None]))[0]


@operator(
    source=PAPER,
    sizes=_LAYER,
    parameters=[{"is_averaged": False}, {"is_averaged": True}],
    query=normal("b", "s", "n"),
    value=normal("b", "t", "n"),
    mask=_seen("b", "t"),
    **_WEIGHTS,
)
def multi_head_weights(query, value, mask, wq, wk, wv, wo, bq, bk, bv, bo, is_averaged):
    """Return the layer and its weights, of each head [batch, heads, queries, keys] or their mean over heads."""
    found, weights = _projected(query, value, locals(), hidden(mask[:, None, None]))
    return found, weights.mean(1) if is_averaged else weights


@operator(
    source=PAPER,
    sizes=_LAYER,
    parameters=[{"is_causal": False}, {"is_causal": True}],
    x=normal("b", "s", "n"),
    **_WEIGHTS,
)
def multi_head_self(x, wq, wk, wv, wo, bq, bk, bv, bo, is_causal):
    """Return a layer of two heads in which a sequence sees all of itself, or what is not after it."""
    return _projected(x, x, locals(), hidden(causal(x.shape[1], x.shape[1])) if is_causal else 0.0)[0]


@operator(source=PAPER, sizes=_LAYER, x=normal("b", "s", "n").fixed(), **{name: each.fixed() for name, each in _WEIGHTS.items()})
def multi_head_inference(x, wq, wk, wv, wo, bq, bk, bv, bo):
    """Return the layer of a sequence that sees all of itself, as it is evaluated without a derivative."""
    return _projected(x, x, locals())[0]


@operator(
    source=_KERAS,
    sizes=_LAYER,
    parameters=[{"window": 2, "is_causal": False}, {"window": 2, "is_causal": True}, {"window": 3, "is_causal": False}],
    x=normal("b", "s", "n"),
    **_WEIGHTS,
)
def multi_head_window(x, wq, wk, wv, wo, bq, bk, bv, bo, window, is_causal):
    """Return a layer of two heads in which each place sees those nearer than a window, or of them what is not after it."""
    distance = np.arange(x.shape[1])[:, None] - np.arange(x.shape[1])
    seen = (np.abs(distance) < window) & ((distance >= 0) | (not is_causal))
    return _projected(x, x, locals(), hidden(seen))[0]


@operator(
    source="https://arxiv.org/abs/2305.13245",
    sizes=[{"b": 2, "s": 3, "t": 4, "n": 3}, {"b": 1, "s": 4, "t": 5, "n": 5}, {"b": 2, "s": 7, "t": 5, "n": 9}],
    query=normal("b", "s", "n"),
    value=normal("b", "t", "n"),
    mask=_seen("b", "s", "t"),
    wq=normal("n", 12, scale=0.3),
    wk=normal("n", 6, scale=0.3),
    wv=normal("n", 6, scale=0.3),
    wo=normal(12, "n", scale=0.3),
    bq=normal(12),
    bk=normal(6).fixed(),
    bv=normal(6),
    bo=normal("n"),
)
def multi_head_grouped(query, value, mask, wq, wk, wv, wo, bq, bk, bv, bo):
    """Return a layer of four heads of width 3 for queries, and two for keys and values, with a mask [batch, queries, keys]."""
    q = (query @ wq + bq).reshape(*query.shape[:2], 4, 3)
    k, v = ((value @ w + b).reshape(*value.shape[:2], 2, 3) for w, b in ((wk, bk), (wv, bv)))
    found = weighted(q, k, v, None, hidden(mask[:, None]))[0]
    return found.reshape(*query.shape[:2], 12) @ wo + bo


_FORWARD = {
    "w1": normal("n", "f", scale=0.5),
    "b1": normal("f"),
    "w2": normal("f", "n", scale=0.5),
    "b2": normal("n"),
    "g1": normal("n", mean=1.0, scale=0.3),
    "c1": normal("n"),
    "g2": normal("n", mean=1.0, scale=0.3),
    "c2": normal("n"),
}
_ENCODER = [{**sizes, "f": 5 if sizes["s"] < 33 else 16} for sizes in _LAYER if sizes["s"] > 2]
_KINDS = [
    {"norm_first": False, "activation": "relu"},
    {"norm_first": True, "activation": "gelu"},
    # The last set is that of low precision, where rounding opens and closes the gates of a ReLU, and no floor tells by how much.
    {"norm_first": False, "activation": "gelu"},
]
_ENCODER_SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html"


def _normalized(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def _encoded(x: np.ndarray, given: dict[str, Any], added: Any) -> np.ndarray:
    """Return a layer of an encoder: attention and then two linear maps, each added to what goes in and normalized."""

    def forward(x: np.ndarray) -> np.ndarray:
        hidden_units = x @ given["w1"] + given["b1"]
        active = hidden_units * ndtr(hidden_units) if given["activation"] == "gelu" else np.maximum(hidden_units, 0.0)
        return active @ given["w2"] + given["b2"]

    def first(x: np.ndarray) -> np.ndarray:
        return _normalized(x, given["g1"], given["c1"])

    def second(x: np.ndarray) -> np.ndarray:
        return _normalized(x, given["g2"], given["c2"])

    if given["norm_first"]:
        x = x + _projected(first(x), first(x), given, added)[0]
        return x + forward(second(x))
    x = first(x + _projected(x, x, given, added)[0])
    return second(x + forward(x))


@operator(source=_ENCODER_SOURCE, sizes=_ENCODER, parameters=_KINDS, x=normal("b", "s", "n"), **_WEIGHTS, **_FORWARD)
def encoder_layer(x, wq, wk, wv, wo, bq, bk, bv, bo, w1, b1, w2, b2, g1, c1, g2, c2, norm_first, activation):
    """Return a layer of a transformer's encoder, without dropout."""
    return _encoded(x, locals(), 0.0)


@operator(
    source=_ENCODER_SOURCE,
    sizes=_ENCODER,
    parameters=_KINDS,
    x=normal("b", "s", "n").fixed(),
    lengths=_lengths("s"),
    **{name: each.fixed() for name, each in (_WEIGHTS | _FORWARD).items()},
)
def encoder_layer_inference(x, lengths, wq, wk, wv, wo, bq, bk, bv, bo, w1, b1, w2, b2, g1, c1, g2, c2, norm_first, activation):
    """Return the layer, without a derivative, of sequences of some lengths; 0 comes of what is behind them."""
    mask = np.arange(x.shape[1]) < lengths[:, None]
    return np.where(mask[..., None], _encoded(x, locals(), hidden(mask[:, None, None])), 0.0)

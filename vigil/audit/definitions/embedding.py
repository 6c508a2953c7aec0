"""Rows of a table by their numbers, alone and in bags, and numbers as vectors of zeros and ones.

Few rows and many ids: gradients of a repeated one add up.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vigil.audit.arguments import Argument, drawn, integers, normal, positive, spread
from vigil.audit.entry import operator

TORCH = "https://docs.pytorch.org/docs/stable/nn.functional.html#sparse-functions"
SIZES = tuple(
    {"n": n, "k": k, "m": m, "l": length}
    for n, k, m, length in ((5, 3, 3, 4), (1, 1, 2, 3), (7, 33, 5, 9), (11, 5, 3, 1027), (1027, 1027, 2, 33))
)


def _rows_of_which_one_is_zero(*dims: int | str) -> Argument:
    """Return a table whose first row is 0."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = random.standard_normal(shape)
        found[0] = 0.0
        return found

    return drawn(draw, *dims)


def _starts(of: str, ids: str) -> Argument:
    """Return where bags begin among ids: the first at 0, and some of them empty."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = np.sort(random.integers(0, sizes[ids] + 1, shape))
        found[0] = 0
        return found

    return drawn(draw, of, is_differentiated=False)


def _rows_of_ids(of: str) -> Argument:
    """Return the rows that ids stand in: each has two at least, since a single one's weight falls out of a mean."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        count = sizes["b"]
        return np.sort(np.concatenate([np.arange(2 * count) // 2, random.integers(0, count, shape[0] - 2 * count)]))

    return drawn(draw, of, is_differentiated=False)


@operator(w=normal("n", "k"), ids=integers(0, "n", "m", "l"), sizes=SIZES, source=TORCH)
def embedding(w: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return the rows that ids name."""
    return w[ids]


@operator(w=_rows_of_which_one_is_zero("n", "k"), ids=integers(0, "n", "m", "l"), sizes=SIZES, source=TORCH)
def embedding_with_padding(w: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return the rows that ids name, of which the first one, of zeros, stays 0 and has no gradient."""
    return w[ids] * (ids != 0)[..., None]


@operator(
    w=normal("n", "k").fixed(), ids=integers(0, "n", "m", "l"), sizes=SIZES, source=TORCH,
    precisions=("fp32", "bf16", "fp16"),  # PyTorch adds 1e-7 to norms
    parameters=tuple({"max_norm": norm, "norm_type": p} for norm in (1.0, 4.0) for p in (1.0, 3.0, 2.0)),
)  # fmt: skip
def embedding_with_largest_norm(w: np.ndarray, ids: np.ndarray, max_norm: float, norm_type: float) -> np.ndarray:
    """Return the rows that ids name, each scaled down to a norm where its own is larger."""
    norms = np.sum(np.abs(w) ** norm_type, 1, keepdims=True) ** (1.0 / norm_type)
    return (w * np.minimum(1.0, max_norm / norms))[ids]


BAGS = tuple(
    {"n": n, "k": k, "l": length, "b": b}
    for n, k, length, b in ((5, 3, 6, 3), (1, 1, 5, 2), (7, 33, 40, 9), (11, 5, 1027, 5), (3, 1027, 33, 4))
)
_BAG = {"ids": integers(0, "n", "l"), "starts": _starts("b", "l")}


def _bags(ids: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    return np.split(np.arange(len(ids)), starts[1:])


@operator(w=normal("n", "k"), **_BAG, sizes=BAGS, parameters=({"mode": "mean"}, {"mode": "sum"}), source=TORCH)
def embedding_bag(w: np.ndarray, ids: np.ndarray, starts: np.ndarray, mode: str) -> np.ndarray:
    """Return the sum or the mean of the rows of each bag; 0 for an empty one."""
    return np.stack([w[ids[bag]].sum(0) / (max(1, len(bag)) if mode == "mean" else 1) for bag in _bags(ids, starts)])


@operator(w=spread("n", "k", axis=0), **_BAG, sizes=BAGS, source=TORCH)
def embedding_bag_of_largest(w: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the largest of the rows of each bag by column; 0 for an empty one."""
    return np.stack([w[ids[bag]].max(0) if len(bag) else np.zeros(w.shape[1]) for bag in _bags(ids, starts)])


@operator(w=normal("n", "k"), **_BAG, weights=normal("l"), sizes=BAGS, source=TORCH)
def weighted_embedding_bag(w: np.ndarray, ids: np.ndarray, starts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the rows of each bag; 0 for an empty one."""
    return np.stack([(w[ids[bag]] * weights[bag, None]).sum(0) for bag in _bags(ids, starts)])


@operator(w=normal("n", "k"), **_BAG, sizes=BAGS, parameters=({"mode": "mean"}, {"mode": "sum"}), source=TORCH)
def embedding_bag_with_padding(w: np.ndarray, ids: np.ndarray, starts: np.ndarray, mode: str) -> np.ndarray:
    """Return the sum or the mean of the rows of each bag, among which the first row of the table does not count."""
    found = []
    for bag in _bags(ids, starts):
        kept = ids[bag][ids[bag] != 0]
        found.append(w[kept].sum(0) / (max(1, len(kept)) if mode == "mean" else 1))
    return np.stack(found)


@operator(
    w=normal("n", "k"), ids=integers(0, "n", "l"), rows=_rows_of_ids("l"), weights=positive("l"), sizes=BAGS,
    parameters=({"combiner": "mean"}, {"combiner": "sum"}, {"combiner": "sqrtn"}),
    source="https://www.tensorflow.org/api_docs/python/tf/nn/embedding_lookup_sparse",
)  # fmt: skip
def embedding_of_sparse_ids(w: np.ndarray, ids: np.ndarray, rows: np.ndarray, weights: np.ndarray, combiner: str) -> np.ndarray:
    """Return each row's weighted sum of embeddings; mean: over the weights' sum, sqrtn: over the root of that of squares."""
    found = []
    for row in range(rows[-1] + 1):
        chosen = rows == row
        share = weights[chosen]
        total = {"sum": 1.0, "mean": share.sum(), "sqrtn": np.sqrt((share**2).sum())}[combiner]
        found.append((w[ids[chosen]] * share[:, None]).sum(0) / total)
    return np.stack(found)


@operator(
    w=normal("n", "k"),
    x=normal("m", "k"),
    sizes=SIZES,
    source="https://flax.readthedocs.io/en/stable/api_reference/flax.linen/layers.html#flax.linen.Embed",
)
def attend(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the products of vectors with all rows of a table."""
    return x @ w.T


@operator(
    ids=integers(0, 5, "m", "l"),
    sizes=SIZES[:3],
    parameters=({"classes": 5}, {"classes": 7}),
    precisions=("fp32",),
    source=TORCH,
)
def one_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    """Return 1 at an id's place and 0 elsewhere."""
    return (ids[..., None] == np.arange(classes)).astype(np.int64)


@operator(
    ids=integers(-1, 9, "m", "l"), sizes=SIZES[:3], parameters=({"classes": 5}, {"classes": 7}), precisions=("fp32",),
    source="https://docs.jax.dev/en/latest/_autosummary/jax.nn.one_hot.html",
)  # fmt: skip
def one_hot_of_any(ids: np.ndarray, classes: int) -> np.ndarray:
    """Return 1 at an id's place and 0 elsewhere; an id that is out of range has zeros alone."""
    return (ids[..., None] == np.arange(classes)).astype(np.float64)


@operator(
    ids=integers(0, 5, "m", "l"),
    sizes=SIZES[:3],
    parameters=({"classes": 5}, {"classes": 7}),
    precisions=("fp32",),
    source="https://keras.io/api/ops/nn/",
)
def multi_hot(ids: np.ndarray, classes: int) -> np.ndarray:
    """Return 1 at the places of all ids of a row."""
    return (ids[..., None] == np.arange(classes)).any(-2).astype(np.float64)

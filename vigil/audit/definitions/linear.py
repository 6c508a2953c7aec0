"""Products of vectors and matrices, layers that are one product, distances, and decompositions of well-conditioned matrices.

Sizes of products cross the tiles of 64 and 128 by one, and the terms of their sums a thousand. Decompositions take matrices
far from singular, and what they give is compared where it is unique: signs and bases are settled in the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg

from vigil.audit.arguments import Argument, away, drawn, normal, positive, twice, uniform
from vigil.audit.entry import FLAT, operator

NUMPY = "https://numpy.org/doc/stable/reference/generated/numpy."
TORCH = "https://docs.pytorch.org/docs/stable/generated/torch."
SCIPY = "https://docs.scipy.org/doc/scipy/reference/generated/scipy."
JAX = "https://docs.jax.dev/en/latest/_autosummary/jax."
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/"

_NAMES = ("m", "k", "n")
PRODUCTS = tuple(
    dict(zip(_NAMES, each, strict=True)) for each in ((2, 3, 5), (1, 1, 1), (7, 33, 9), (3, 1027, 5), (65, 129, 33), (129, 7, 65))
)
BATCHES = tuple({"b": batch, **each} for batch, each in zip((2, 1, 3, 2, 5, 65), PRODUCTS[:5] + PRODUCTS[:1], strict=True))
# No larger than 17: errors of these algorithms grow with the count of rows, and floors, of each element moved by itself, do not.
SQUARES = ({"b": 2, "n": 3}, {"b": 1, "n": 1}, {"b": 3, "n": 7}, {"b": 2, "n": 17})
_WIDE = ("fp32", "fp64")


def _spread_out(first: int, second: int) -> Callable[..., np.ndarray]:
    """Return a way of drawing matrices whose singular values are the same distance apart from each other, from 1 to 2."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        rows, columns = shape[first], shape[second]
        less = min(rows, columns)
        left = np.linalg.qr(random.standard_normal((*shape[:-2], rows, rows)))[0][..., :less]
        right = np.linalg.qr(random.standard_normal((*shape[:-2], columns, columns)))[0][..., :less]
        return (left * np.linspace(1.0, 2.0, less)) @ np.swapaxes(right, -1, -2)

    return draw


def conditioned(*dims: int | str) -> Argument:
    """Return an argument of matrices whose singular values lie evenly from 1 to 2."""
    return drawn(_spread_out(-2, -1), *dims)


def _half_definite(*dims: int | str) -> Argument:
    """Return an argument of matrices that make, with their transposes added, symmetric ones with eigenvalues evenly from 1 to 3.

    They are not symmetric themselves, so that no argument is rounded away from being so. What they have beside is as large as the
    norm: these algorithms are backward stable in the norm, not in each element (Higham 2002, section 1.5 and chapters 10 and 18).
    """

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        basis = np.linalg.qr(random.standard_normal(shape))[0]
        half = (basis * np.linspace(0.5, 1.5, shape[-1])) @ np.swapaxes(basis, -1, -2)
        skew = random.standard_normal(shape)
        return half + skew - np.swapaxes(skew, -1, -2)

    return drawn(draw, *dims)


def symmetric(x: np.ndarray) -> np.ndarray:
    """Return matrices with their transposes added."""
    return x + np.swapaxes(x, -1, -2)


def _small(*dims: int | str, norm: float = 1.0) -> Argument:
    """Return an argument of square matrices of about a spectral norm."""
    return drawn(lambda random, shape, sizes: norm / (2.0 * np.sqrt(shape[-1])) * random.standard_normal(shape), *dims)


def _of_rates(*dims: int | str) -> Argument:
    """Return an argument of positive square matrices of norm 15.4, the largest sum of a column, by whose Perron root they grow.

    Where a norm is halved until an approximation holds, 7.7 is nearly twice what that of float32 holds for (Higham 2005,
    https://doi.org/10.1137/04061101X: 3.93), and 1.4 times what that of float64 does: one halving too few shows.
    """

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        rates = random.uniform(0.1, 1.0, shape)
        return 15.4 * rates / rates.sum(-2, keepdims=True).max(-1, keepdims=True)

    return drawn(draw, *dims)


@operator(source=NUMPY + "matmul.html", sizes=PRODUCTS, x=normal("m", "k"), y=normal("k", "n"))
def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product of two matrices."""
    return x @ y


@operator(
    source=NUMPY + "matmul.html",
    sizes=tuple({"k": size} for size in (5, 1, 33, 65, 129)),
    parameters=[{"form": form} for form in ("tn", "nt", "tt")],
    x=normal("k", "k"),
    y=normal("k", "k"),
)
def matmul_of_transposes(x: np.ndarray, y: np.ndarray, form: str) -> np.ndarray:
    """The product of two matrices, either or both of them transposed."""
    return (x.T if form[0] == "t" else x) @ (y.T if form[1] == "t" else y)


@operator(source=NUMPY + "matmul.html", sizes=PRODUCTS, x=normal("k", "m"), y=normal("n", "k"))
def matmul_of_both_transposed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product of the transposes of two matrices that are not square."""
    return x.T @ y.T


@operator(source=NUMPY + "matmul.html", sizes=BATCHES, x=normal("b", "m", "k"), y=normal("b", "k", "n"))
def matmul_of_batches(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The products of pairs of matrices."""
    return x @ y


@operator(source=NUMPY + "matmul.html", sizes=BATCHES[:5], x=normal("b", 1, "m", "k"), y=normal(3, "k", "n"))
def matmul_broadcast(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The products of matrices along axes that are repeated against each other."""
    return x @ y


@operator(source=NUMPY + "matvec.html", sizes=PRODUCTS[:5], x=normal("m", "k"), y=normal("k"))
def matvec(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product of a matrix and a vector."""
    return x @ y


@operator(source=NUMPY + "vecmat.html", sizes=PRODUCTS[:5], x=normal("k"), y=normal("k", "n"))
def vecmat(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The product of a vector and a matrix."""
    return x @ y


@operator(source=NUMPY + "vdot.html", sizes=FLAT, x=normal("n"), y=normal("n"))
def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sum of the products of the elements of two vectors."""
    return np.sum(x * y)


@operator(
    source=NUMPY + "vecdot.html",
    sizes=BATCHES[:5],
    parameters=[{"axis": -1}, {"axis": 1}, {"axis": 0}],
    x=normal("b", "m", "k"),
    y=normal("b", "m", "k"),
)
def vecdot(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """The sums of products along an axis."""
    return np.sum(x * y, axis=axis)


@operator(source=NUMPY + "inner.html", sizes=BATCHES[:5], x=normal("b", "m", "k"), y=normal("n", "k"))
def inner(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sums of products over the last axes of two arrays."""
    return np.inner(x, y)


@operator(source=NUMPY + "outer.html", sizes=PRODUCTS[:5], precisions=("fp32", "bf16", "fp64"), x=normal("m"), y=normal("k"))
def outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Each element of one vector times each of another."""
    return np.outer(x, y)


@operator(source=NUMPY + "dot.html", sizes=BATCHES[:5], x=normal("b", "m", "k"), y=normal(2, "k", "n"))
def dot_of_arrays(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The sums of products over the last axis of one array and the last but one of another."""
    return np.dot(x, y)


@operator(
    source=NUMPY + "tensordot.html",
    sizes=({"a": 2, "b": 3, "c": 4}, {"a": 1, "b": 1, "c": 1}, {"a": 5, "b": 7, "c": 9}, {"a": 3, "b": 5, "c": 205}),
    parameters=[{"axes": [[1, 2], [0, 1]]}, {"axes": 2}, {"axes": [[2], [1]]}],
    x=normal("a", "b", "c"),
    y=normal("b", "c", "a"),
)
def tensordot(x: np.ndarray, y: np.ndarray, axes: Any) -> np.ndarray:
    """The sums of products over axes of two arrays, as many or those named."""
    return np.tensordot(x, y, axes)


_LETTERS = ({"a": 2, "b": 3, "c": 4}, {"a": 1, "b": 1, "c": 1}, {"a": 5, "b": 7, "c": 9}, {"a": 3, "b": 4, "c": 257})
_EQUATIONS = ("abc,acb->ab", "abc,acb->", "abc,dce->abde", "abc,acd->abd", "abc,acb->cab")


@operator(
    source=NUMPY + "einsum.html",
    sizes=_LETTERS,
    parameters=[{"equation": each} for each in _EQUATIONS],
    x=normal("a", "b", "c"),
    y=normal("a", "c", "b"),
)
def einsum(x: np.ndarray, y: np.ndarray, equation: str) -> np.ndarray:
    """Sums of products as an equation says, of two arrays."""
    return np.einsum(equation, x, y)


@operator(
    source=NUMPY + "einsum.html",
    sizes=({"n": 5}, {"n": 1}, {"n": 33}, {"n": 129}),
    parameters=[{"equation": each} for each in ("ij->ji", "ij->i", "ij->", "ii->i", "ii->", "ij->j")],
    x=normal("n", "n"),
)
def einsum_of_one(x: np.ndarray, equation: str) -> np.ndarray:
    """What an equation says of one matrix: a transpose, sums, the diagonal, the trace."""
    return np.einsum(equation, x)


@operator(
    source=NUMPY + "einsum.html",
    sizes=(
        {"b": 2, "t": 3, "h": 2, "d": 5},
        {"b": 1, "t": 1, "h": 1, "d": 1},
        {"b": 2, "t": 9, "h": 3, "d": 7},
        {"b": 1, "t": 65, "h": 2, "d": 33},
    ),
    parameters=[{"equation": each} for each in ("bthd,bshd->bhts", "bthd,bshd->bths", "bthd,bshd->th", "...hd,...hd->...h")],
    x=normal("b", "t", "h", "d"),
    y=normal("b", "t", "h", "d"),
)
def einsum_of_heads(x: np.ndarray, y: np.ndarray, equation: str) -> np.ndarray:
    """The products that attention needs, and others of the same arrays."""
    return np.einsum(equation, x, y)


@operator(source=NUMPY + "einsum.html", sizes=PRODUCTS[:5], x=normal("m", "k"), y=normal("k", "n"), z=normal("n", "m"))
def einsum_of_three(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The products of three matrices, "ij,jk,kl->il"."""
    return x @ y @ z


@operator(
    source=NUMPY + "linalg.multi_dot.html",
    sizes=PRODUCTS[:5],
    x=normal("m", "k"),
    y=normal("k", "n"),
    z=normal("n", 4),
    vector=normal(4),
)
def multi_dot(x: np.ndarray, y: np.ndarray, z: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The product of three matrices and a vector."""
    return x @ (y @ (z @ vector))


@operator(source=TORCH + "nn.Linear.html", sizes=BATCHES, x=normal("b", "m", "k"), weight=normal("n", "k"), bias=normal("n"))
def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The last axis times a matrix, and a vector added."""
    return x @ weight.T + bias


@operator(source=TORCH + "nn.Linear.html", sizes=PRODUCTS, x=normal("m", "k"), weight=normal("n", "k"))
def linear_without_bias(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows times a matrix."""
    return x @ weight.T


@operator(
    source="https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/linear.html",
    sizes=BATCHES[:4],
    x=normal("b", "m", "k"),
    weight=normal("m", "k", "n", 2),
    bias=normal("n", 2),
)
def linear_of_axes(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The last two axes times an array of two axes in and two out, and a matrix added."""
    return np.tensordot(x, weight, 2) + bias


@operator(
    source="https://keras.io/api/layers/core_layers/einsum_dense/",
    sizes=BATCHES[:5],
    x=normal("b", "m", "k"),
    weight=normal("k", 2, "n"),
    bias=normal(2, "n"),
)
def linear_to_heads(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The last axis times an array to two axes, "bmk,khn->bmhn", and a matrix added."""
    return np.einsum("bmk,khn->bmhn", x, weight) + bias


@operator(
    source=TORCH + "nn.Bilinear.html",
    sizes=(
        {"b": 2, "i": 3, "j": 4, "o": 2},
        {"b": 1, "i": 1, "j": 1, "o": 1},
        {"b": 5, "i": 7, "j": 33, "o": 3},
        {"b": 65, "i": 9, "j": 5, "o": 4},
    ),
    x=normal("b", "i"),
    y=normal("b", "j"),
    weight=normal("o", "i", "j"),
    bias=normal("o"),
)
def bilinear(x: np.ndarray, y: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The sums of the products of two vectors with a matrix for each output, and a vector added."""
    return np.einsum("bi,oij,bj->bo", x, weight, y) + bias


_SCALES = [{"alpha": 1.0, "beta": 1.0}, {"alpha": 0.5, "beta": 2.0}, {"alpha": -1.5, "beta": 0.0}, {"alpha": 0.75, "beta": -0.5}]


@operator(
    source=TORCH + "addmm.html", sizes=PRODUCTS, parameters=_SCALES, bias=normal("m", "n"), x=normal("m", "k"), y=normal("k", "n")
)
def addmm(bias: np.ndarray, x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """A multiple of a matrix and a multiple of a product of matrices."""
    return beta * bias + alpha * (x @ y)


@operator(
    source=TORCH + "addmv.html", sizes=PRODUCTS[:5], parameters=_SCALES, bias=normal("m"), x=normal("m", "k"), y=normal("k")
)
def addmv(bias: np.ndarray, x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """A multiple of a vector and a multiple of a matrix times a vector."""
    return beta * bias + alpha * (x @ y)


@operator(source=TORCH + "addr.html", sizes=PRODUCTS[:5], parameters=_SCALES, bias=normal("m", "n"), x=normal("m"), y=normal("n"))
def addr(bias: np.ndarray, x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """A multiple of a matrix and a multiple of an outer product."""
    return beta * bias + alpha * np.outer(x, y)


@operator(
    source=TORCH + "baddbmm.html",
    sizes=BATCHES,
    parameters=_SCALES,
    bias=normal("b", 1, "n"),
    x=normal("b", "m", "k"),
    y=normal("b", "k", "n"),
)
def baddbmm(bias: np.ndarray, x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """A multiple of an array, repeated along rows, and a multiple of products of matrices."""
    return beta * bias + alpha * (x @ y)


@operator(
    source=TORCH + "addbmm.html",
    sizes=BATCHES[:5],
    parameters=_SCALES,
    bias=normal("m", "n"),
    x=normal("b", "m", "k"),
    y=normal("b", "k", "n"),
)
def addbmm(bias: np.ndarray, x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """A multiple of a matrix and a multiple of the sum of products of matrices."""
    return beta * bias + alpha * np.sum(x @ y, axis=0)


@operator(
    source=TORCH + "addcmul.html",
    sizes=FLAT[:4],
    parameters=[{"value": 1.0}, {"value": -0.5}],
    is_elementwise=True,
    bias=normal("n"),
    x=normal("n"),
    y=normal("n"),
)
def addcmul(bias: np.ndarray, x: np.ndarray, y: np.ndarray, value: float) -> np.ndarray:
    """One number and a multiple of the product of two others."""
    return bias + value * x * y


@operator(
    source=TORCH + "addcdiv.html",
    sizes=FLAT[:4],
    parameters=[{"value": 1.0}, {"value": -0.5}],
    is_elementwise=True,
    bias=normal("n"),
    x=normal("n"),
    y=positive("n"),
)
def addcdiv(bias: np.ndarray, x: np.ndarray, y: np.ndarray, value: float) -> np.ndarray:
    """One number and a multiple of the quotient of two others."""
    return bias + value * x / y


@operator(
    source=JAX + "lax.ragged_dot.html",
    sizes=PRODUCTS[2:5],
    precisions=("fp32", "bf16"),
    x=normal(12, "k"),
    y=normal(3, "k", "n"),
    counts=drawn(lambda random, shape, sizes: np.array([5, 0, 7]), 3, is_differentiated=False),
)
def ragged_dot(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Groups of rows, each times a matrix of its own."""
    ends = np.cumsum(counts)
    groups = [x[end - count : end] @ each for end, count, each in zip(ends, counts, y, strict=True)]
    return np.concatenate(groups)


@operator(
    source=NUMPY + "kron.html",
    sizes=({"m": 2, "n": 3}, {"m": 1, "n": 1}, {"m": 5, "n": 7}, {"m": 9, "n": 8}),
    x=normal("m", "n"),
    y=normal("n", "m"),
)
def kron(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Each element of a matrix times all of another, in blocks."""
    return np.kron(x, y)


@operator(source=NUMPY + "cross.html", sizes=({"m": 2}, {"m": 1}, {"m": 33}, {"m": 1027}), x=normal("m", 3), y=normal("m", 3))
def cross(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The cross products of vectors of three numbers."""
    return np.cross(x, y)


_OFFSETS = [{"offset": offset} for offset in (0, 1, -2, 3)]
_TRIANGLES = (
    {"b": 2, "m": 4, "n": 5},
    {"b": 1, "m": 1, "n": 1},
    {"b": 3, "m": 33, "n": 7},
    {"b": 2, "m": 5, "n": 1027},
    {"b": 1, "m": 129, "n": 65},
)


@operator(source=NUMPY + "trace.html", sizes=({"n": 5}, {"n": 1}, {"n": 33}, {"n": 257}), x=normal("n", "n"))
def trace(x: np.ndarray) -> np.ndarray:
    """The sum of the diagonal."""
    return np.trace(x)


@operator(
    source=NUMPY + "trace.html",
    sizes=_TRIANGLES,
    parameters=[{"offset": 0}, {"offset": 0}, {"offset": 1}, {"offset": -1}],
    precisions=_WIDE,
    x=normal("b", "m", "n"),
)
def trace_of_batches(x: np.ndarray, offset: int) -> np.ndarray:
    """The sums of diagonals of matrices that are not square, beside the main one."""
    return np.trace(x, offset, axis1=1, axis2=2)


@operator(
    source=NUMPY + "diagonal.html",
    sizes=({"b": 2, "m": 4, "n": 5}, {"b": 1, "m": 3, "n": 4}, *_TRIANGLES[2:]),
    parameters=_OFFSETS,
    x=normal("b", "m", "n"),
)
def diagonal(x: np.ndarray, offset: int) -> np.ndarray:
    """Diagonals beside the main one."""
    return np.diagonal(x, offset, axis1=1, axis2=2)


@operator(source=NUMPY + "diag.html", sizes=({"n": 5}, {"n": 1}, {"n": 33}), parameters=_OFFSETS, x=normal("n"))
def diag(x: np.ndarray, offset: int) -> np.ndarray:
    """A matrix with a vector on a diagonal."""
    return np.diag(x, offset)


@operator(
    source=TORCH + "diag_embed.html",
    sizes=({"b": 2, "n": 5}, {"b": 1, "n": 1}, {"b": 3, "n": 33}),
    parameters=_OFFSETS,
    x=normal("b", "n"),
)
def diag_embed(x: np.ndarray, offset: int) -> np.ndarray:
    """Matrices with vectors on a diagonal."""
    return np.stack([np.diag(each, offset) for each in x])


@operator(source=NUMPY + "tril.html", sizes=_TRIANGLES, parameters=_OFFSETS, x=normal("b", "m", "n"))
def tril(x: np.ndarray, offset: int) -> np.ndarray:
    """Matrices with zeros above a diagonal."""
    return np.tril(x, offset)


@operator(source=NUMPY + "triu.html", sizes=_TRIANGLES, parameters=_OFFSETS, x=normal("b", "m", "n"))
def triu(x: np.ndarray, offset: int) -> np.ndarray:
    """Matrices with zeros below a diagonal."""
    return np.triu(x, offset)


@operator(
    source=TENSORFLOW + "linalg/band_part",
    sizes=_TRIANGLES,
    parameters=[{"lower": 1, "upper": 2}, {"lower": 0, "upper": -1}, {"lower": -1, "upper": 0}],
    x=normal("b", "m", "n"),
)
def band_part(x: np.ndarray, lower: int, upper: int) -> np.ndarray:
    """Matrices with zeros outside of a band; -1 keeps the whole triangle."""
    rows, columns = np.arange(x.shape[1])[:, None], np.arange(x.shape[2])
    kept = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return np.where(kept, x, 0.0)


@operator(
    source=NUMPY + "vander.html",
    sizes=({"n": 4}, {"n": 1}, {"n": 33}),
    parameters=[{"is_increasing": True}, {"is_increasing": False}],
    precisions=_WIDE,
    x=uniform(0.5, 1.5, "n"),
)
def vander(x: np.ndarray, is_increasing: bool) -> np.ndarray:
    """Powers from 0 to 4 of numbers, in columns."""
    return np.vander(x, 5, increasing=is_increasing)


@operator(
    source=SCIPY + "linalg.block_diag.html",
    sizes=PRODUCTS[:4],
    precisions=("fp32", "bf16"),
    x=normal("m", "k"),
    y=normal("n", "m"),
)
def block_diag(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Two matrices along a diagonal, zeros elsewhere."""
    return scipy.linalg.block_diag(x, y)


@operator(
    source=SCIPY + "linalg.toeplitz.html",
    sizes=({"m": 4, "n": 5}, {"m": 1, "n": 1}, {"m": 33, "n": 7}),
    precisions=("fp32", "bf16"),
    x=normal("m"),
    y=normal("n"),
)
def toeplitz(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The matrix of constant diagonals with a given first column and first row."""
    return scipy.linalg.toeplitz(x, y)


@operator(source=SCIPY + "linalg.circulant.html", sizes=({"n": 5}, {"n": 1}, {"n": 33}), precisions=_WIDE, x=normal("n"))
def circulant(x: np.ndarray) -> np.ndarray:
    """The matrix whose columns are a vector and its rotations."""
    return scipy.linalg.circulant(x)


_POINTS = (
    {"b": 2, "m": 3, "n": 4, "d": 2},
    {"b": 1, "m": 1, "n": 1, "d": 3},
    {"b": 2, "m": 7, "n": 33, "d": 5},
    {"b": 1, "m": 5, "n": 4, "d": 1027},
    {"b": 1, "m": 30, "n": 27, "d": 8},
)
_PAIRS = ({"m": 4, "d": 3}, {"m": 2, "d": 5}, {"m": 9, "d": 33})


def _norms(x: np.ndarray, order: float | str) -> np.ndarray:
    """Return norms along the last axis."""
    size = np.abs(x)
    return np.max(size, axis=-1) if order == "inf" else np.sum(size**order, axis=-1) ** (1.0 / order)


@operator(
    source=TORCH + "cdist.html",
    sizes=_POINTS,
    parameters=[{"order": order} for order in (2.0, 1.0, 3.0, "inf")],
    precisions=_WIDE,
    x=normal("b", "m", "d"),
    y=uniform(3.0, 5.0, "b", "n", "d"),
)
def cdist(x: np.ndarray, y: np.ndarray, order: float | str) -> np.ndarray:
    """Distances of each row of one matrix to each of another, of a norm's order; no coordinates are equal."""
    return _norms(x[:, :, None] - y[:, None], order)


@operator(
    source=TORCH + "cdist.html", sizes=_POINTS, precisions=("fp32",), x=normal("b", "m", "d"), y=uniform(3.0, 5.0, "b", "n", "d")
)
def cdist_of_equals(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The largest differences of coordinates that stand there twice: however they share a gradient, it is one."""
    return cdist(twice(x, [2]), twice(y, [2]), "inf")


@operator(
    source=TORCH + "nn.functional.pdist.html",
    sizes=_PAIRS,
    parameters=[{"order": 2.0}, {"order": 3.0}, {"order": 2.5}, {"order": "inf"}],
    precisions=_WIDE,
    x=normal("m", "d"),
)
def pdist(x: np.ndarray, order: float | str) -> np.ndarray:
    """Distances of all pairs of rows."""
    one, other = np.triu_indices(len(x), 1)
    return _norms(x[one] - x[other], order)


@operator(source=TORCH + "nn.functional.pdist.html", sizes=_PAIRS, precisions=("fp32",), x=normal("m", "d"))
def pdist_of_equals(x: np.ndarray) -> np.ndarray:
    """The largest differences of coordinates that stand there twice: however they share a gradient, it is one."""
    return pdist(twice(x, [1]), "inf")


@operator(
    source=TORCH + "nn.PairwiseDistance.html",
    sizes=({"m": 3, "d": 7}, {"m": 1, "d": 1}, {"m": 5, "d": 33}, {"m": 2, "d": 1027}),
    parameters=[{"order": 2.0, "keepdims": False}, {"order": 1.0, "keepdims": True}, {"order": 3.0, "keepdims": False}],
    precisions=_WIDE,
    x=normal("m", "d"),
    y=uniform(4.0, 6.0, "m", "d"),
)
def pairwise_distance(x: np.ndarray, y: np.ndarray, order: float, keepdims: bool) -> np.ndarray:
    """Distances of pairs of rows: norms of their differences with 1e-6 added."""
    return np.sum(np.abs(x - y + 1e-6) ** order, axis=-1, keepdims=keepdims) ** (1.0 / order)


@operator(
    source=TORCH + "nn.CosineSimilarity.html",
    sizes=({"m": 3, "d": 7}, {"m": 2, "d": 2}, {"m": 5, "d": 33}, {"m": 2, "d": 1027}, {"m": 1, "d": 65537}),
    parameters=[{"axis": -1}, {"axis": 0}, {"axis": 1}, {"axis": 1}, {"axis": -1}],
    x=normal("m", "d", mean=0.5),
    y=normal("m", "d", mean=0.5),
)
def cosine_similarity(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """Sums of products over the product of the norms."""
    size = np.sqrt(np.sum(x**2, axis=axis) * np.sum(y**2, axis=axis))
    return np.sum(x * y, axis=axis) / size


@operator(
    source=NUMPY + "linalg.norm.html",
    sizes=BATCHES[:4],
    parameters=[{"order": order} for order in ("fro", 1, -1, "inf", "-inf", "nuc", 2, -2)],
    precisions=_WIDE,
    x=away("b", "m", "k"),
)
def matrix_norm(x: np.ndarray, order: str | int) -> np.ndarray:
    """Norms of matrices.

    They are Frobenius's, the largest or smallest sum of a column or row, the nuclear, the largest or smallest singular value.
    """
    return np.stack([np.linalg.norm(each, {"inf": np.inf, "-inf": -np.inf}.get(order, order)) for each in x])


# Without one row: there it is 1, and its gradient what rounding leaves of a difference.
@operator(
    source=NUMPY + "linalg.cond.html",
    sizes=(SQUARES[0], *SQUARES[2:]),
    parameters=[{"order": order} for order in (None, 1, -1, "inf", "-inf", "fro", 2, -2)],
    precisions=_WIDE,
    x=conditioned("b", "n", "n"),
)
def cond(x: np.ndarray, order: str | int | None) -> np.ndarray:
    """Condition numbers: the norm of a matrix times that of its inverse; of no order that of the largest singular value."""
    return np.linalg.cond(x, {"inf": np.inf, "-inf": -np.inf}.get(order, order) if isinstance(order, str) else order)


def _of_ranks(*dims: int | str) -> Argument:
    """Return an argument of matrices whose ranks fall, the first of full rank: singular values lie from 1 to 2, or are 0."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        full = _spread_out(-2, -1)(random, shape, sizes)
        less = min(shape[-2:])
        left, values, right = np.linalg.svd(full, full_matrices=False)
        ranks = np.maximum(less - np.arange(shape[0]) * max(1, less // 2), 0)
        return (left * np.where(np.arange(less) < ranks[:, None], values, 0.0)[:, None]) @ right

    return drawn(draw, *dims, is_differentiated=False)


@operator(
    source=NUMPY + "linalg.matrix_rank.html",
    sizes=({"b": 3, "m": 4, "n": 3}, {"b": 2, "m": 1, "n": 1}, {"b": 3, "m": 7, "n": 9}, {"b": 2, "m": 33, "n": 17}),
    precisions=_WIDE,
    x=_of_ranks("b", "m", "n"),
)
def matrix_rank(x: np.ndarray) -> np.ndarray:
    """How many singular values are larger than 0.1."""
    return np.sum(np.linalg.svd(x, compute_uv=False) > 0.1, axis=-1)


@operator(source=NUMPY + "linalg.det.html", sizes=SQUARES, precisions=_WIDE, x=conditioned("b", "n", "n"))
def det(x: np.ndarray) -> np.ndarray:
    """Determinants."""
    return np.linalg.det(x)


@operator(source=NUMPY + "linalg.slogdet.html", sizes=SQUARES, precisions=_WIDE, x=conditioned("b", "n", "n"))
def slogdet(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signs of determinants, and logarithms of their magnitudes."""
    sign, size = np.linalg.slogdet(x)
    return sign, size


@operator(source=TENSORFLOW + "linalg/logdet", sizes=SQUARES, precisions=_WIDE, x=_half_definite("b", "n", "n"))
def logdet(x: np.ndarray) -> np.ndarray:
    """Logarithms of determinants of positive definite matrices, the sums of a matrix and its transpose."""
    return np.linalg.slogdet(symmetric(x))[1]


@operator(source=NUMPY + "linalg.inv.html", sizes=SQUARES, precisions=_WIDE, x=conditioned("b", "n", "n"))
def inv(x: np.ndarray) -> np.ndarray:
    """Inverses."""
    return np.linalg.inv(x)


@operator(
    source=NUMPY + "linalg.solve.html", sizes=SQUARES, precisions=_WIDE, x=conditioned("b", "n", "n"), y=normal("b", "n", 4)
)
def solve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What a matrix takes to another one."""
    return np.linalg.solve(x, y)


@operator(
    source=NUMPY + "linalg.solve.html",
    sizes=({"n": 3}, {"n": 1}, {"n": 7}, {"n": 17}),
    precisions=_WIDE,
    x=conditioned("n", "n"),
    y=normal("n"),
)
def solve_for_a_vector(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What a matrix takes to a vector."""
    return np.linalg.solve(x, y)


def _triangle(*dims: int | str) -> Argument:
    """Return an argument of square matrices both of whose triangles are well conditioned."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        signs = random.choice((-1.0, 1.0), shape[:-1])
        return 0.5 / np.sqrt(shape[-1]) * random.standard_normal(shape) + np.eye(shape[-1]) * signs[..., None]

    return drawn(draw, *dims)


_TRIANGULAR = [
    {"is_lower": lower, "is_transposed": transposed, "is_unit": unit}
    for lower, transposed, unit in ((True, False, False), (False, False, False), (True, True, False), (False, True, True),
        (True, False, True))
]  # fmt: skip


@operator(
    source=SCIPY + "linalg.solve_triangular.html",
    sizes=SQUARES,
    parameters=_TRIANGULAR,
    precisions=_WIDE,
    x=_triangle("b", "n", "n"),
    y=normal("b", "n", 4),
)
def triangular_solve(x: np.ndarray, y: np.ndarray, is_lower: bool, is_transposed: bool, is_unit: bool) -> np.ndarray:
    """What a triangle of a matrix, or its transpose, takes to another matrix; its diagonal may count as ones."""
    triangle = np.tril(x) if is_lower else np.triu(x)
    if is_unit:
        triangle = triangle * (1.0 - np.eye(x.shape[-1])) + np.eye(x.shape[-1])
    return np.linalg.solve(np.swapaxes(triangle, -1, -2) if is_transposed else triangle, y)


@operator(source=NUMPY + "linalg.cholesky.html", sizes=SQUARES, precisions=_WIDE, x=_half_definite("b", "n", "n"))
def cholesky(x: np.ndarray) -> np.ndarray:
    """Lower triangles whose product with their transposes is a matrix and its transpose added."""
    return np.linalg.cholesky(symmetric(x))


@operator(source=NUMPY + "linalg.cholesky.html", sizes=SQUARES, precisions=_WIDE, x=_half_definite("b", "n", "n"))
def cholesky_upper(x: np.ndarray) -> np.ndarray:
    """The transposes of those lower triangles."""
    return np.swapaxes(np.linalg.cholesky(symmetric(x)), -1, -2)


@operator(
    source=SCIPY + "linalg.cho_solve.html", sizes=SQUARES, precisions=_WIDE, x=_triangle("b", "n", "n"), y=normal("b", "n", 4)
)
def cholesky_solve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the product of a lower triangle with its transpose takes to another matrix."""
    triangle = np.tril(x)
    return np.linalg.solve(triangle @ np.swapaxes(triangle, -1, -2), y)


@operator(source=TORCH + "cholesky_inverse.html", sizes=SQUARES, precisions=_WIDE, x=_triangle("b", "n", "n"))
def cholesky_inverse(x: np.ndarray) -> np.ndarray:
    """The inverse of the product of a lower triangle with its transpose."""
    triangle = np.tril(x)
    return np.linalg.inv(triangle @ np.swapaxes(triangle, -1, -2))


_TALL = ({"b": 2, "m": 4, "n": 3}, {"b": 1, "m": 1, "n": 1}, {"b": 2, "m": 9, "n": 7}, {"b": 1, "m": 17, "n": 9})
_WIDER = ({"b": 2, "m": 3, "n": 4}, {"b": 1, "m": 7, "n": 9})


@operator(source=NUMPY + "linalg.qr.html", sizes=_TALL, precisions=_WIDE, x=conditioned("b", "m", "n"))
def qr(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal columns and an upper triangle with a positive diagonal whose product is a matrix."""
    basis, triangle = np.linalg.qr(x)
    signs = np.sign(np.diagonal(triangle, axis1=-2, axis2=-1))
    return basis * signs[..., None, :], triangle * signs[..., None]


@operator(source=NUMPY + "linalg.svdvals.html", sizes=(*_TALL, *_WIDER), precisions=_WIDE, x=conditioned("b", "m", "n"))
def svdvals(x: np.ndarray) -> np.ndarray:
    """Singular values, the largest first."""
    return np.linalg.svd(x, compute_uv=False)


@operator(source=NUMPY + "linalg.svd.html", sizes=(*_TALL, *_WIDER), precisions=_WIDE, x=conditioned("b", "m", "n"))
def svd(x: np.ndarray) -> np.ndarray:
    """Left times right singular vectors: the orthogonal factor, which no choice of signs changes."""
    left, _, right = np.linalg.svd(x, full_matrices=False)
    return left @ right


@operator(source=NUMPY + "linalg.eigvalsh.html", sizes=SQUARES, precisions=_WIDE, x=_half_definite("b", "n", "n"))
def eigvalsh(x: np.ndarray) -> np.ndarray:
    """Eigenvalues of a matrix and its transpose added, the smallest first."""
    return np.linalg.eigvalsh(symmetric(x))


@operator(source=NUMPY + "linalg.eigh.html", sizes=SQUARES, precisions=_WIDE, x=_half_definite("b", "n", "n"))
def eigh(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, and what the eigenvectors make with the sines of the eigenvalues, which no choice of signs changes."""
    values, vectors = np.linalg.eigh(symmetric(x))
    return values, (vectors * np.sin(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


@operator(source=NUMPY + "linalg.pinv.html", sizes=(*_TALL, *_WIDER), precisions=_WIDE, x=conditioned("b", "m", "n"))
def pinv(x: np.ndarray) -> np.ndarray:
    """Pseudo-inverses of matrices of full rank."""
    return np.linalg.pinv(x)


@operator(
    source=NUMPY + "linalg.lstsq.html",
    sizes=({"m": 4, "n": 3}, {"m": 1, "n": 1}, {"m": 9, "n": 7}, {"m": 17, "n": 9}),
    precisions=_WIDE,
    x=conditioned("m", "n"),
    y=normal("m", 2),
)
def lstsq(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What a matrix takes nearest to another one."""
    return np.linalg.pinv(x) @ y


@operator(
    source=NUMPY + "linalg.matrix_power.html",
    sizes=SQUARES,
    parameters=[{"power": power} for power in (3, 0, 2, -2, 5, -1)],
    precisions=_WIDE,
    x=conditioned("b", "n", "n"),
)
def matrix_power(x: np.ndarray, power: int) -> np.ndarray:
    """A matrix times itself so many times, or its inverse."""
    return np.linalg.matrix_power(x, power)


@operator(source=SCIPY + "linalg.expm.html", sizes=SQUARES[:3], precisions=_WIDE, x=_small("b", "n", "n", norm=1.5))
def expm(x: np.ndarray) -> np.ndarray:
    """Exponentials of matrices."""
    return scipy.linalg.expm(x)


@operator(
    source=SCIPY + "linalg.expm.html", sizes=({"b": 2, "n": 3}, {"b": 1, "n": 9}), precisions=_WIDE, x=_of_rates("b", "n", "n")
)
def expm_of_large_norm(x: np.ndarray) -> np.ndarray:
    """Exponentials of matrices of a norm that takes scaling and squaring."""
    return scipy.linalg.expm(x)


@operator(
    source=SCIPY + "linalg.sqrtm.html", sizes=({"n": 3}, {"n": 1}, {"n": 9}), precisions=_WIDE, x=_half_definite("n", "n").fixed()
)
def sqrtm(x: np.ndarray) -> np.ndarray:
    """Roots of positive definite matrices, the sums of a matrix and its transpose."""
    values, vectors = np.linalg.eigh(symmetric(x))
    return (vectors * np.sqrt(values)) @ vectors.T


@operator(source=SCIPY + "linalg.lu.html", sizes=SQUARES, precisions=_WIDE, x=conditioned("b", "n", "n"))
def lu(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A permutation, a lower triangle with ones and an upper triangle whose product is a matrix, by partial pivoting."""
    order, lower, upper = scipy.linalg.lu(x)
    return order, lower, upper


@operator(
    source=SCIPY + "linalg.solve_banded.html",
    sizes=({"n": 4}, {"n": 2}, {"n": 33}, {"n": 65}),
    precisions=_WIDE,
    lower=uniform(-1, 1, "n"),
    middle=uniform(3.0, 4.0, "n"),
    upper=uniform(-1, 1, "n"),
    y=normal("n", 2),
)
def tridiagonal_solve(lower: np.ndarray, middle: np.ndarray, upper: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What a matrix of three diagonals takes to another one; the first lower and the last upper number count for nothing."""
    return np.linalg.solve(np.diag(middle) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1), y)


@operator(
    source=SCIPY + "linalg.eigh_tridiagonal.html",
    sizes=({"n": 4}, {"n": 2}, {"n": 33}, {"n": 65}),
    precisions=_WIDE,
    middle=uniform(3.0, 4.0, "n").fixed(),
    beside=uniform(-1.0, 1.0, "n").fixed(),
)
def eigh_tridiagonal(middle: np.ndarray, beside: np.ndarray) -> np.ndarray:
    """Eigenvalues of a symmetric matrix of three diagonals, the smallest first; the last number beside counts for nothing."""
    return scipy.linalg.eigvalsh_tridiagonal(middle, beside[:-1])


@operator(
    source=TENSORFLOW + "linalg/banded_triangular_solve",
    sizes=({"b": 2, "k": 2, "n": 4}, {"b": 1, "k": 1, "n": 3}, {"b": 2, "k": 3, "n": 33}, {"b": 1, "k": 4, "n": 65}),
    parameters=[{"is_lower": lower, "is_adjoint": adjoint} for lower in (True, False) for adjoint in (False, True)],
    precisions=_WIDE,
    bands=drawn(lambda random, shape, sizes: random.uniform(0.1, 0.3, shape), "b", "k", "n"),
    middle=uniform(1.0, 2.0, "b", "n"),
    y=normal("b", "n", 3),
)
def banded_triangular_solve(bands: np.ndarray, middle: np.ndarray, y: np.ndarray, is_lower: bool, is_adjoint: bool) -> np.ndarray:
    """What a triangle of a few diagonals, or its transpose, takes to another matrix; `middle` is added to the main diagonal.

    Column i of `bands` holds row i of the triangle, from the main diagonal on, and backwards of an upper one.
    """
    count, rows = bands.shape[-2:]
    triangle = np.zeros((*bands.shape[:-2], rows, rows))
    for away_from_main in range(count):
        band = bands[..., away_from_main if is_lower else count - 1 - away_from_main, :]
        band = band + middle if away_from_main == 0 else band
        place = np.arange(away_from_main, rows) if is_lower else np.arange(rows - away_from_main)
        triangle[..., place, place - away_from_main if is_lower else place + away_from_main] = band[..., place]
    return np.linalg.solve(np.swapaxes(triangle, -1, -2) if is_adjoint else triangle, y)


@operator(
    source=TENSORFLOW + "linalg/tridiagonal_matmul",
    sizes=({"n": 4}, {"n": 2}, {"n": 33}, {"n": 65}),
    precisions=_WIDE,
    lower=normal("n"),
    middle=normal("n"),
    upper=normal("n"),
    y=normal("n", 2),
)
def tridiagonal_matmul(lower: np.ndarray, middle: np.ndarray, upper: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A matrix of three diagonals times another one."""
    return (np.diag(middle) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)) @ y


@operator(
    source=SCIPY + "linalg.solve_sylvester.html",
    sizes=({"n": 3}, {"n": 1}, {"n": 7}),
    precisions=_WIDE,
    x=_triangle("n", "n").fixed(),
    y=_half_definite("n", "n").fixed(),
    z=normal("n", "n").fixed(),
)
def solve_sylvester(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The matrix whose product with one from the left and with another from the right add up to a third."""
    count = len(x)
    both = np.kron(x @ x.T, np.eye(count)) + np.kron(np.eye(count), symmetric(y).T)
    return np.linalg.solve(both, z.ravel()).reshape(count, count)


@operator(
    source=NUMPY + "linalg.tensorsolve.html",
    sizes=({"n": 2}, {"n": 1}, {"n": 4}),
    precisions=_WIDE,
    x=drawn(
        lambda random, shape, sizes: _spread_out(-2, -1)(random, (shape[0] * shape[1],) * 2, sizes).reshape(shape), "n", 3, "n", 3
    ),
    y=normal("n", 3),
)
def tensorsolve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What an array of two axes in and two out takes to a matrix."""
    return np.linalg.tensorsolve(x, y)


@operator(
    source=NUMPY + "linalg.tensorinv.html",
    sizes=({"n": 2}, {"n": 1}, {"n": 4}),
    precisions=_WIDE,
    x=drawn(
        lambda random, shape, sizes: _spread_out(-2, -1)(random, (shape[0] * shape[1],) * 2, sizes).reshape(shape), "n", 3, "n", 3
    ),
)
def tensorinv(x: np.ndarray) -> np.ndarray:
    """The inverse of an array of two axes in and two out."""
    return np.linalg.tensorinv(x)


@operator(
    source=NUMPY + "polyval.html",
    sizes=({"n": 7}, {"n": 1}, {"n": 33}),
    precisions=("fp32", "fp64", "bf16"),
    coefficients=normal(4),
    x=away("n"),
)
def polyval(coefficients: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A polynomial, the coefficient of the highest power first."""
    return np.polyval(coefficients, x)

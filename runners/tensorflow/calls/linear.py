"""TensorFlow: products, layers that are one product, distances, decompositions."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported


def _t(x: Any) -> Any:
    return tf.linalg.matrix_transpose(x)


def _symmetric(x: Any) -> Any:
    return x + _t(x)


def _of_symmetric(function: Any) -> Any:
    return lambda x: function(_symmetric(x))


def _turned(x: Any, y: Any, form: str) -> Any:
    return tf.matmul(x, y, transpose_a=form[0] == "t", transpose_b=form[1] == "t")


def _signed(basis: Any, triangle: Any) -> Any:
    signs = tf.stop_gradient(tf.sign(tf.linalg.diag_part(triangle)))
    return basis * signs[..., None, :], triangle * signs[..., None]


def _rebuilt(values: Any, vectors: Any) -> Any:
    return values, (vectors * tf.sin(values)[..., None, :]) @ _t(vectors)


def _polar(x: Any) -> Any:
    _, left, right = tf.linalg.svd(x)
    return tf.matmul(left, right, transpose_b=True)


def _triangular(x: Any, y: Any, is_lower: bool, is_transposed: bool, is_unit: bool) -> Any:
    if is_unit:
        raise Unsupported("a diagonal that counts as ones")
    return tf.linalg.triangular_solve(x, y, lower=is_lower, adjoint=is_transposed)


def _matrix_norm(x: Any, order: Any) -> Any:
    if order in (-1, -2, "-inf", "nuc"):
        raise Unsupported(f"order {order}")
    return tf.norm(x, ord={"inf": float("inf"), "fro": "euclidean"}.get(order, order), axis=[-2, -1])


def _lu(x: Any) -> Any:
    packed, order = tf.linalg.lu(x)
    lower = tf.linalg.set_diag(tf.linalg.band_part(packed, -1, 0), tf.ones_like(tf.linalg.diag_part(packed)))
    # Row `i` of the product is row `order[i]` of the matrix: the permutation is the transpose of what picks them.
    return _t(tf.one_hot(order, x.shape[-1], dtype=x.dtype)), lower, tf.linalg.band_part(packed, 0, -1)


def _solve_by_lu(x: Any, y: Any) -> Any:
    return tf.linalg.lu_solve(*tf.linalg.lu(x), y)


def _banded(bands: Any, middle: Any, y: Any, is_lower: bool, is_adjoint: bool) -> Any:
    rows = [bands[..., row, :] for row in range(bands.shape[-2])]
    rows[0 if is_lower else -1] += middle
    return tf.linalg.banded_triangular_solve(tf.stack(rows, -2), y, lower=is_lower, adjoint=is_adjoint)


def _diagonal(x: Any, offset: int) -> Any:
    return tf.linalg.diag_part(x, k=offset)


CALLS = {
    "matmul": {
        "tensorflow.linalg.matmul": None,
        "tensorflow.linalg.einsum": lambda x, y: tf.linalg.einsum("mk,kn->mn", x, y),
        "tensorflow.linalg.tensordot": lambda x, y: tf.linalg.tensordot(x, y, 1),
        "tensorflow.sparse.sparse_dense_matmul": lambda x, y: tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(x), y),
        "tensorflow.matmul": None,
        "tensorflow.einsum": lambda x, y: tf.einsum("mk,kn->mn", x, y),
        "tensorflow.tensordot": lambda x, y: tf.tensordot(x, y, 1),
    },
    "matmul_of_transposes": {"tensorflow.matmul": _turned},
    "matmul_of_both_transposed": {
        "tensorflow.matmul": lambda x, y: tf.matmul(x, y, transpose_a=True, transpose_b=True),
        "tensorflow.einsum": lambda x, y: tf.einsum("km,nk->mn", x, y),
    },
    "matmul_of_batches": {
        "tensorflow.matmul": None,
        "tensorflow.matmul (transposed)": lambda x, y: tf.matmul(_t(x), _t(y), transpose_a=True, transpose_b=True),
        "tensorflow.einsum": lambda x, y: tf.einsum("bmk,bkn->bmn", x, y),
    },
    "matmul_broadcast": {"tensorflow.matmul": None},
    "matvec": {"tensorflow.linalg.matvec": None},
    "vecmat": {"tensorflow.linalg.matvec": lambda x, y: tf.linalg.matvec(y, x, transpose_a=True)},
    "dot": {"tensorflow.tensordot": lambda x, y: tf.tensordot(x, y, 1)},
    "tensordot": {"tensorflow.tensordot": lambda x, y, axes: tf.tensordot(x, y, axes)},
    "einsum": {"tensorflow.einsum": lambda x, y, equation: tf.einsum(equation, x, y)},
    "einsum_of_one": {"tensorflow.einsum": lambda x, equation: tf.einsum(equation, x)},
    "einsum_of_heads": {"tensorflow.einsum": lambda x, y, equation: tf.einsum(equation, x, y)},
    "einsum_of_three": {"tensorflow.einsum": lambda x, y, z: tf.einsum("ij,jk,kl->il", x, y, z)},
    "linear_without_bias": {"tensorflow.matmul": lambda x, weight: tf.matmul(x, weight, transpose_b=True)},
    "cross": {"tensorflow.linalg.cross": None},
    "trace": {"tensorflow.linalg.trace": None},
    "diagonal": {"tensorflow.linalg.diag_part": _diagonal},
    "diag": {"tensorflow.linalg.diag": lambda x, offset: tf.linalg.diag(x, k=offset)},
    "diag_embed": {"tensorflow.linalg.diag": lambda x, offset: tf.linalg.diag(x, k=offset)},
    "band_part": {"tensorflow.linalg.band_part": lambda x, lower, upper: tf.linalg.band_part(x, lower, upper)},
    "matrix_norm": {"tensorflow.norm": _matrix_norm, "tensorflow.linalg.norm": _matrix_norm},
    "matrix_rank": {"tensorflow.linalg.matrix_rank": lambda x: tf.linalg.matrix_rank(x, 0.1)},
    "det": {"tensorflow.linalg.det": None},
    "slogdet": {"tensorflow.linalg.slogdet": lambda x: tuple(tf.linalg.slogdet(x))},
    "logdet": {"tensorflow.linalg.logdet": _of_symmetric(tf.linalg.logdet)},
    "inv": {
        "tensorflow.linalg.inv": None,
        "tensorflow.linalg.lu_matrix_inverse": lambda x: tf.linalg.lu_matrix_inverse(*tf.linalg.lu(x)),
    },
    "solve": {
        "tensorflow.linalg.solve": None,
        "tensorflow.linalg.solve (adjoint)": lambda x, y: tf.linalg.solve(_t(x), y, adjoint=True),
        "tensorflow.linalg.lu_solve": _solve_by_lu,
    },
    "triangular_solve": {"tensorflow.linalg.triangular_solve": _triangular},
    "cholesky": {"tensorflow.linalg.cholesky": _of_symmetric(tf.linalg.cholesky)},
    "cholesky_solve": {
        "tensorflow.linalg.cholesky_solve": lambda x, y: tf.linalg.cholesky_solve(tf.linalg.band_part(x, -1, 0), y)
    },
    "qr": {"tensorflow.linalg.qr": lambda x: _signed(*tf.linalg.qr(x))},
    "svdvals": {
        "tensorflow.linalg.svd": lambda x: tf.linalg.svd(x, compute_uv=False),
        "tensorflow.linalg.svd (with vectors)": lambda x: tf.linalg.svd(x)[0],
    },
    "svd": {"tensorflow.linalg.svd": _polar},
    "eigvalsh": {"tensorflow.linalg.eigvalsh": _of_symmetric(tf.linalg.eigvalsh)},
    "eigh": {"tensorflow.linalg.eigh": lambda x: _rebuilt(*tf.linalg.eigh(_symmetric(x)))},
    "pinv": {"tensorflow.linalg.pinv": None},
    "lstsq": {
        "tensorflow.linalg.lstsq": None,
        "tensorflow.linalg.lstsq (orthogonal)": lambda x, y: tf.linalg.lstsq(x, y, fast=False),
    },
    "expm": {"tensorflow.linalg.expm": None},
    "expm_of_large_norm": {"tensorflow.linalg.expm": None},
    "sqrtm": {"tensorflow.linalg.sqrtm": _of_symmetric(tf.linalg.sqrtm)},
    "lu": {"tensorflow.linalg.lu": _lu},
    "eigh_tridiagonal": {
        "tensorflow.linalg.eigh_tridiagonal": lambda middle, beside: tf.linalg.eigh_tridiagonal(middle, beside[:-1])
    },
    "banded_triangular_solve": {"tensorflow.linalg.banded_triangular_solve": _banded},
    "tridiagonal_solve": {
        "tensorflow.linalg.tridiagonal_solve": lambda lower, middle, upper, y: tf.linalg.tridiagonal_solve(
            (upper, middle, lower), y, diagonals_format="sequence"
        ),
        "tensorflow.linalg.tridiagonal_solve (compact)": lambda lower, middle, upper, y: tf.linalg.tridiagonal_solve(
            tf.stack([upper, middle, lower]), y
        ),
    },
    "tridiagonal_matmul": {
        "tensorflow.linalg.tridiagonal_matmul": lambda lower, middle, upper, y: tf.linalg.tridiagonal_matmul(
            (upper, middle, lower), y, diagonals_format="sequence"
        )
    },
    "polyval": {"tensorflow.math.polyval": lambda coefficients, x: tf.math.polyval(tf.unstack(coefficients), x)},
}

"""Keras: products, layers that are one product, distances, decompositions."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported


def _t(x: Any) -> Any:
    return ops.swapaxes(x, -1, -2)


def _symmetric(x: Any) -> Any:
    return x + _t(x)


def _of_symmetric(function: Any) -> Any:
    return lambda x: function(_symmetric(x))


def _turned(x: Any, y: Any, form: str) -> Any:
    return ops.matmul(ops.transpose(x) if form[0] == "t" else x, ops.transpose(y) if form[1] == "t" else y)


def _layer(layer: Any, x: Any, weights: list[Any]) -> Any:
    """Return what a layer gives with given weights."""
    layer.build(x.shape)
    return layer.stateless_call(weights, [], x)[0]


def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def _dense(x: Any, weight: Any, bias: Any = None) -> Any:
    layer = keras.layers.Dense(weight.shape[0], use_bias=bias is not None, dtype=_kind(x))
    return _layer(layer, x, [ops.transpose(weight)] + ([] if bias is None else [bias]))


def _einsum_dense(x: Any, weight: Any, bias: Any) -> Any:
    shape = (x.shape[1], *weight.shape[1:])
    layer = keras.layers.EinsumDense("bmk,khn->bmhn", output_shape=shape, bias_axes="hn", dtype=_kind(x))
    return _layer(layer, x, [weight, bias])


def _axes_dense(x: Any, weight: Any, bias: Any) -> Any:
    layer = keras.layers.EinsumDense("bmk,mkno->bno", output_shape=weight.shape[2:], bias_axes="no", dtype=_kind(x))
    return _layer(layer, x, [weight, bias])


def _einsum_linear(x: Any, weight: Any, bias: Any) -> Any:
    layer = keras.layers.EinsumDense("bmk,kn->bmn", output_shape=(x.shape[1], weight.shape[0]), bias_axes="n", dtype=_kind(x))
    return _layer(layer, x, [ops.transpose(weight), bias])


def _dot_layer(x: Any, y: Any) -> Any:
    return keras.layers.Dot(axes=(2, 1), dtype=_kind(x))([x, y])


def _signed(basis: Any, triangle: Any) -> Any:
    signs = ops.stop_gradient(ops.sign(ops.diagonal(triangle, axis1=-2, axis2=-1)))
    return basis * ops.expand_dims(signs, -2), triangle * ops.expand_dims(signs, -1)


def _rebuilt(values: Any, vectors: Any) -> Any:
    return values, ops.matmul(vectors * ops.expand_dims(ops.sin(values), -2), _t(vectors))


def _polar(x: Any) -> Any:
    left, _, right = ops.svd(x, full_matrices=False)
    return ops.matmul(left, right)


def _triangular(x: Any, y: Any, is_lower: bool, is_transposed: bool, is_unit: bool) -> Any:
    if is_unit or is_transposed:
        raise Unsupported("a triangle as it is")
    return ops.solve_triangular(x, y, lower=is_lower)


def _matrix_norm(x: Any, order: Any) -> Any:
    return ops.norm(x, ord={"inf": float("inf"), "-inf": float("-inf")}.get(order, order), axis=(-2, -1))


def _cosine(x: Any, y: Any, axis: int) -> Any:
    return -keras.losses.cosine_similarity(x, y, axis=axis)


def _distances(x: Any, y: Any, order: float) -> Any:
    if order != 2.0:
        raise Unsupported("Euclid's alone")
    return ops.cdist(x, y)


CALLS = {
    "matmul": {
        "keras.ops.matmul": None,
        "keras.ops.dot": None,
        "keras.ops.einsum": lambda x, y: ops.einsum("mk,kn->mn", x, y),
    },
    "matmul_of_transposes": {"keras.ops.matmul": _turned},
    "matmul_of_both_transposed": {
        "keras.ops.matmul": lambda x, y: ops.matmul(ops.transpose(x), ops.transpose(y)),
        "keras.ops.einsum": lambda x, y: ops.einsum("km,nk->mn", x, y),
    },
    "matmul_of_batches": {
        "keras.ops.matmul": None,
        "keras.layers.Dot": _dot_layer,
        "keras.ops.einsum": lambda x, y: ops.einsum("bmk,bkn->bmn", x, y),
    },
    "matmul_broadcast": {"keras.ops.matmul": None},
    "matvec": {"keras.ops.matmul": None, "keras.ops.dot": None},
    "vecmat": {"keras.ops.matmul": None, "keras.ops.dot": None},
    "dot": {"keras.ops.dot": None, "keras.ops.vdot": None, "keras.ops.inner": None},
    "inner": {"keras.ops.inner": None},
    "outer": {"keras.ops.outer": None},
    "dot_of_arrays": {"keras.ops.dot": None},
    "tensordot": {"keras.ops.tensordot": lambda x, y, axes: ops.tensordot(x, y, axes=axes)},
    "einsum": {"keras.ops.einsum": lambda x, y, equation: ops.einsum(equation, x, y)},
    "einsum_of_one": {"keras.ops.einsum": lambda x, equation: ops.einsum(equation, x)},
    "einsum_of_heads": {"keras.ops.einsum": lambda x, y, equation: ops.einsum(equation, x, y)},
    "einsum_of_three": {"keras.ops.einsum": lambda x, y, z: ops.einsum("ij,jk,kl->il", x, y, z)},
    "linear": {"keras.layers.Dense": _dense, "keras.layers.EinsumDense": _einsum_linear},
    "linear_without_bias": {"keras.layers.Dense": _dense},
    "linear_of_axes": {"keras.layers.EinsumDense": _axes_dense},
    "linear_to_heads": {"keras.layers.EinsumDense": _einsum_dense},
    "kron": {"keras.ops.kron": None},
    "cross": {"keras.ops.cross": None},
    "trace": {"keras.ops.trace": None},
    "trace_of_batches": {"keras.ops.trace": lambda x, offset: ops.trace(x, offset=offset, axis1=1, axis2=2)},
    "diagonal": {"keras.ops.diagonal": lambda x, offset: ops.diagonal(x, offset=offset, axis1=1, axis2=2)},
    "diag": {
        "keras.ops.diag": lambda x, offset: ops.diag(x, k=offset),
        "keras.ops.diagflat": lambda x, offset: ops.diagflat(x, k=offset),
    },
    "tril": {"keras.ops.tril": lambda x, offset: ops.tril(x, k=offset)},
    "triu": {"keras.ops.triu": lambda x, offset: ops.triu(x, k=offset)},
    "vander": {"keras.ops.vander": lambda x, is_increasing: ops.vander(x, 5, increasing=is_increasing)},
    "cdist": {"keras.ops.cdist": _distances},
    "cosine_similarity": {"keras.losses.cosine_similarity": _cosine},
    "matrix_norm": {"keras.ops.norm": _matrix_norm},
    "matrix_rank": {"keras.ops.matrix_rank": lambda x: ops.matrix_rank(x, 0.1)},
    "det": {"keras.ops.det": None},
    "slogdet": {"keras.ops.slogdet": lambda x: tuple(ops.slogdet(x))},
    "logdet": {"keras.ops.logdet": _of_symmetric(ops.logdet)},
    "inv": {"keras.ops.inv": None, "keras.ops.pinv": None},
    "solve": {"keras.ops.solve": None},
    "solve_for_a_vector": {"keras.ops.solve": None},
    "triangular_solve": {"keras.ops.solve_triangular": _triangular},
    "cholesky": {"keras.ops.cholesky": _of_symmetric(ops.cholesky)},
    "cholesky_upper": {"keras.ops.cholesky": lambda x: ops.cholesky(_symmetric(x), upper=True)},
    "cholesky_inverse": {
        "keras.ops.cholesky_inverse": lambda x: ops.cholesky_inverse(ops.tril(x)),
        "keras.ops.cholesky_inverse (upper)": lambda x: ops.cholesky_inverse(_t(ops.tril(x)), upper=True),
    },
    "qr": {"keras.ops.qr": lambda x: _signed(*ops.qr(x))},
    "svdvals": {"keras.ops.svd": lambda x: ops.svd(x, compute_uv=False)},
    "svd": {"keras.ops.svd": _polar},
    "eigh": {"keras.ops.eigh": lambda x: _rebuilt(*ops.eigh(_symmetric(x)))},
    "pinv": {"keras.ops.pinv": None},
    "lstsq": {"keras.ops.lstsq": None},
}

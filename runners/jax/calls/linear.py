"""JAX: products, layers that are one product, distances, decompositions."""

from __future__ import annotations

from typing import Any

import flax.linen as linen
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import optax
from flax import nnx
from jax import lax


def _symmetric(x: Any) -> Any:
    return x + x.mT


def _of_symmetric(function: Any) -> Any:
    return lambda x: function(_symmetric(x))


def _dot_general(x: Any, y: Any) -> Any:
    batch = tuple(range(x.ndim - 2))
    return lax.dot_general(x, y, (((x.ndim - 1,), (y.ndim - 2,)), (batch, batch)))


def _dot_general_wide(x: Any, y: Any) -> Any:
    batch = tuple(range(x.ndim - 2))
    kind = jnp.promote_types(x.dtype, jnp.float32)
    return lax.dot_general(x, y, (((x.ndim - 1,), (y.ndim - 2,)), (batch, batch)), preferred_element_type=kind)


def _wide(function: Any) -> Any:
    return lambda x, y: function(x, y, preferred_element_type=jnp.promote_types(x.dtype, jnp.float32))


def _highest(function: Any) -> Any:
    return lambda x, y: function(x, y, precision=lax.Precision.HIGHEST)


def _turned(x: Any, y: Any, form: str) -> Any:
    return jnp.matmul(x.T if form[0] == "t" else x, y.T if form[1] == "t" else y)


def _turned_dot_general(x: Any, y: Any, form: str) -> Any:
    return lax.dot_general(x, y, (((0 if form[0] == "t" else 1,), (1 if form[1] == "t" else 0,)), ((), ())))


def _axes(axes: Any) -> Any:
    return axes if isinstance(axes, int) else tuple(tuple(each) for each in axes)


def _weights(kernel: Any, bias: Any) -> dict[str, Any]:
    return {"kernel": kernel} if bias is None else {"kernel": kernel, "bias": bias}


def _dense(x: Any, weight: Any, bias: Any = None) -> Any:
    layer = linen.Dense(weight.shape[0], use_bias=bias is not None)
    return layer.apply({"params": _weights(weight.T, bias)}, x)


def _with(layer: Any, **weights: Any) -> Any:
    """Return a layer of nnx with given weights."""
    graph, state = nnx.split(layer)
    for name, value in weights.items():
        if value is not None:
            state[name] = nnx.Param(value)
    return nnx.merge(graph, state)


def _nnx_linear(x: Any, weight: Any, bias: Any = None) -> Any:
    layer = nnx.Linear(weight.shape[1], weight.shape[0], use_bias=bias is not None, rngs=nnx.Rngs(0))
    return _with(layer, kernel=weight.T, bias=bias)(x)


def _dense_general(x: Any, weight: Any, bias: Any) -> Any:
    layer = linen.DenseGeneral(weight.shape[2:], axis=(-2, -1))
    return layer.apply({"params": {"kernel": weight, "bias": bias}}, x)


def _nnx_general(x: Any, weight: Any, bias: Any) -> Any:
    layer = nnx.LinearGeneral(weight.shape[:2], weight.shape[2:], axis=(-2, -1), rngs=nnx.Rngs(0))
    return _with(layer, kernel=weight, bias=bias)(x)


def _linen_heads(x: Any, weight: Any, bias: Any) -> Any:
    layer = linen.DenseGeneral(weight.shape[1:], axis=-1)
    return layer.apply({"params": {"kernel": weight, "bias": bias}}, x)


def _nnx_heads(x: Any, weight: Any, bias: Any) -> Any:
    layer = nnx.LinearGeneral(weight.shape[0], weight.shape[1:], axis=-1, rngs=nnx.Rngs(0))
    return _with(layer, kernel=weight, bias=bias)(x)


def _linen_einsum(x: Any, weight: Any, bias: Any) -> Any:
    layer = linen.Einsum(weight.shape, "bmk,khn->bmhn")
    return layer.apply({"params": {"kernel": weight, "bias": bias}}, x)


def _nnx_einsum(x: Any, weight: Any, bias: Any) -> Any:
    layer = nnx.Einsum("bmk,khn->bmhn", weight.shape, bias.shape, rngs=nnx.Rngs(0))
    return _with(layer, kernel=weight, bias=bias)(x)


def _signed(basis: Any, triangle: Any) -> Any:
    signs = lax.stop_gradient(jnp.sign(jnp.diagonal(triangle, axis1=-2, axis2=-1)))
    return basis * signs[..., None, :], triangle * signs[..., None]


def _rebuilt(values: Any, vectors: Any) -> Any:
    return values, (vectors * jnp.sin(values)[..., None, :]) @ vectors.mT


def _scipy_triangular(x: Any, y: Any, is_lower: bool, is_transposed: bool, is_unit: bool) -> Any:
    return jsl.solve_triangular(x, y, trans=int(is_transposed), lower=is_lower, unit_diagonal=is_unit)


def _lax_triangular(x: Any, y: Any, is_lower: bool, is_transposed: bool, is_unit: bool) -> Any:
    return lax.linalg.triangular_solve(x, y, left_side=True, lower=is_lower, transpose_a=is_transposed, unit_diagonal=is_unit)


def _named(order: Any) -> Any:
    return {"inf": jnp.inf, "-inf": -jnp.inf}.get(order, order)


def _tridiagonal(lower: Any, middle: Any, upper: Any, y: Any) -> Any:
    return lax.linalg.tridiagonal_solve(lower.at[0].set(0.0), middle, upper.at[-1].set(0.0), y)


def _sylvester(x: Any, y: Any, z: Any) -> Any:
    return jsl.solve_sylvester(x @ x.T, _symmetric(y), z)


def _from_lu(x: Any) -> Any:
    return tuple(jax.vmap(jsl.lu)(x))


def _cosine(x: Any, y: Any, axis: int) -> Any:
    if axis == 0:
        x, y = x.T, y.T
    return optax.losses.cosine_similarity(x, y)


CALLS = {
    "matmul": {
        "jax.numpy.matmul": None,
        "jax.numpy.matmul (float32 sums)": _wide(jnp.matmul),
        "jax.numpy.matmul (highest)": _highest(jnp.matmul),
        "jax.numpy.dot": None,
        "jax.numpy.linalg.matmul": None,
        "jax.numpy.einsum": lambda x, y: jnp.einsum("mk,kn->mn", x, y),
        "jax.lax.dot": None,
        "jax.lax.dot_general": _dot_general,
        "jax.lax.dot_general (float32 sums)": _dot_general_wide,
    },
    "matmul_of_transposes": {"jax.numpy.matmul": _turned, "jax.lax.dot_general": _turned_dot_general},
    "matmul_of_both_transposed": {
        "jax.numpy.matmul": lambda x, y: jnp.matmul(x.T, y.T),
        "jax.numpy.einsum": lambda x, y: jnp.einsum("km,nk->mn", x, y),
    },
    "matmul_of_batches": {
        "jax.numpy.matmul": None,
        "jax.lax.batch_matmul": None,
        "jax.lax.dot_general": _dot_general,
        "jax.lax.dot_general (float32 sums)": _dot_general_wide,
        "jax.numpy.einsum": lambda x, y: jnp.einsum("bmk,bkn->bmn", x, y),
    },
    "matmul_broadcast": {"jax.numpy.matmul": None},
    "matvec": {"jax.numpy.matmul": None, "jax.numpy.matvec": None, "jax.lax.dot": None},
    "vecmat": {"jax.numpy.matmul": None, "jax.numpy.vecmat": None},
    "dot": {
        "jax.numpy.dot": None,
        "jax.numpy.vdot": None,
        "jax.numpy.inner": None,
        "jax.numpy.vecdot": None,
        "jax.numpy.linalg.vecdot": None,
        "jax.lax.dot": None,
    },
    "vecdot": {
        "jax.numpy.vecdot": lambda x, y, axis: jnp.vecdot(x, y, axis=axis),
        "jax.numpy.linalg.vecdot": lambda x, y, axis: jnp.linalg.vecdot(x, y, axis=axis),
    },
    "inner": {"jax.numpy.inner": None},
    "outer": {"jax.numpy.outer": None, "jax.numpy.linalg.outer": None},
    "dot_of_arrays": {"jax.numpy.dot": None},
    "tensordot": {
        "jax.numpy.tensordot": lambda x, y, axes: jnp.tensordot(x, y, axes=_axes(axes)),
        "jax.numpy.linalg.tensordot": lambda x, y, axes: jnp.linalg.tensordot(x, y, axes=_axes(axes)),
    },
    "einsum": {"jax.numpy.einsum": lambda x, y, equation: jnp.einsum(equation, x, y)},
    "einsum_of_one": {"jax.numpy.einsum": lambda x, equation: jnp.einsum(equation, x)},
    "einsum_of_heads": {"jax.numpy.einsum": lambda x, y, equation: jnp.einsum(equation, x, y)},
    "einsum_of_three": {
        "jax.numpy.einsum": lambda x, y, z: jnp.einsum("ij,jk,kl->il", x, y, z),
        "jax.numpy.linalg.multi_dot": lambda x, y, z: jnp.linalg.multi_dot([x, y, z]),
    },
    "multi_dot": {"jax.numpy.linalg.multi_dot": lambda x, y, z, vector: jnp.linalg.multi_dot([x, y, z, vector])},
    "linear": {"flax.linen.Dense": _dense, "flax.nnx.Linear": _nnx_linear},
    "linear_without_bias": {"flax.linen.Dense": _dense, "flax.nnx.Linear": _nnx_linear},
    "linear_of_axes": {"flax.linen.DenseGeneral": _dense_general, "flax.nnx.LinearGeneral": _nnx_general},
    "linear_to_heads": {
        "flax.linen.DenseGeneral": _linen_heads,
        "flax.nnx.LinearGeneral": _nnx_heads,
        "flax.linen.Einsum": _linen_einsum,
        "flax.nnx.Einsum": _nnx_einsum,
    },
    "bilinear": {"jax.numpy.einsum": lambda x, y, weight, bias: jnp.einsum("bi,oij,bj->bo", x, weight, y) + bias},
    "ragged_dot": {"jax.lax.ragged_dot": None},
    "kron": {"jax.numpy.kron": None},
    "cross": {"jax.numpy.cross": None, "jax.numpy.linalg.cross": None},
    "trace": {"jax.numpy.trace": None, "jax.numpy.linalg.trace": None},
    "trace_of_batches": {
        "jax.numpy.trace": lambda x, offset: jnp.trace(x, offset, 1, 2),
        "jax.numpy.linalg.trace": lambda x, offset: jnp.linalg.trace(x, offset=offset),
    },
    "diagonal": {
        "jax.numpy.diagonal": lambda x, offset: jnp.diagonal(x, offset, 1, 2),
        "jax.numpy.linalg.diagonal": lambda x, offset: jnp.linalg.diagonal(x, offset=offset),
    },
    "diag": {
        "jax.numpy.diag": lambda x, offset: jnp.diag(x, offset),
        "jax.numpy.diagflat": lambda x, offset: jnp.diagflat(x, offset),
    },
    "tril": {"jax.numpy.tril": lambda x, offset: jnp.tril(x, offset)},
    "triu": {"jax.numpy.triu": lambda x, offset: jnp.triu(x, offset)},
    "vander": {"jax.numpy.vander": lambda x, is_increasing: jnp.vander(x, 5, increasing=is_increasing)},
    "block_diag": {"jax.scipy.linalg.block_diag": None},
    "toeplitz": {"jax.scipy.linalg.toeplitz": None},
    "circulant": {"jax.scipy.linalg.circulant": None},
    "cosine_similarity": {"optax.losses.cosine_similarity": _cosine},
    "matrix_norm": {
        "jax.numpy.linalg.matrix_norm": lambda x, order: jnp.linalg.matrix_norm(x, ord=_named(order)),
        "jax.numpy.linalg.norm": lambda x, order: jnp.linalg.norm(x, ord=_named(order), axis=(-2, -1)),
    },
    "cond": {"jax.numpy.linalg.cond": lambda x, order: jnp.linalg.cond(x, _named(order))},
    "matrix_rank": {"jax.numpy.linalg.matrix_rank": lambda x: jnp.linalg.matrix_rank(x, 0.1)},
    "det": {"jax.numpy.linalg.det": None, "jax.scipy.linalg.det": None},
    "slogdet": {"jax.numpy.linalg.slogdet": lambda x: tuple(jnp.linalg.slogdet(x))},
    "inv": {"jax.numpy.linalg.inv": None, "jax.scipy.linalg.inv": None, "jax.numpy.linalg.pinv": None},
    "solve": {
        "jax.numpy.linalg.solve": None,
        "jax.scipy.linalg.solve": None,
        "jax.scipy.linalg.lu_solve": lambda x, y: jax.vmap(lambda one, other: jsl.lu_solve(jsl.lu_factor(one), other))(x, y),
    },
    "solve_for_a_vector": {"jax.numpy.linalg.solve": None, "jax.scipy.linalg.solve": None},
    "triangular_solve": {
        "jax.scipy.linalg.solve_triangular": _scipy_triangular,
        "jax.lax.linalg.triangular_solve": _lax_triangular,
    },
    "cholesky": {
        "jax.numpy.linalg.cholesky": _of_symmetric(jnp.linalg.cholesky),
        "jax.scipy.linalg.cholesky": lambda x: jsl.cholesky(_symmetric(x), lower=True),
        "jax.lax.linalg.cholesky": _of_symmetric(lax.linalg.cholesky),
    },
    "cholesky_upper": {
        "jax.numpy.linalg.cholesky": lambda x: jnp.linalg.cholesky(_symmetric(x), upper=True),
        "jax.scipy.linalg.cholesky": _of_symmetric(jsl.cholesky),
    },
    "cholesky_solve": {
        "jax.scipy.linalg.cho_solve": lambda x, y: jsl.cho_solve((jnp.tril(x), True), y),
        "jax.scipy.linalg.cho_solve (upper)": lambda x, y: jsl.cho_solve((jnp.tril(x).mT, False), y),
    },
    "qr": {
        "jax.numpy.linalg.qr": lambda x: _signed(*jnp.linalg.qr(x)),
        "jax.scipy.linalg.qr": lambda x: _signed(*jsl.qr(x, mode="economic")),
        "jax.lax.linalg.qr": lambda x: _signed(*lax.linalg.qr(x, full_matrices=False)),
    },
    "svdvals": {
        "jax.numpy.linalg.svdvals": None,
        "jax.numpy.linalg.svd": lambda x: jnp.linalg.svd(x, compute_uv=False),
        "jax.scipy.linalg.svd": lambda x: jsl.svd(x, full_matrices=False)[1],
    },
    "svd": {"jax.numpy.linalg.svd": lambda x: jnp.matmul(*jnp.linalg.svd(x, full_matrices=False)[::2])},
    "eigvalsh": {
        "jax.numpy.linalg.eigvalsh": _of_symmetric(jnp.linalg.eigvalsh),
        "jax.scipy.linalg.eigh": lambda x: jsl.eigh(_symmetric(x), eigvals_only=True),
    },
    "eigh": {
        "jax.numpy.linalg.eigh": lambda x: _rebuilt(*jnp.linalg.eigh(_symmetric(x))),
        "jax.scipy.linalg.eigh": lambda x: _rebuilt(*jsl.eigh(_symmetric(x))),
        "jax.lax.linalg.eigh": lambda x: _rebuilt(*lax.linalg.eigh(_symmetric(x))[::-1]),
    },
    "pinv": {"jax.numpy.linalg.pinv": None},
    "lstsq": {"jax.numpy.linalg.lstsq": lambda x, y: jnp.linalg.lstsq(x, y)[0]},
    "matrix_power": {"jax.numpy.linalg.matrix_power": lambda x, power: jnp.linalg.matrix_power(x, power)},
    "expm": {"jax.scipy.linalg.expm": None},
    "expm_of_large_norm": {"jax.scipy.linalg.expm": None},
    "sqrtm": {"jax.scipy.linalg.sqrtm": lambda x: jsl.sqrtm(_symmetric(x)).real},
    "lu": {"jax.scipy.linalg.lu": _from_lu},
    "eigh_tridiagonal": {
        "jax.scipy.linalg.eigh_tridiagonal": lambda middle, beside: jsl.eigh_tridiagonal(middle, beside[:-1], eigvals_only=True)
    },
    "tridiagonal_solve": {"jax.lax.linalg.tridiagonal_solve": _tridiagonal},
    "solve_sylvester": {"jax.scipy.linalg.solve_sylvester": _sylvester},
    "tensorsolve": {"jax.numpy.linalg.tensorsolve": None},
    "tensorinv": {"jax.numpy.linalg.tensorinv": lambda x: jnp.linalg.tensorinv(x, ind=2)},
    "polyval": {"jax.numpy.polyval": None},
}

"""PyTorch: products, layers that are one product, distances, decompositions."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from runners.contract.errors import Unsupported


def _symmetric(x: Any) -> Any:
    return x + x.mT


def _twice(x: Any) -> Any:
    return torch.repeat_interleave(x, 2, dim=-1)


def _of_symmetric(function: Any) -> Any:
    return lambda x: function(_symmetric(x))


def _layer(module: type[nn.Module], x: tuple[Any, ...], sizes: tuple[int, ...], **weights: Any) -> Any:
    """Return what a layer with given weights gives."""
    return functional_call(module(*sizes, bias="bias" in weights), weights, x)


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    weights = {"weight": weight} if bias is None else {"weight": weight, "bias": bias}
    return _layer(nn.Linear, (x,), (weight.shape[1], weight.shape[0]), **weights)


def _bilinear(x: Any, y: Any, weight: Any, bias: Any) -> Any:
    return _layer(nn.Bilinear, (x, y), (weight.shape[1], weight.shape[2], weight.shape[0]), weight=weight, bias=bias)


def _turned(form: str, x: Any, y: Any) -> Any:
    return torch.matmul(x.mT if form[0] == "t" else x, y.mT if form[1] == "t" else y)


def _turned_mm(form: str, x: Any, y: Any) -> Any:
    return torch.mm(x.t() if form[0] == "t" else x, y.t() if form[1] == "t" else y)


def _signed(basis: Any, triangle: Any) -> Any:
    signs = torch.sign(torch.diagonal(triangle, dim1=-2, dim2=-1)).detach()
    return basis * signs[..., None, :], triangle * signs[..., None]


def _polar(left: Any, right: Any) -> Any:
    return left @ right


def _eigh(x: Any) -> Any:
    values, vectors = torch.linalg.eigh(_symmetric(x))
    return values, (vectors * torch.sin(values)[..., None, :]) @ vectors.mT


def _triangular(x: Any, y: Any, is_lower: bool, is_transposed: bool, is_unit: bool) -> Any:
    given, upper = (x.mT, is_lower) if is_transposed else (x, not is_lower)
    return torch.linalg.solve_triangular(given, y, upper=upper, unitriangular=is_unit)


def _old_triangular(x: Any, y: Any, is_lower: bool, is_transposed: bool, is_unit: bool) -> Any:
    return torch.triangular_solve(y, x, upper=not is_lower, transpose=is_transposed, unitriangular=is_unit).solution


_NAMED = {"inf": float("inf"), "-inf": -float("inf")}


def _matrix_norm(x: Any, order: Any) -> Any:
    return torch.linalg.matrix_norm(x, _NAMED.get(order, order))


def _norm(x: Any, order: Any) -> Any:
    return torch.linalg.norm(x, _NAMED.get(order, order), dim=(-2, -1))


def _trace(x: Any, offset: int) -> Any:
    return torch.diagonal(x, offset, 1, 2).sum(-1)


def _vander(x: Any, is_increasing: bool) -> Any:
    if not is_increasing:
        raise Unsupported("rising powers alone")
    return torch.linalg.vander(x, N=5)


def _dot_of_last(x: Any, y: Any, axis: int) -> Any:
    return torch.linalg.vecdot(x, y, dim=axis)


def _vector_distance(x: Any, y: Any, order: float, keepdims: bool) -> Any:
    return F.pairwise_distance(x, y, p=order, keepdim=keepdims)


CALLS = {
    "matmul": {
        "torch.matmul": None,
        "torch.mm": None,
        "torch.linalg.matmul": None,
        "torch.einsum": lambda x, y: torch.einsum("mk,kn->mn", x, y),
        "torch.chain_matmul": None,
    },
    "matmul_of_transposes": {
        "torch.matmul": lambda x, y, form: _turned(form, x, y),
        "torch.mm": lambda x, y, form: _turned_mm(form, x, y),
    },
    "matmul_of_both_transposed": {
        "torch.matmul": lambda x, y: torch.matmul(x.T, y.T),
        "torch.einsum": lambda x, y: torch.einsum("km,nk->mn", x, y),
    },
    "matmul_of_batches": {
        "torch.matmul": None,
        "torch.bmm": None,
        "torch.einsum": lambda x, y: torch.einsum("bmk,bkn->bmn", x, y),
    },
    "matmul_broadcast": {"torch.matmul": None, "torch.linalg.matmul": None},
    "matvec": {"torch.matmul": None, "torch.mv": None},
    "vecmat": {"torch.matmul": None},
    "dot": {"torch.dot": None, "torch.vdot": None, "torch.inner": None, "torch.matmul": None, "torch.linalg.vecdot": None},
    "vecdot": {"torch.linalg.vecdot": _dot_of_last},
    "inner": {"torch.inner": None},
    "outer": {"torch.outer": None, "torch.ger": None},
    "tensordot": {"torch.tensordot": lambda x, y, axes: torch.tensordot(x, y, dims=axes)},
    "einsum": {"torch.einsum": lambda x, y, equation: torch.einsum(equation, x, y)},
    "einsum_of_one": {"torch.einsum": lambda x, equation: torch.einsum(equation, x)},
    "einsum_of_heads": {"torch.einsum": lambda x, y, equation: torch.einsum(equation, x, y)},
    "einsum_of_three": {
        "torch.einsum": lambda x, y, z: torch.einsum("ij,jk,kl->il", x, y, z),
        "torch.linalg.multi_dot": lambda x, y, z: torch.linalg.multi_dot([x, y, z]),
        "torch.chain_matmul": None,
    },
    "multi_dot": {"torch.linalg.multi_dot": lambda x, y, z, vector: torch.linalg.multi_dot([x, y, z, vector])},
    "linear": {"torch.nn.functional.linear": lambda x, weight, bias: F.linear(x, weight, bias), "torch.nn.Linear": _linear},
    "linear_without_bias": {"torch.nn.functional.linear": lambda x, weight: F.linear(x, weight), "torch.nn.Linear": _linear},
    "bilinear": {
        "torch.nn.functional.bilinear": lambda x, y, weight, bias: F.bilinear(x, y, weight, bias),
        "torch.nn.Bilinear": _bilinear,
    },
    "addmm": {"torch.addmm": None},
    "addmv": {"torch.addmv": None},
    "addr": {"torch.addr": None},
    "baddbmm": {"torch.baddbmm": None},
    "addbmm": {"torch.addbmm": None},
    "addcmul": {"torch.addcmul": None},
    "addcdiv": {"torch.addcdiv": None},
    "kron": {"torch.kron": None},
    "cross": {"torch.cross": lambda x, y: torch.cross(x, y, dim=-1), "torch.linalg.cross": None},
    "trace": {"torch.trace": None},
    "diagonal": {
        "torch.diagonal": lambda x, offset: torch.diagonal(x, offset, 1, 2),
        "torch.linalg.diagonal": lambda x, offset: torch.linalg.diagonal(x, offset=offset),
    },
    "trace_of_batches": {"torch.diagonal": _trace},
    "diag": {
        "torch.diag": lambda x, offset: torch.diag(x, offset),
        "torch.diag_embed": lambda x, offset: torch.diag_embed(x, offset),
        "torch.diagflat": lambda x, offset: torch.diagflat(x, offset),
    },
    "diag_embed": {"torch.diag_embed": lambda x, offset: torch.diag_embed(x, offset)},
    "tril": {"torch.tril": lambda x, offset: torch.tril(x, offset)},
    "triu": {"torch.triu": lambda x, offset: torch.triu(x, offset)},
    "vander": {
        "torch.vander": lambda x, is_increasing: torch.vander(x, 5, increasing=is_increasing),
        "torch.linalg.vander": _vander,
    },
    "block_diag": {"torch.block_diag": None},
    "cdist": {
        "torch.cdist": lambda x, y, order: torch.cdist(x, y, p=_NAMED.get(order, order)),
        "torch.cdist (without products)": lambda x, y, order: torch.cdist(
            x, y, p=_NAMED.get(order, order), compute_mode="donot_use_mm_for_euclid_dist"
        ),
        "torch.cdist (by products)": lambda x, y, order: torch.cdist(
            x, y, p=_NAMED.get(order, order), compute_mode="use_mm_for_euclid_dist"
        ),
    },
    "cdist_of_equals": {"torch.cdist": lambda x, y: torch.cdist(_twice(x), _twice(y), p=float("inf"))},
    "pdist": {
        "torch.nn.functional.pdist": lambda x, order: F.pdist(x, _NAMED.get(order, order)),
        "torch.pdist": lambda x, order: torch.pdist(x, _NAMED.get(order, order)),
    },
    "pdist_of_equals": {
        "torch.nn.functional.pdist": lambda x: F.pdist(_twice(x), float("inf")),
        "torch.pdist": lambda x: torch.pdist(_twice(x), float("inf")),
    },
    "pairwise_distance": {
        "torch.nn.functional.pairwise_distance": _vector_distance,
        "torch.nn.PairwiseDistance": lambda x, y, order, keepdims: nn.PairwiseDistance(order, keepdim=keepdims)(x, y),
    },
    "cosine_similarity": {
        "torch.nn.functional.cosine_similarity": lambda x, y, axis: F.cosine_similarity(x, y, dim=axis),
        "torch.nn.CosineSimilarity": lambda x, y, axis: nn.CosineSimilarity(dim=axis)(x, y),
        "torch.cosine_similarity": lambda x, y, axis: torch.cosine_similarity(x, y, dim=axis),
    },
    "matrix_norm": {"torch.linalg.matrix_norm": _matrix_norm, "torch.linalg.norm": _norm},
    "cond": {"torch.linalg.cond": lambda x, order: torch.linalg.cond(x, _NAMED.get(order, order))},
    "matrix_rank": {"torch.linalg.matrix_rank": lambda x: torch.linalg.matrix_rank(x, atol=0.1, rtol=0.0)},
    "det": {"torch.linalg.det": None, "torch.det": None},
    "slogdet": {
        "torch.linalg.slogdet": lambda x: tuple(torch.linalg.slogdet(x)),
        "torch.slogdet": lambda x: tuple(torch.slogdet(x)),
    },
    "logdet": {"torch.logdet": _of_symmetric(torch.logdet)},
    "inv": {
        "torch.linalg.inv": None,
        "torch.inverse": None,
        "torch.linalg.inv_ex": lambda x: torch.linalg.inv_ex(x).inverse,
        "torch.linalg.pinv": None,
    },
    "solve": {
        "torch.linalg.solve": None,
        "torch.linalg.solve_ex": lambda x, y: torch.linalg.solve_ex(x, y).result,
        "torch.linalg.lu_solve": lambda x, y: torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y),
        "torch.lu_solve": lambda x, y: torch.lu_solve(y, *torch.linalg.lu_factor(x)),
        "torch.linalg.solve (from the right)": lambda x, y: torch.linalg.solve(x.mT, y.mT, left=False).mT,
    },
    "solve_for_a_vector": {"torch.linalg.solve": None},
    "triangular_solve": {"torch.linalg.solve_triangular": _triangular, "torch.triangular_solve": _old_triangular},
    "cholesky": {
        "torch.linalg.cholesky": _of_symmetric(torch.linalg.cholesky),
        "torch.cholesky": _of_symmetric(torch.cholesky),
        "torch.linalg.cholesky_ex": lambda x: torch.linalg.cholesky_ex(_symmetric(x)).L,
    },
    "cholesky_upper": {
        "torch.linalg.cholesky": lambda x: torch.linalg.cholesky(_symmetric(x), upper=True),
        "torch.cholesky": lambda x: torch.cholesky(_symmetric(x), upper=True),
    },
    "cholesky_solve": {
        "torch.cholesky_solve": lambda x, y: torch.cholesky_solve(y, torch.tril(x)),
        "torch.cholesky_solve (upper)": lambda x, y: torch.cholesky_solve(y, torch.tril(x).mT, upper=True),
    },
    "cholesky_inverse": {
        "torch.cholesky_inverse": lambda x: torch.cholesky_inverse(torch.tril(x)),
        "torch.cholesky_inverse (upper)": lambda x: torch.cholesky_inverse(torch.tril(x).mT, upper=True),
    },
    "qr": {
        "torch.linalg.qr": lambda x: _signed(*torch.linalg.qr(x)),
        "torch.qr": lambda x: _signed(*torch.qr(x)),
    },
    "svdvals": {"torch.linalg.svdvals": None, "torch.linalg.svd": lambda x: torch.linalg.svd(x, full_matrices=False).S},
    "svd": {
        "torch.linalg.svd": lambda x: _polar(*torch.linalg.svd(x, full_matrices=False)[::2]),
        "torch.svd": lambda x: _polar(torch.svd(x).U, torch.svd(x).V.mT),
    },
    "eigvalsh": {"torch.linalg.eigvalsh": _of_symmetric(torch.linalg.eigvalsh)},
    "eigh": {"torch.linalg.eigh": _eigh},
    "pinv": {"torch.linalg.pinv": None, "torch.pinverse": None},
    "lstsq": {"torch.linalg.lstsq": lambda x, y: torch.linalg.lstsq(x, y).solution},
    "matrix_power": {
        "torch.linalg.matrix_power": lambda x, power: torch.linalg.matrix_power(x, power),
        "torch.matrix_power": lambda x, power: torch.matrix_power(x, power),
    },
    "expm": {"torch.linalg.matrix_exp": None, "torch.matrix_exp": None},
    "expm_of_large_norm": {"torch.linalg.matrix_exp": None},
    "lu": {
        "torch.linalg.lu": lambda x: tuple(torch.linalg.lu(x)),
        "torch.lu_unpack": lambda x: tuple(torch.lu_unpack(*torch.linalg.lu_factor(x))),
    },
    "tensorsolve": {"torch.linalg.tensorsolve": None},
    "tensorinv": {"torch.linalg.tensorinv": None},
}

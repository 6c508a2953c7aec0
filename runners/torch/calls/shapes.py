"""PyTorch: what is made, shaped anew, repeated, and made of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.errors import Unsupported


def _only(value: float, wanted: float) -> None:
    if value != wanted:
        raise Unsupported(f"value: fills with {wanted} alone.")


def _filled_with(make: Callable[..., Any], wanted: float) -> Callable[..., Any]:
    def call(x: Any, value: float) -> Any:
        _only(value, wanted)
        return make(x)

    return call


def _kind(like: Any) -> dict[str, Any]:
    return {"dtype": like.dtype}


def _eye(like: Any, rows: int, columns: int, above: int) -> Any:
    if above:
        raise Unsupported("above: the main diagonal alone.")
    return torch.eye(rows, columns, dtype=like.dtype)


def _padded(x: Any, count: int) -> Any:
    return F.pad(x, (0, count - len(x)), value=-1)


def _unique(x: Any) -> Any:
    return _padded(torch.unique(x), len(x))


def _unique_counts(x: Any) -> Any:
    return tuple(_padded(each, len(x)) for each in torch.unique(x, return_counts=True))


def _complex(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        found = function(torch.complex(x, y))
        return found.real, found.imag

    return call


def _square(x: Any, y: Any) -> Any:
    found = torch.square(torch.complex(x, y))
    return torch.real(found), torch.imag(found)


def _viewed(x: Any, y: Any) -> Any:
    found = torch.view_as_real(torch.square(torch.view_as_complex(torch.stack([x, y], -1))))
    return found[..., 0], found[..., 1]


def _copied_view(x: Any, y: Any) -> Any:
    found = torch.view_as_real_copy(torch.square(torch.view_as_complex_copy(torch.stack([x, y], -1))))
    return found[..., 0], found[..., 1]


def _polar(x: Any, y: Any) -> Any:
    found = torch.polar(x, y)
    return found.real, found.imag


def _range(like: Any, start: float, stop: float, step: float) -> Any:
    """Return `torch.range`, which has its end, without it."""
    return torch.range(start, stop, step, dtype=like.dtype)[:-1]


def _extract(x: Any, which: Any) -> Any:
    return torch.masked_select(x, which)


def _compressed(x: Any, which: Any) -> Any:
    return torch.index_select(x, 1, torch.nonzero(which)[:, 0])


def _branch(x: Any, which: Any) -> Any:
    return torch.cond(which[0] == 0, torch.sin, torch.square, (x,))


def _initialized(function: Callable[..., Any], wanted: float | None = None) -> Callable[..., Any]:
    def call(x: Any, value: float) -> Any:
        if wanted is None:
            return function(torch.empty_like(x), value)
        _only(value, wanted)
        return function(torch.empty_like(x))

    return call


_SELF = {"torch.clone": None, "torch.alias_copy": None, "torch.resolve_conj": None, "torch.resolve_neg": None,
         "torch.positive": None, "torch.real": None, "torch.conj": None, "torch.conj_physical": None,
         "torch.atleast_2d": None}  # fmt: skip

CALLS: dict[str, dict[str, Any]] = {
    "copy": _SELF
    | {
        "torch.view_copy": lambda x: torch.view_copy(x, x.shape),
        "torch.expand_copy": lambda x: torch.expand_copy(x, x.shape),
        "torch.slice_copy": lambda x: torch.slice_copy(x, 0, 0, len(x), 1),
    },
    "copy_without_gradient": {
        "torch.detach": None,
        "torch.detach_copy": None,
        "torch.asarray": None,
        "torch.as_tensor": None,
        "torch.from_numpy": lambda x: torch.from_numpy(x.double().numpy().copy()).to(x.dtype),
        "torch.tensor": lambda x: torch.tensor(x.tolist(), dtype=x.dtype),
    },
    "expand_dims": {
        "torch.unsqueeze": lambda x, axis: torch.unsqueeze(x, axis),
        "torch.unsqueeze_copy": lambda x, axis: torch.unsqueeze_copy(x, axis),
    },
    "squeeze": {"torch.squeeze": lambda x: torch.squeeze(x, 1), "torch.squeeze_copy": lambda x: torch.squeeze_copy(x, 1)},
    "ravel": {"torch.ravel": None},
    "reshape": {"torch.reshape": lambda x: torch.reshape(x, (x.shape[1], 2, -1))},
    "matrix_transpose": {
        "torch.adjoint": None,
        "torch.transpose_copy": lambda x: torch.transpose_copy(x, -1, -2),
        "torch.swapdims": lambda x: torch.swapdims(x, -1, -2),
    },
    "transpose_of_matrix": {"torch.t": None, "torch.t_copy": None},
    "permuted": {"torch.permute_copy": lambda x: torch.permute_copy(x, (2, 0, 1))},
    "mirrored_rows": {"torch.flipud": None},
    "mirrored_columns": {"torch.fliplr": None},
    "broadcast_arrays": {"torch.broadcast_tensors": None},
    "at_a_place": {
        "torch.select": lambda x: torch.select(x, 0, 1),
        "torch.select_copy": lambda x: torch.select_copy(x, 0, 1),
    },
    "some_columns": {
        "torch.narrow": lambda x: torch.narrow(x, 1, 1, 3),
        "torch.narrow_copy": lambda x: torch.narrow_copy(x, 1, 1, 3),
        "torch.slice_copy": lambda x: torch.slice_copy(x, 1, 1, 4, 1),
    },
    "row_put_in": {"torch.select_scatter": lambda x, y: torch.select_scatter(x, y, 0, 1)},
    "columns_put_in": {
        "torch.slice_scatter": lambda x, y: torch.slice_scatter(x, y, 1, 1, 3, 1),
    },
    "diagonal_put_in": {"torch.diagonal_scatter": None},
    "diagonal_of": {"torch.diagonal_copy": None},
    "windows_of_rows": {"torch.unfold_copy": lambda x: torch.unfold_copy(x, 1, 3, 2)},
    "strided_view": {
        "torch.as_strided": lambda x: torch.as_strided(x.clone(memory_format=torch.contiguous_format), (3, 3), (1, 2), 1),
        "torch.as_strided_copy": lambda x: torch.as_strided_copy(
            x.clone(memory_format=torch.contiguous_format), (3, 3), (1, 2), 1
        ),
    },
    "vstack": {"torch.vstack": lambda x, y: torch.vstack((x, y)), "torch.row_stack": lambda x, y: torch.row_stack((x, y))},
    "hstack": {"torch.hstack": lambda x, y: torch.hstack((x, y))},
    "dstack": {"torch.dstack": lambda x, y: torch.dstack((x, y))},
    "column_stack": {"torch.column_stack": lambda x, y: torch.column_stack((x, y))},
    "halves": {
        "torch.hsplit": lambda x: torch.hsplit(x, 2),
        "torch.chunk": lambda x: torch.chunk(x, 2, 1),
        "torch.unsafe_chunk": lambda x: torch.unsafe_chunk(x, 2, 1),
        "torch.split_copy": lambda x: torch.split_copy(x, 3, 1),
        "torch.unsafe_split": lambda x: torch.unsafe_split(x, 3, 1),
    },
    "upper_and_lower": {"torch.vsplit": lambda x: torch.vsplit(x, 2)},
    "front_and_back": {"torch.dsplit": lambda x: torch.dsplit(x, 2)},
    "pieces_of_sizes": {
        "torch.split": lambda x: torch.split(x, [1, 3, 2], 1),
        "torch.split_with_sizes": lambda x: torch.split_with_sizes(x, [1, 3, 2], 1),
        "torch.split_with_sizes_copy": lambda x: torch.split_with_sizes_copy(x, [1, 3, 2], 1),
        "torch.unsafe_split_with_sizes": lambda x: torch.unsafe_split_with_sizes(x, [1, 3, 2], 1),
    },
    "unstack": {"torch.unbind": None, "torch.unbind_copy": None},
    "full": {
        "torch.full": lambda x, value: torch.full(x.shape, value, dtype=x.dtype),
        "torch.full_like": lambda x, value: torch.full_like(x, value),
        "torch.fill": lambda x, value: torch.fill(x, value),
        "torch.zeros": _filled_with(lambda x: torch.zeros(x.shape, dtype=x.dtype), 0.0),
        "torch.zeros_like": _filled_with(torch.zeros_like, 0.0),
        "torch.ones": _filled_with(lambda x: torch.ones(x.shape, dtype=x.dtype), 1.0),
        "torch.ones_like": _filled_with(torch.ones_like, 1.0),
        "torch.fill_": lambda x, value: torch.fill_(x.clone(), value),
        "torch.zero_": _filled_with(lambda x: torch.zero_(x.clone()), 0.0),
        "torch.nn.init.constant_": _initialized(nn.init.constant_),
        "torch.nn.init.zeros_": _initialized(nn.init.zeros_, 0.0),
        "torch.nn.init.ones_": _initialized(nn.init.ones_, 1.0),
    },
    "arange": {
        "torch.arange": lambda like, start, stop, step: torch.arange(start, stop, step, dtype=like.dtype),
        "torch.range": _range,
    },
    "linspace": {"torch.linspace": lambda like, start, stop, count: torch.linspace(start, stop, count, dtype=like.dtype)},
    "logspace": {"torch.logspace": lambda like, start, stop, count: torch.logspace(start, stop, count, dtype=like.dtype)},
    "eye": {"torch.eye": _eye},
    "identity_matrix": {"torch.eye": lambda like, count: torch.eye(count, dtype=like.dtype)},
    "tril_indices": {"torch.tril_indices": lambda like, above: torch.tril_indices(5, 4, above)},
    "triu_indices": {"torch.triu_indices": lambda like, above: torch.triu_indices(5, 4, above)},
    "unique": {"torch.unique": _unique},
    "unique_with_counts": {"torch.unique": _unique_counts},
    "unique_inverse": {"torch.unique": lambda x: torch.unique(x, return_inverse=True)[1]},
    "runs": {"torch.unique_consecutive": lambda x: _padded(torch.unique_consecutive(x), len(x))},
    "nonzero": {
        "torch.nonzero": None,
        "torch.argwhere": None,
        "torch.nonzero_static": lambda x: torch.nonzero_static(x, size=int(x.sum())),
    },
    "extract": {"torch.masked_select": _extract},
    "compress": {"torch.index_select": _compressed},
    "array_equal": {"torch.equal": lambda x, y: torch.tensor(torch.equal(x, y))},
    "array_equal_to_itself": {"torch.equal": lambda x: torch.tensor(torch.equal(x, x.clone()))},
    "allclose": {"torch.allclose": lambda x, y, by: torch.tensor(torch.allclose(x + by * y, x, rtol=0.0, atol=0.5) or by < 1.0)},
    "is_real": {"torch.isreal": None},
    "branch": {"torch.cond": _branch},
    "square_of_complex": {
        "torch.complex": _square,
        "torch.real": _square,
        "torch.imag": _square,
        "torch.view_as_real": _viewed,
        "torch.view_as_complex": _viewed,
    },
    "square_of_fixed_complex": {"torch.view_as_real_copy": _copied_view, "torch.view_as_complex_copy": _copied_view},
    "conjugate": {
        "torch.conj": _complex(torch.conj),
        "torch.conj_physical": _complex(torch.conj_physical),
        "torch.resolve_conj": _complex(lambda each: torch.resolve_conj(each.conj())),
        "torch.adjoint": _complex(lambda each: torch.adjoint(each[None, :])[:, 0]),
        "torch.conj_physical_": _complex(lambda each: torch.conj_physical_(each.clone())),
    },
    "angle": {"torch.angle": lambda x, y: torch.angle(torch.complex(x, y))},
    "sign_of_angle": {"torch.angle": None},
    "polar": {"torch.polar": _polar},
    "direction": {"torch.sgn": _complex(torch.sgn)},
}

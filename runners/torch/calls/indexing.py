"""PyTorch: what picks, places, orders and rearranges numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from runners.contract.errors import Unsupported


def _place(x: Any, places: Any, y: Any) -> Any:
    """Return places for each element of rows, as `scatter` takes them."""
    return places[:, None].expand(y.shape)


def _reduced(reduce: str) -> Any:
    return lambda x, places, y: torch.scatter_reduce(x, 0, _place(x, places, y), y, reduce)


def _index_reduced(reduce: str) -> Any:
    return lambda x, places, y: torch.index_reduce(x, 0, places, y, reduce)


def _segments(reduce: str, count: int, *, has_self: bool = False, start: float = 0.0) -> Any:
    def call(y: Any, ids: Any) -> Any:
        base = torch.full((count, y.shape[1]), start, dtype=y.dtype)
        return torch.scatter_reduce(base, 0, ids[:, None].expand(y.shape), y, reduce, include_self=has_self)

    return call


def _segments_by_index(y: Any, ids: Any) -> Any:
    return torch.index_add(torch.zeros((7, y.shape[1]), dtype=y.dtype), 0, ids, y)


def _of_lengths(y: Any, reduction: str) -> Any:
    lengths = torch.tensor([each for each in (1, 2, len(y) - 3) if each > 0])
    return torch.segment_reduce(y, reduction, lengths=lengths, axis=0)


def _sort(x: Any, axis: int, is_descending: bool) -> Any:
    return torch.sort(x, dim=axis, descending=is_descending).values


def _msort(x: Any, axis: int, is_descending: bool) -> Any:
    if axis != 0 or is_descending:
        raise Unsupported("rising along the first axis alone")
    return torch.msort(x)


def _argsort(x: Any, axis: int, is_descending: bool) -> Any:
    return torch.argsort(x, dim=axis, descending=is_descending)


def _top(x: Any, count: int) -> Any:
    return torch.topk(x, count).values


def _searchsorted(edges: Any, x: Any, side: str) -> Any:
    return torch.searchsorted(edges, x.contiguous(), side=side)


def _unfold_layer(x: Any, size: int, step: int) -> Any:
    return nn.Unfold((1, size), stride=(1, step))(x[:, None, None]).mT


def _one_limit(function: Any, *, is_low: bool) -> Any:
    def call(x: Any, low: Any, high: Any) -> Any:
        if (low is None) == is_low or (high is None) != is_low:
            raise Unsupported("one limit alone")
        return function(x, low if is_low else high)

    return call


CALLS = {
    "take_rows": {
        "torch.index_select": lambda x, places: torch.index_select(x, 0, places),
        "torch.Tensor.__getitem__": lambda x, places: x[places],
        "torch.nn.functional.embedding": lambda x, places: nn.functional.embedding(places, x),
    },
    "take_columns": {
        "torch.index_select": lambda x, places: torch.index_select(x, 1, places),
        "torch.Tensor.__getitem__": lambda x, places: x[:, places],
    },
    "take_by_matrix": {"torch.Tensor.__getitem__": lambda x, places: x[places]},
    "take_from_the_end": {"torch.Tensor.__getitem__": lambda x, places: x[places]},
    "take_along_first_axis": {
        "torch.gather": lambda x, places: torch.gather(x, 0, places),
        "torch.take_along_dim": lambda x, places: torch.take_along_dim(x, places, 0),
    },
    "take_along_last_axis": {
        "torch.gather": lambda x, places: torch.gather(x, 1, places),
        "torch.take_along_dim": lambda x, places: torch.take_along_dim(x, places, -1),
    },
    "gather_by_pairs": {"torch.Tensor.__getitem__": lambda x, places: x[places[:, 0], places[:, 1]]},
    "gather_of_batches": {"torch.vmap": lambda x, places: torch.vmap(lambda row, place: row[place])(x, places)},
    "take_of_all": {
        "torch.take": lambda x, places: torch.take(x, places),
        "torch.take_along_dim": lambda x, places: torch.take_along_dim(x, places),
    },
    "add_at": {
        "torch.index_add": lambda x, places, y: torch.index_add(x, 0, places, y),
        "torch.scatter_add": lambda x, places, y: torch.scatter_add(x, 0, _place(x, places, y), y),
        "torch.index_put": lambda x, places, y: torch.index_put(x, (places,), y, accumulate=True),
        "torch.scatter_reduce": _reduced("sum"),
    },
    "subtract_at": {"torch.index_add": lambda x, places, y: torch.index_add(x, 0, places, y, alpha=-1)},
    "multiply_at": {"torch.scatter_reduce": _reduced("prod"), "torch.index_reduce": _index_reduced("prod")},
    "max_at": {"torch.scatter_reduce": _reduced("amax"), "torch.index_reduce": _index_reduced("amax")},
    "min_at": {"torch.scatter_reduce": _reduced("amin"), "torch.index_reduce": _index_reduced("amin")},
    "set_at": {
        "torch.index_copy": lambda x, places, y: torch.index_copy(x, 0, places, y),
        "torch.index_put": lambda x, places, y: torch.index_put(x, (places,), y),
        "torch.scatter": lambda x, places, y: torch.scatter(x, 0, _place(x, places, y), y),
    },
    "put_along_first_axis": {"torch.scatter": lambda x, places, y: torch.scatter(x, 0, places, y)},
    "scatter_add_along_axis": {
        "torch.scatter_add": lambda x, places, y: torch.scatter_add(x, 0, places, y),
        "torch.scatter_reduce": lambda x, places, y: torch.scatter_reduce(x, 0, places, y, "sum"),
    },
    "scatter_mean_along_axis": {
        "torch.scatter_reduce": lambda x, places, y, include_self: torch.scatter_reduce(
            x, 0, places, y, "mean", include_self=include_self
        )
    },
    "scatter_max_along_axis": {
        "torch.scatter_reduce": lambda x, places, y, include_self: torch.scatter_reduce(
            x, 0, places, y, "amax", include_self=include_self
        )
    },
    "scatter_to_zeros": {
        "torch.index_add": lambda places, y: torch.index_add(torch.zeros((1027, y.shape[1]), dtype=y.dtype), 0, places, y)
    },
    "segment_sum": {
        "torch.scatter_reduce": _segments("sum", 7),
        "torch.index_add": _segments_by_index,
    },
    "segment_mean": {"torch.scatter_reduce": _segments("mean", 7)},
    "segment_max": {"torch.scatter_reduce": _segments("amax", 5)},
    "segment_min": {"torch.scatter_reduce": _segments("amin", 5)},
    "segment_prod": {"torch.scatter_reduce": _segments("prod", 7, has_self=True, start=1.0)},
    "segment_of_lengths": {"torch.segment_reduce": _of_lengths},
    "sort": {"torch.sort": _sort, "torch.msort": _msort},
    "argsort": {
        "torch.argsort": _argsort,
        "torch.sort": lambda x, axis, is_descending: torch.sort(x, axis, is_descending).indices,
    },
    "argsort_of_equals": {
        "torch.argsort": lambda x: torch.argsort(x, stable=True),
        "torch.sort": lambda x: torch.sort(x, stable=True).indices,
    },
    "sort_of_integers": {"torch.sort": lambda x: torch.sort(x).values},
    "sort_with_nan": {"torch.sort": lambda x: torch.sort(x).values},
    "top_k": {"torch.topk": _top},
    "top_k_with_places": {"torch.topk": lambda x, count: tuple(torch.topk(x, count))},
    "bottom_k": {"torch.topk": lambda x, count: torch.topk(x, count, largest=False).values},
    "searchsorted": {
        "torch.searchsorted": _searchsorted,
        "torch.bucketize": lambda edges, x, side: torch.bucketize(x, edges, right=side == "right"),
    },
    "searchsorted_of_rows": {"torch.searchsorted": _searchsorted},
    "digitize": {
        "torch.bucketize": lambda x, edges, right: torch.bucketize(x, edges, right=not right),
        "torch.searchsorted": lambda x, edges, right: torch.searchsorted(edges, x, right=not right),
    },
    "isin": {"torch.isin": lambda x, among, is_inverted: torch.isin(x, among, invert=is_inverted)},
    "where": {"torch.where": None},
    "where_broadcast": {"torch.where": None},
    "masked_fill": {"torch.masked_fill": lambda x, which, value: torch.masked_fill(x, which, value)},
    "masked_scatter": {"torch.masked_scatter": None},
    "clip": {
        "torch.clamp_": lambda x, low, high: torch.clamp_(x.clone(), low, high),
        "torch.clip_": lambda x, low, high: torch.clip_(x.clone(), low, high),
        "torch.clamp_min": _one_limit(torch.clamp_min, is_low=True),
        "torch.clamp_max": _one_limit(torch.clamp_max, is_low=False),
        "torch.clamp_min_": _one_limit(lambda x, limit: torch.clamp_min_(x.clone(), limit), is_low=True),
        "torch.clamp_max_": _one_limit(lambda x, limit: torch.clamp_max_(x.clone(), limit), is_low=False),
        "torch.clamp": lambda x, low, high: torch.clamp(x, low, high),
        "torch.clip": lambda x, low, high: torch.clip(x, low, high),
    },
    "clip_between_arrays": {"torch.clamp": None, "torch.clip": None},
    "clip_again": {
        "torch.clamp": lambda x, low, high: torch.clamp(torch.clamp(x, low, high), low, high),
        "torch.clip": lambda x, low, high: torch.clip(torch.clip(x, low, high), low, high),
    },
    "roll": {"torch.roll": lambda x, shift, axis: torch.roll(x, shift, axis)},
    "flip": {"torch.flip": lambda x, axis: torch.flip(x, axis)},
    "rot90": {"torch.rot90": lambda x, turns, axes: torch.rot90(x, turns, axes)},
    "repeat": {"torch.repeat_interleave": lambda x, times, axis: torch.repeat_interleave(x, times, axis)},
    "tile": {
        "torch.tile": lambda x, times: torch.tile(x, times),
        "torch.Tensor.repeat": lambda x, times: x.repeat(times),
    },
    "concatenate": {
        "torch.cat": lambda x, y, axis: torch.cat([x, y, x], axis),
        "torch.concat": lambda x, y, axis: torch.concat([x, y, x], axis),
        "torch.concatenate": lambda x, y, axis: torch.concatenate([x, y, x], axis),
    },
    "stack": {"torch.stack": lambda x, y, axis: torch.stack([x, y], axis)},
    "split_at": {"torch.tensor_split": lambda x, ends: torch.tensor_split(x, ends, dim=1)},
    "split_unevenly": {"torch.tensor_split": lambda x: torch.tensor_split(x, 3, dim=1)},
    "transpose": {"torch.permute": lambda x, order: torch.permute(x, order)},
    "moveaxis": {
        "torch.moveaxis": lambda x, source, destination: torch.moveaxis(x, _many(source), _many(destination)),
        "torch.movedim": lambda x, source, destination: torch.movedim(x, _many(source), _many(destination)),
    },
    "swapaxes": {
        "torch.transpose": lambda x, one, other: torch.transpose(x, one, other),
        "torch.swapaxes": lambda x, one, other: torch.swapaxes(x, one, other),
    },
    "broadcast_to": {
        "torch.broadcast_to": lambda x: torch.broadcast_to(x, (2, x.shape[0], 4, x.shape[2])),
        "torch.Tensor.expand": lambda x: x.expand(2, x.shape[0], 4, x.shape[2]),
    },
    "strided_slice": {"torch.Tensor.__getitem__": lambda x, step: x[:, 1::step]},
    "meshgrid": {"torch.meshgrid": lambda x, y, indexing: torch.meshgrid(x, y, indexing=indexing)},
    "cartesian_prod": {"torch.cartesian_prod": None},
    "nan_to_num": {
        "torch.nan_to_num_": lambda x, nan, above, below: torch.nan_to_num_(x.clone(), nan, above, below),
        "torch.nan_to_num": lambda x, nan, above, below: torch.nan_to_num(x, nan, above, below),
    },
    "lerp": {"torch.lerp": None},
    "heaviside": {"torch.heaviside": None},
    "copysign": {"torch.copysign": None},
    "equal": {"torch.eq": None},
    "not_equal": {"torch.ne": None, "torch.not_equal": None},
    "less": {"torch.lt": None, "torch.less": None},
    "less_equal": {"torch.le": None, "torch.less_equal": None},
    "greater": {"torch.gt": None, "torch.greater": None},
    "greater_equal": {"torch.ge": None, "torch.greater_equal": None},
    "isnan": {"torch.isnan": None},
    "isinf": {"torch.isinf": None},
    "isfinite": {"torch.isfinite": None},
    "isposinf": {"torch.isposinf": None},
    "isneginf": {"torch.isneginf": None},
    "signbit": {"torch.signbit": None},
    "isclose": {"torch.isclose": lambda x, y, equal_nan: torch.isclose(x, y, 1e-3, 1e-2, equal_nan)},
    "logical_and": {"torch.logical_and": None},
    "logical_or": {"torch.logical_or": None},
    "logical_xor": {"torch.logical_xor": None},
    "logical_not": {"torch.logical_not": None},
    "bitwise_and": {"torch.bitwise_and": None},
    "bitwise_or": {"torch.bitwise_or": None},
    "bitwise_xor": {"torch.bitwise_xor": None},
    "bitwise_not": {"torch.bitwise_not": None},
    "left_shift": {"torch.bitwise_left_shift": None},
    "right_shift": {"torch.bitwise_right_shift": None},
    "gcd": {"torch.gcd_": lambda x, y: torch.gcd_(x.clone(), y), "torch.gcd": None},
    "lcm": {"torch.lcm_": lambda x, y: torch.lcm_(x.clone(), y), "torch.lcm": None},
    "floor_divide_of_integers": {"torch.floor_divide": None},
    "remainder_of_integers": {"torch.remainder": None},
    "unravel_index": {"torch.unravel_index": lambda x: torch.unravel_index(x, (5, 6, 7))},
    "windows": {"torch.Tensor.unfold": lambda x, size, step: x.unfold(-1, size, step), "torch.nn.Unfold": _unfold_layer},
}


def _many(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis

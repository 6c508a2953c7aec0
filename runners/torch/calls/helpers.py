"""PyTorch: what lies between layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


def _planes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call for planes whose channels come last of a function whose channels come second."""
    return lambda x, **parameters: function(x.permute(0, 3, 1, 2), **parameters).permute(0, 2, 3, 1)


def _upsample(mode: str) -> Callable[..., Any]:
    return _planes(lambda x, rows, columns: nn.Upsample(scale_factor=(rows, columns), mode=mode)(x))


def _interpolate(mode: str) -> Callable[..., Any]:
    return _planes(lambda x, rows, columns: F.interpolate(x, scale_factor=(rows, columns), mode=mode))


def _rows(x: Any, lengths: Any) -> list[Any]:
    return [row[: int(length)] for row, length in zip(x, lengths, strict=True)]


def _padded(x: Any, lengths: Any, value: float, side: str) -> Any:
    return nn.utils.rnn.pad_sequence(_rows(x, lengths), True, value, side)


def _packed(x: Any, lengths: Any, value: float, side: str) -> Any:
    packed = nn.utils.rnn.pack_sequence([row.flip(0) if side == "left" else row for row in _rows(x, lengths)], False)
    found = nn.utils.rnn.pad_packed_sequence(packed, True, value)[0]
    return found.flip(1) if side == "left" else found


def _nested(x: Any, lengths: Any, value: float, side: str) -> Any:
    rows = [row.flip(0) if side == "left" else row for row in _rows(x, lengths)]
    found = torch.nested.to_padded_tensor(torch.nested.as_nested_tensor(rows), value)
    return found.flip(1) if side == "left" else found


def _norm(x: Any, y: Any, order: int | None) -> Any:
    return nn.utils.get_total_norm([x, y], math.inf if order is None else float(order))


def _weight_norm(weight: Any, size: Any) -> Any:
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(weight.shape[1], weight.shape[0], False, dtype=weight.dtype), dim=0)
    given = {"parametrizations.weight.original0": size[:, None], "parametrizations.weight.original1": weight}
    return torch.func.functional_call(layer, given, (torch.eye(weight.shape[1], dtype=weight.dtype),)).T


def _fused(layer: nn.Module, norm: nn.Module, fuse: Callable[..., Any], **given: Any) -> Any:
    x = given.pop("x")
    layer.to(x.dtype).eval()
    norm.to(x.dtype).eval()
    with torch.no_grad():
        layer.weight.copy_(given["weight"])  # type: ignore[operator,union-attr]
        layer.bias.copy_(given["bias"])  # type: ignore[operator,union-attr]
        norm.weight.copy_(given["scale"])  # type: ignore[operator,union-attr]
        norm.bias.copy_(given["shift"])  # type: ignore[operator,union-attr]
        norm.running_mean.copy_(given["mean"])  # type: ignore[operator,union-attr]
        norm.running_var.copy_(given["variance"])  # type: ignore[operator,union-attr]
    return fuse(layer, norm)(x)


def _fused_convolution(**given: Any) -> Any:
    return _fused(nn.Conv2d(3, 5, (2, 3)), nn.BatchNorm2d(5), nn.utils.fuse_conv_bn_eval, **given)


def _fused_linear(**given: Any) -> Any:
    return _fused(nn.Linear(given["x"].shape[1], 5), nn.BatchNorm1d(5), nn.utils.fuse_linear_bn_eval, **given)


def _not_fused(**given: Any) -> Any:
    return _fused(nn.Conv2d(3, 5, (2, 3)), nn.BatchNorm2d(5), nn.Sequential, **given)


def _unflattened_twice(x: Any, y: Any) -> Any:
    """Return numbers that went into parameters and out again."""
    vector = nn.utils.parameters_to_vector([x, y])
    return torch.cat([vector[: x.numel()].view_as(x).flatten(), vector[x.numel() :].view_as(y)])


CALLS: dict[str, dict[str, Callable[..., Any] | None]] = {
    "merged_beside": {
        "torch.cat": lambda x, y, axis: torch.cat([x, y], axis),
        "torch.concat": lambda x, y, axis: torch.concat([x, y], axis),
    },
    "reshaped": {"torch.nn.Unflatten": lambda x, shape: nn.Unflatten(1, shape)(x.flatten(1))},
    "reordered": {"torch.permute": lambda x, order: torch.permute(x, (0, *order))},
    "repeated": {"torch.repeat_interleave": lambda x, count: x[:, None].repeat_interleave(count, 1)},
    "flattened": {"torch.nn.Flatten": lambda x: nn.Flatten()(x), "torch.flatten": lambda x: torch.flatten(x, 1)},
    "surrounded": {
        "torch.nn.ZeroPad2d": _planes(lambda x, rows, columns: nn.ZeroPad2d((*columns, *rows))(x)),
        "torch.nn.functional.pad": _planes(lambda x, rows, columns: F.pad(x, (*columns, *rows))),
    },
    "cropped": {"torch.nn.functional.pad": _planes(lambda x, rows, columns: F.pad(x, [-each for each in (*columns, *rows)]))},
    "enlarged": {
        "torch.nn.Upsample": _upsample("nearest"),
        "torch.nn.functional.interpolate": _interpolate("nearest"),
        "torch.nn.functional.interpolate (nearest-exact)": _interpolate("nearest-exact"),
    },
    "enlarged_linearly": {
        "torch.nn.Upsample": _upsample("bilinear"),
        "torch.nn.functional.interpolate": _interpolate("bilinear"),
    },
    "unflattened": {
        "torch.nn.Unflatten": lambda x: nn.Unflatten(1, (3, -1))(x),
        "torch.unflatten": lambda x: torch.unflatten(x, 1, (3, -1)),
    },
    "shuffled_channels": {
        "torch.nn.ChannelShuffle": lambda x, groups: nn.ChannelShuffle(groups)(x[..., None])[..., 0],
        "torch.nn.functional.channel_shuffle": lambda x, groups: F.channel_shuffle(x, groups),
    },
    "distance_of_pairs": {
        "torch.nn.PairwiseDistance": lambda x, y, p, eps: nn.PairwiseDistance(p, eps)(x, y),
        "torch.nn.functional.pairwise_distance": lambda x, y, p, eps: F.pairwise_distance(x, y, p, eps),
    },
    "cosine_of_pairs": {
        "torch.nn.CosineSimilarity": lambda x, y, axis: nn.CosineSimilarity(axis)(x, y),
        "torch.nn.functional.cosine_similarity": lambda x, y, axis: F.cosine_similarity(x, y, axis),
    },
    "padded_rows": {
        "torch.nn.utils.rnn.pad_sequence": _padded,
        "torch.nn.utils.rnn.pack_sequence (and padded)": lambda x, lengths, value, side: _packed(
            *_falling(x, lengths)[:2], value, side
        )[_falling(x, lengths)[2]],
        "torch.nested.to_padded_tensor": _nested,
    },
    "one_hot_rows": {"torch.nn.functional.one_hot": lambda labels, count: F.one_hot(labels, count).float()},
    "bins_of": {"torch.bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 2.0, 3.5], dtype=x.dtype), right=True)},
    "flat_parameters": {
        "torch.nn.utils.parameters_to_vector": lambda x, y: nn.utils.parameters_to_vector([x, y]),
        "torch.nn.utils.parameters_to_vector (and back)": _unflattened_twice,
    },
    "norm_of_gradients": {"torch.nn.utils.get_total_norm": _norm},
    "weight_of_norm": {"torch.nn.utils.parametrizations.weight_norm": _weight_norm},
    "fused_convolution": {"torch.nn.utils.fuse_conv_bn_eval": _fused_convolution, "torch.nn.BatchNorm2d (not fused)": _not_fused},
    "fused_linear": {"torch.nn.utils.fuse_linear_bn_eval": _fused_linear},
    "numbers_where": {"torch.masked_select": lambda x, keep: torch.masked_select(x, keep)},
    "windows_of_series": {
        "torch.Tensor.unfold": lambda x, length, stride, rate: x.unfold(0, (length - 1) * rate + 1, stride)[
            ..., ::rate
        ].transpose(1, 2),
    },
    "dirac_weights": {
        "torch.nn.init.dirac_": lambda like, rows, columns, groups: nn.init.dirac_(
            torch.empty(rows, columns, 3, 5, dtype=like.dtype), groups
        ),
    },
    "eye_weights": {
        "torch.nn.init.eye_": lambda like, rows, columns, gain: gain * nn.init.eye_(torch.empty(rows, columns, dtype=like.dtype)),
    },
    "gain_of_activation": {
        "torch.nn.init.calculate_gain": lambda like, kind, slope: torch.tensor(
            nn.init.calculate_gain(kind, slope if kind == "leaky_relu" else None), dtype=like.dtype
        ),
    },
}


def _falling(x: Any, lengths: Any) -> tuple[Any, Any, Any]:
    """Return rows and lengths with the longest first, and where each has gone."""
    order = torch.argsort(lengths, descending=True, stable=True)
    return x[order], lengths[order], torch.argsort(order)

"""PyTorch: images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _to(mode: str, **more: Any) -> dict[str, Call]:
    return {
        f"torch.nn.functional.interpolate ({mode})": lambda x, size, step=None: F.interpolate(x, size, mode=mode, **more),
        f"torch.nn.Upsample ({mode})": lambda x, size, step=None: nn.Upsample(tuple(size), mode=mode, **more)(x),
    }


def _area(x: Any, step: Any, size: Any) -> Any:
    if any(before % after for before, after in zip(x.shape[2:], size, strict=True)):
        raise Unsupported("area: whole elements alone. Allowed: sizes that divide.")
    return F.interpolate(x, size, mode="area")


def _filtered(x: Any, step: Any, size: Any, kernel: str) -> Any:
    names = {"linear": "bilinear", "cubic": "bicubic"}
    if kernel not in names:
        raise Unsupported(f"mode: {kernel}. Allowed: bilinear, bicubic.")
    return F.interpolate(x, size, mode=names[kernel], antialias=True)


def _repeat(x: Any, factors: Any) -> Any:
    return F.interpolate(x, scale_factor=tuple(float(each) for each in factors))


def _repeat_layer(x: Any, factors: Any) -> Any:
    return nn.Upsample(scale_factor=tuple(float(each) for each in factors))(x)


def _repeat_flat(x: Any, factors: Any) -> Any:
    return nn.UpsamplingNearest2d(scale_factor=tuple(float(each) for each in factors))(x)


def _repeat_interleave(x: Any, factors: Any) -> Any:
    for place, factor in enumerate(factors):
        x = torch.repeat_interleave(x, factor, x.ndim - len(factors) + place)
    return x


def _at_grid(x: Any, grid: Any, mode: str, border: str, corners: bool) -> Any:
    return F.grid_sample(x, grid, mode, border, corners)


def _affine(theta: Any, size: Any, corners: bool) -> Any:
    return F.affine_grid(theta, [theta.shape[0], 1, *size], corners)


def _border(padding: Any) -> Any:
    if padding == "valid":
        return 0
    if isinstance(padding, str) or any(before != behind for before, behind in padding):
        raise Unsupported("another border before than behind, or by name. Allowed: the same.")
    return tuple(before for before, _ in padding)


def _unfold(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    return F.unfold(x, window, dilation, _border(padding), strides)


def _unfold_layer(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    return nn.Unfold(tuple(window), tuple(dilation), _border(padding), tuple(strides))(x)


def _fold(x: Any, image: Any, window: Any) -> Any:
    return F.fold(x, image.shape[2:], window, padding=1)


def _fold_layer(x: Any, image: Any, window: Any) -> Any:
    return nn.Fold(tuple(image.shape[2:]), tuple(window), padding=1)(x)


CALLS: dict[str, dict[str, Call]] = {
    **{f"resize_nearest_floor_{rank}d": _to("nearest") for rank in (1, 2, 3)},
    **{f"resize_nearest_{rank}d": _to("nearest-exact") for rank in (1, 2, 3)},
    **{
        f"resize_linear_{rank}d": _to(mode, align_corners=False)
        for rank, mode in ((1, "linear"), (2, "bilinear"), (3, "trilinear"))
    },
    **{
        f"resize_linear_corners_{rank}d": _to(mode, align_corners=True)
        for rank, mode in ((1, "linear"), (2, "bilinear"), (3, "trilinear"))
    },
    "resize_cubic_clamped": _to("bicubic", align_corners=False),
    "resize_cubic_clamped_corners": _to("bicubic", align_corners=True),
    "resize_filtered": {"torch.nn.functional.interpolate (antialias)": _filtered},
    "resize_area": {"torch.nn.functional.interpolate (area)": _area},
    "repeat_1d": {
        "torch.nn.functional.interpolate (scale_factor)": _repeat,
        "torch.nn.Upsample (scale_factor)": _repeat_layer,
        "torch.repeat_interleave": _repeat_interleave,
    },
    "repeat_2d": {
        "torch.nn.functional.interpolate (scale_factor)": _repeat,
        "torch.nn.Upsample (scale_factor)": _repeat_layer,
        "torch.nn.UpsamplingNearest2d": _repeat_flat,
        "torch.repeat_interleave": _repeat_interleave,
    },
    "repeat_3d": {
        "torch.nn.functional.interpolate (scale_factor)": _repeat,
        "torch.nn.Upsample (scale_factor)": _repeat_layer,
        "torch.repeat_interleave": _repeat_interleave,
    },
    "grid_sample_2d": {"torch.nn.functional.grid_sample": _at_grid},
    "grid_sample_3d": {"torch.nn.functional.grid_sample": _at_grid},
    "affine_grid_2d": {"torch.nn.functional.affine_grid": _affine},
    "affine_grid_3d": {"torch.nn.functional.affine_grid": _affine},
    "pixel_shuffle": {
        "torch.nn.functional.pixel_shuffle": lambda x, factor: F.pixel_shuffle(x, factor),
        "torch.pixel_shuffle": lambda x, factor: torch.pixel_shuffle(x, factor),
        "torch.nn.PixelShuffle": lambda x, factor: nn.PixelShuffle(factor)(x),
    },
    "pixel_unshuffle": {
        "torch.nn.functional.pixel_unshuffle": lambda x, factor: F.pixel_unshuffle(x, factor),
        "torch.pixel_unshuffle": lambda x, factor: torch.pixel_unshuffle(x, factor),
        "torch.nn.PixelUnshuffle": lambda x, factor: nn.PixelUnshuffle(factor)(x),
    },
    "channel_shuffle": {
        "torch.nn.functional.channel_shuffle": lambda x, groups: F.channel_shuffle(x, groups),
        "torch.channel_shuffle": lambda x, groups: torch.channel_shuffle(x, groups),
        "torch.native_channel_shuffle": lambda x, groups: torch.native_channel_shuffle(x, groups),
        "torch.nn.ChannelShuffle": lambda x, groups: nn.ChannelShuffle(groups)(x),
    },
    "unfold": {"torch.nn.functional.unfold": _unfold, "torch.nn.Unfold": _unfold_layer},
    "fold": {"torch.nn.functional.fold": _fold, "torch.nn.Fold": _fold_layer},
    "flip_horizontal": {
        "torch.flip": lambda x: torch.flip(x, (-1,)),
        "torch.fliplr": lambda x: torch.fliplr(x.permute(2, 3, 0, 1)).permute(2, 3, 0, 1),
    },
    "flip_vertical": {
        "torch.flip": lambda x: torch.flip(x, (-2,)),
        "torch.flipud": lambda x: torch.flipud(x.permute(2, 3, 0, 1)).permute(2, 3, 0, 1),
    },
    "rotate_quarter": {"torch.rot90": lambda x, turns: torch.rot90(x, turns, (2, 3))},
}

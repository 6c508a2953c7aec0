"""JAX: images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.ndimage

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _to(method: str, antialias: bool) -> dict[str, Call]:
    return {"jax.image.resize": lambda x, size, step=None: jax.image.resize(x, (*x.shape[:2], *size), method, antialias)}


def _kernel(kernel: str) -> str:
    if kernel == "mitchellcubic":
        raise Unsupported("method: mitchellcubic. Allowed: linear, cubic, lanczos3, lanczos5.")
    return kernel


def _filtered(x: Any, step: Any, size: Any, kernel: str) -> Any:
    return jax.image.resize(x, (*x.shape[:2], *size), _kernel(kernel))


def _translated(x: Any, scale: Any, translation: Any, size: Any, kernel: str, is_wide: bool) -> Any:
    return jax.image.scale_and_translate(x, (*x.shape[:2], *size), (2, 3), scale, translation, kernel, is_wide)


def _coordinates(x: Any, rows: Any, columns: Any, order: int, mode: str, fill: float) -> Any:
    return jax.scipy.ndimage.map_coordinates(x, [rows, columns], order, mode, fill)


def _unfold(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    border = padding.upper() if isinstance(padding, str) else padding
    found = jax.lax.conv_general_dilated_patches(x, window, strides, border, rhs_dilation=dilation)
    return found.reshape(*found.shape[:2], -1)


def _repeat(x: Any, factors: Any) -> Any:
    for place, factor in enumerate(factors):
        x = jnp.repeat(x, factor, x.ndim - len(factors) + place)
    return x


CALLS: dict[str, dict[str, Call]] = {
    **{f"resize_nearest_{rank}d": _to("nearest", False) for rank in (1, 2, 3)},
    **{f"resize_linear_{rank}d": _to("linear", False) for rank in (1, 2, 3)},
    **{f"repeat_{rank}d": {"jax.numpy.repeat": _repeat} for rank in (1, 2, 3)},
    "resize_cubic": _to("cubic", False),
    "resize_filtered": {"jax.image.resize": _filtered},
    "scale_and_translate": {"jax.image.scale_and_translate": _translated},
    "map_coordinates": {"jax.scipy.ndimage.map_coordinates": _coordinates},
    "unfold": {"jax.lax.conv_general_dilated_patches": _unfold},
    "flip_horizontal": {"jax.numpy.flip": lambda x: jnp.flip(x, -1), "jax.lax.rev": lambda x: jax.lax.rev(x, (3,))},
    "flip_vertical": {"jax.numpy.flip": lambda x: jnp.flip(x, -2), "jax.lax.rev": lambda x: jax.lax.rev(x, (2,))},
    "rotate_quarter": {"jax.numpy.rot90": lambda x, turns: jnp.rot90(x, turns, (2, 3))},
}

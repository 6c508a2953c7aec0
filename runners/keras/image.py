"""Keras: images, in both of its layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from runners.contract.errors import Unsupported

Call = Callable[..., Any]
FIRST, LAST = "channels_first", "channels_last"


def _last(x: Any) -> Any:
    return keras.ops.moveaxis(x, 1, -1)


def _first(x: Any) -> Any:
    return keras.ops.moveaxis(x, -1, 1)


def _type(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def _single(x: Any) -> None:
    if keras.backend.backend() == "tensorflow" and _type(x) == "float64":
        raise Unsupported("float64: TensorFlow resizes in float32.")


def _both(name: str, function: Call) -> dict[str, Call]:
    """Return calls in both layouts of a function of an image, a layout and parameters by name."""

    def first(x: Any, **parameters: Any) -> Any:
        try:
            return function(x, FIRST, **parameters)
        except Exception as error:
            if keras.backend.backend() == "tensorflow" and "only supports" in str(error):
                raise Unsupported("channels first: TensorFlow has no such kernel on this device.") from error
            raise

    return {
        f"keras.ops.image.{name}": lambda x, **parameters: _first(function(_last(x), LAST, **parameters)),
        f"keras.ops.image.{name} (channels first)": first,
    }


def _to(interpolation: str) -> dict[str, Call]:
    def layer(x: Any, size: Any, step: Any = None) -> Any:
        _single(x)
        return _first(keras.layers.Resizing(*size, interpolation, data_format=LAST, dtype=_type(x))(_last(x)))

    def resize(x: Any, layout: str, size: Any, step: Any = None) -> Any:
        _single(x)
        return keras.ops.image.resize(x, tuple(size), interpolation, data_format=layout)

    calls = _both("resize", resize)
    return {**calls, "keras.layers.Resizing": layer}


def _filter(x: Any, layout: str, step: Any, size: Any, kernel: str) -> Any:
    _single(x)
    names = {"linear": "bilinear", "cubic": "bicubic", "lanczos3": "lanczos3", "lanczos5": "lanczos5"}
    if kernel not in names or (kernel.startswith("lanczos") and keras.backend.backend() == "torch"):
        raise Unsupported(f"interpolation: {kernel}.")
    return keras.ops.image.resize(x, tuple(size), names[kernel], antialias=True, data_format=layout)


def _translated(x: Any, scale: Any, translation: Any, size: Any, kernel: str, is_wide: bool) -> Any:
    return keras.ops.image.scale_and_translate(x, (*x.shape[:2], *size), scale, translation, (2, 3), kernel, is_wide)


def _coordinates(x: Any, rows: Any, columns: Any, order: int, mode: str, fill: float) -> Any:
    return keras.ops.image.map_coordinates(x, keras.ops.stack([rows, columns]), order, mode, fill)


def _affine(x: Any, layout: str, transform: Any, order: int, mode: str) -> Any:
    return keras.ops.image.affine_transform(x, transform, ("nearest", "bilinear")[order], mode, 0, layout)


def _patches(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    if not isinstance(padding, str):
        raise Unsupported("padding in numbers. Allowed: same, valid.")
    if (max(strides) > 1 and max(dilation) > 1) or len(set(dilation)) > 1:
        raise Unsupported("strides and dilation, or dilations of several values.")
    return keras.ops.image.extract_patches(_last(x), tuple(window), tuple(strides), dilation[0], padding, LAST)


def _repeat(rank: int, layout: str) -> Call:
    kind = getattr(keras.layers, f"UpSampling{rank}D")

    def call(x: Any, factors: Any) -> Any:
        if rank == 1:
            return _first(kind(factors[0], dtype=_type(x))(_last(x)))
        layer = kind(tuple(factors), data_format=layout, dtype=_type(x))
        return layer(x) if layout == FIRST else _first(layer(_last(x)))

    return call


def _repeats(x: Any, factors: Any) -> Any:
    for place, factor in enumerate(factors):
        x = keras.ops.repeat(x, factor, len(x.shape) - len(factors) + place)
    return x


def _crop(x: Any, layout: str, top: int, left: int, height: int, width: int) -> Any:
    given = {"top_cropping": top, "left_cropping": left, "target_height": height, "target_width": width}
    return keras.ops.image.crop_images(x, **given, data_format=layout)


def _pad(x: Any, layout: str, top: int, left: int, height: int, width: int) -> Any:
    given = {"top_padding": top, "left_padding": left, "target_height": height, "target_width": width}
    return keras.ops.image.pad_images(x, **given, data_format=layout)


def _centre(x: Any, height: int, width: int) -> Any:
    return _first(keras.layers.CenterCrop(height, width, data_format=LAST, dtype=_type(x))(_last(x)))


def _blur(x: Any, layout: str, window: Any, sigma: Any) -> Any:
    return keras.ops.image.gaussian_blur(x, tuple(window), tuple(sigma), layout)


def _sobel(x: Any, taps: Any) -> Any:
    return keras.ops.moveaxis(keras.ops.image.sobel_edges(_last(x), LAST), 3, 1)


def _psnr(x: Any, y: Any) -> Any:
    return keras.ops.stack([keras.ops.psnr(x[place], y[place], 1.0) for place in range(x.shape[0])])


def _unfold(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    if isinstance(padding, str) or any(before != after for before, after in padding):
        raise Unsupported("padding: the same on both sides, in numbers.")
    return keras.ops.unfold(x, tuple(window), tuple(dilation), tuple(each[0] for each in padding), tuple(strides))


CALLS: dict[str, dict[str, Call]] = {
    **{
        f"repeat_{rank}d": {
            f"keras.layers.UpSampling{rank}D": _repeat(rank, LAST),
            **({f"keras.layers.UpSampling{rank}D (channels first)": _repeat(rank, FIRST)} if rank > 1 else {}),
            "keras.ops.repeat": _repeats,
        }
        for rank in (1, 2, 3)
    },
    "resize_nearest_2d": _to("nearest"),
    "resize_linear_2d": _to("bilinear"),
    "resize_cubic": _to("bicubic"),
    "resize_filtered": _both("resize", _filter),
    "scale_and_translate": {"keras.ops.image.scale_and_translate": _translated},
    "map_coordinates": {"keras.ops.image.map_coordinates": _coordinates},
    "affine_transform": _both("affine_transform", _affine),
    "extract_patches": {"keras.ops.image.extract_patches": _patches},
    "crop": _both("crop_images", _crop),
    "pad_to_box": _both("pad_images", _pad),
    "crop_centre": {"keras.layers.CenterCrop": _centre},
    "rgb_to_hsv": _both("rgb_to_hsv", lambda x, layout: keras.ops.image.rgb_to_hsv(x, layout)),
    "hsv_to_rgb": _both("hsv_to_rgb", lambda x, layout: keras.ops.image.hsv_to_rgb(x, layout)),
    "rgb_to_grayscale": _both("rgb_to_grayscale", lambda x, layout: keras.ops.image.rgb_to_grayscale(x, layout)),
    "gaussian_blur": _both("gaussian_blur", _blur),
    "sobel_edges": {"keras.ops.image.sobel_edges": _sobel},
    "structural_similarity": {
        "keras.ops.image.ssim": lambda x, y: keras.ops.image.ssim(_last(x), _last(y), data_format=LAST),
        "keras.ops.image.ssim (channels first)": lambda x, y: keras.ops.image.ssim(x, y, data_format=FIRST),
    },
    "flip_horizontal": {"keras.ops.flip": lambda x: keras.ops.flip(x, -1)},
    "flip_vertical": {"keras.ops.flip": lambda x: keras.ops.flip(x, -2)},
    "rotate_quarter": {"keras.ops.rot90": lambda x, turns: keras.ops.rot90(x, turns, (2, 3))},
    "rescale": {
        "keras.layers.Rescaling": lambda x, scale, offset: keras.layers.Rescaling(scale, offset, dtype=_type(x))(x),
    },
    "depth_to_space": {
        "keras.ops.depth_to_space": lambda x, factor: _first(keras.ops.depth_to_space(_last(x), factor, LAST)),
        "keras.ops.nn.depth_to_space": lambda x, factor: _first(keras.ops.depth_to_space(_last(x), factor, LAST)),
    },
    "space_to_depth": {
        "keras.ops.space_to_depth": lambda x, factor: _first(keras.ops.space_to_depth(_last(x), factor, LAST)),
        "keras.ops.nn.space_to_depth": lambda x, factor: _first(keras.ops.space_to_depth(_last(x), factor, LAST)),
    },
    "peak_signal_to_noise": {
        "keras.ops.psnr": _psnr,
        "keras.ops.nn.psnr": _psnr,
    },
    "unfold": {
        "keras.ops.unfold": _unfold,
        "keras.ops.nn.unfold": _unfold,
    },
}

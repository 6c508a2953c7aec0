"""TensorFlow: images, with channels last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _last(x: Any) -> Any:
    return tf.transpose(x, [0, 2, 3, 1])


def _first(x: Any) -> Any:
    return tf.transpose(x, [0, 3, 1, 2])


def _on(function: Call) -> Call:
    """Return a call of a function of an image and parameters by name."""
    return lambda x, **parameters: _first(function(_last(x), **parameters))


def _single(x: Any) -> Any:
    """Return an image with channels last, of a type that resizing keeps: its documentation has it give float32."""
    if x.dtype == tf.float64:
        raise Unsupported("float64: resizing computes in float32.")
    return _last(x)


def _to(method: str) -> dict[str, Call]:
    return {"tensorflow.image.resize": lambda x, size, step=None: _first(tf.image.resize(_single(x), size, method))}


def _corners(method: Any) -> dict[str, Call]:
    def call(x: Any, step: Any, size: Any) -> Any:
        return _first(tf.compat.v1.image.resize(_single(x), size, method, align_corners=True))

    return {"tensorflow.compat.v1.image.resize (align_corners)": call}


def _filtered(x: Any, step: Any, size: Any, kernel: str) -> Any:
    names = {"linear": "bilinear", "cubic": "bicubic"}
    return _first(tf.image.resize(_single(x), size, names.get(kernel, kernel), antialias=True))


def _floor(x: Any, size: Any) -> Any:
    return _first(tf.compat.v1.image.resize_nearest_neighbor(_last(x), size))


def _dilated(x: Any, window: Any, strides: Any, padding: Any, dilation: Any) -> Any:
    if not isinstance(padding, str):
        raise Unsupported("padding in numbers. Allowed: SAME, VALID.")
    return tf.image.extract_patches(_last(x), [1, *window, 1], [1, *strides, 1], [1, *dilation, 1], padding.upper())


def _crop(x: Any, top: int, left: int, height: int, width: int) -> Any:
    return _first(tf.image.crop_to_bounding_box(_last(x), top, left, height, width))


def _pad(x: Any, top: int, left: int, height: int, width: int) -> Any:
    return _first(tf.image.pad_to_bounding_box(_last(x), top, left, height, width))


def _boxes(x: Any, boxes: Any, size: Any, method: str) -> Any:
    return _first(tf.image.crop_and_resize(_last(x), boxes, tf.range(x.shape[0]), size, method))


def _sobel(x: Any, taps: Any) -> Any:
    return tf.transpose(tf.image.sobel_edges(_last(x)), [0, 3, 1, 2, 4])


def _gradients(x: Any) -> Any:
    down, right = tf.image.image_gradients(_last(x))
    return _first(down), _first(right)


def _repeat(x: Any, factors: Any) -> Any:
    for place, factor in enumerate(factors):
        x = tf.repeat(x, factor, len(x.shape) - len(factors) + place)
    return x


image = tf.image
CALLS: dict[str, dict[str, Call]] = {
    **{f"repeat_{rank}d": {"tensorflow.repeat": _repeat} for rank in (1, 2, 3)},
    "resize_nearest_floor_2d": {"tensorflow.compat.v1.image.resize_nearest_neighbor": _floor},
    "resize_nearest_2d": _to("nearest"),
    "resize_linear_2d": _to("bilinear"),
    "resize_linear_corners_2d": _corners(tf.compat.v1.image.ResizeMethod.BILINEAR),
    "resize_cubic": _to("bicubic"),
    "resize_area": _to("area"),
    "resize_filtered": {"tensorflow.image.resize (antialias)": _filtered},
    "depth_to_space": {"tensorflow.nn.depth_to_space": lambda x, factor: _first(tf.nn.depth_to_space(_last(x), factor))},
    "space_to_depth": {"tensorflow.nn.space_to_depth": lambda x, factor: _first(tf.nn.space_to_depth(_last(x), factor))},
    "space_to_batch": {
        "tensorflow.space_to_batch": lambda x, block, border: _first(tf.space_to_batch(_last(x), block, border)),
        "tensorflow.nn.space_to_batch": lambda x, block, border: _first(tf.nn.space_to_batch(_last(x), block, border)),
    },
    "batch_to_space": {"tensorflow.batch_to_space": lambda x, block, crops: _first(tf.batch_to_space(_last(x), block, crops))},
    "extract_patches": {"tensorflow.image.extract_patches": _dilated},
    "flip_horizontal": {
        "tensorflow.image.flip_left_right": _on(image.flip_left_right),
        "tensorflow.reverse": lambda x: tf.reverse(x, [3]),
    },
    "flip_vertical": {
        "tensorflow.image.flip_up_down": _on(image.flip_up_down),
        "tensorflow.reverse": lambda x: tf.reverse(x, [2]),
    },
    "rotate_quarter": {"tensorflow.image.rot90": lambda x, turns: _first(image.rot90(_last(x), turns))},
    "crop": {"tensorflow.image.crop_to_bounding_box": _crop},
    "crop_centre": {
        "tensorflow.image.resize_with_crop_or_pad": lambda x, height, width: _first(
            image.resize_with_crop_or_pad(_last(x), height, width)
        )
    },
    "pad_to_box": {"tensorflow.image.pad_to_bounding_box": _pad},
    "crop_and_resize": {"tensorflow.image.crop_and_resize": _boxes},
    "rgb_to_hsv": {"tensorflow.image.rgb_to_hsv": _on(image.rgb_to_hsv)},
    "hsv_to_rgb": {"tensorflow.image.hsv_to_rgb": _on(image.hsv_to_rgb)},
    "rgb_to_grayscale": {"tensorflow.image.rgb_to_grayscale": _on(image.rgb_to_grayscale)},
    "rgb_to_yuv": {"tensorflow.image.rgb_to_yuv": _on(image.rgb_to_yuv)},
    "adjust_brightness": {"tensorflow.image.adjust_brightness": _on(image.adjust_brightness)},
    "adjust_contrast": {
        "tensorflow.image.adjust_contrast": lambda x, factor: _first(image.adjust_contrast(_last(x), factor)),
    },
    "adjust_saturation": {
        "tensorflow.image.adjust_saturation": lambda x, factor: _first(image.adjust_saturation(_last(x), factor)),
    },
    "adjust_hue": {"tensorflow.image.adjust_hue": _on(image.adjust_hue)},
    "adjust_gamma": {"tensorflow.image.adjust_gamma": _on(image.adjust_gamma)},
    "standardize_image": {"tensorflow.image.per_image_standardization": _on(image.per_image_standardization)},
    "sobel_edges": {"tensorflow.image.sobel_edges": _sobel},
    "image_gradients": {"tensorflow.image.image_gradients": _gradients},
    "total_variation": {"tensorflow.image.total_variation": lambda x: image.total_variation(_last(x))},
    "peak_signal_to_noise": {"tensorflow.image.psnr": lambda x, y: image.psnr(_last(x), _last(y), 1.0)},
    "structural_similarity": {"tensorflow.image.ssim": lambda x, y: image.ssim(_last(x), _last(y), 1.0)},
}

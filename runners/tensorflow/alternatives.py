"""Operators that have no float64 kernel on a CPU, by others that have one, or written out: each of its attributes and arguments.

What their kernels choose, they choose here as well: the nearest pixel, the row of a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.contract.errors import Unsupported


def _fused_batch_norm(plain: Mapping[str, Any], x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> list[Any]:
    """Return what FusedBatchNorm gives on a CPU, where what it keeps for its gradient is the batch's mean and biased variance."""
    axes, shape = _batch_norm_axes(plain, x)
    seen_mean, seen_variance = mean, variance
    if plain["is_training"]:
        mean, variance = tf.reduce_mean(x, axes), tf.math.reduce_variance(x, axes)
        n = x.shape.num_elements() / mean.shape.num_elements()
        share = plain.get("exponential_avg_factor", 1.0)
        unbiased = variance * (n / max(n - 1.0, 1.0))
        mean_left, variance_left = (
            (mean, unbiased)
            if share == 1.0
            else (seen_mean + (mean - seen_mean) * share, seen_variance + (unbiased - seen_variance) * share)
        )
    else:
        mean_left, variance_left = mean, variance
    factor = scale * tf.math.rsqrt(variance + plain["epsilon"])
    y = (x - tf.reshape(mean, shape)) * tf.reshape(factor, shape) + tf.reshape(offset, shape)
    return [y, mean_left, variance_left, mean, variance, tf.zeros((), tf.float64)]


def _fused_batch_norm_gradient(
    plain: Mapping[str, Any], dy: Any, x: Any, scale: Any, mean: Any, variance: Any, _: Any
) -> list[Any]:
    axes, shape = _batch_norm_axes(plain, x)
    inverse = tf.math.rsqrt(variance + plain["epsilon"])
    normalized = (x - tf.reshape(mean, shape)) * tf.reshape(inverse, shape)
    of_offset, of_scale = tf.reduce_sum(dy, axes), tf.reduce_sum(dy * normalized, axes)
    of_x = dy
    if plain["is_training"]:
        n = x.shape.num_elements() / scale.shape.num_elements()
        of_x = dy - tf.reshape(of_offset / n, shape) - normalized * tf.reshape(of_scale / n, shape)
    return [of_x * tf.reshape(scale * inverse, shape), of_scale, of_offset, *(tf.zeros((0,), tf.float64),) * 2]


def _batch_norm_axes(plain: Mapping[str, Any], x: Any) -> tuple[list[int], list[int]]:
    channel = 1 if plain["data_format"].startswith(b"NC") else x.shape.rank - 1
    return [axis for axis in range(x.shape.rank) if axis != channel], [
        -1 if axis == channel else 1 for axis in range(x.shape.rank)
    ]


def _convolution_to_input(plain: Mapping[str, Any], sizes: Any, kernel: Any, gradient: Any) -> list[Any]:
    """Return the gradient of a convolution's images, whose kernel in float64 knows neither groups nor dilations on a CPU."""
    whole = [int(each) for each in sizes]
    groups = whole[3] // kernel.shape[2]
    spread = tf.constant(_spread(kernel.numpy(), plain["dilations"]))
    parts = zip(tf.split(spread, groups, 3), tf.split(gradient, groups, 3), strict=True)
    found = [
        tf.raw_ops.Conv2DBackpropInput(
            input_sizes=[*whole[:3], whole[3] // groups], filter=of_group, out_backprop=each, **_undilated(plain)
        )
        for of_group, each in parts
    ]
    return [tf.concat(found, 3)]


def _convolution_to_kernel(plain: Mapping[str, Any], images: Any, sizes: Any, gradient: Any) -> list[Any]:
    """Return the gradient of a convolution's kernel, see `_convolution_to_input`."""
    rows, columns, depth, features = (int(each) for each in sizes)
    groups = images.shape[3] // depth
    _, down, across, _ = plain["dilations"]
    spread = [(rows - 1) * down + 1, (columns - 1) * across + 1, depth, features // groups]
    parts = zip(tf.split(images, groups, 3), tf.split(gradient, groups, 3), strict=True)
    found = [
        tf.raw_ops.Conv2DBackpropFilter(input=of_group, filter_sizes=spread, out_backprop=each, **_undilated(plain))
        for of_group, each in parts
    ]
    return [tf.concat(found, 3)[::down, ::across]]


def _spread(kernel: np.ndarray, dilations: Sequence[int]) -> np.ndarray:
    """Return a kernel with zeros between its rows and columns: undilated, it computes what the kernel does dilated."""
    _, down, across, _ = dilations
    rows, columns = kernel.shape[:2]
    spread = np.zeros(((rows - 1) * down + 1, (columns - 1) * across + 1, *kernel.shape[2:]), kernel.dtype)
    spread[::down, ::across] = kernel
    return spread


def _undilated(plain: Mapping[str, Any]) -> dict[str, Any]:
    if plain["data_format"] != b"NHWC":
        raise Unsupported("a convolution with channels first: has no float64 kernel on a CPU")
    return {name: plain[name] for name in ("strides", "padding", "explicit_paddings", "data_format") if name in plain}


def _pool_3d(pool: Callable) -> Callable[[Mapping[str, Any], Any], Any]:
    """Return pooling of volumes by that of images, which has a float64 kernel: over rows and columns, and then over planes."""

    def pooled(plain: Mapping[str, Any], volumes: Any) -> Any:
        if plain["data_format"] != b"NDHWC":
            raise Unsupported("a pooling of volumes with channels first: has no float64 kernel on a CPU")
        (_, deep, *size, _), (_, planes, *steps, _), padding = plain["ksize"], plain["strides"], plain["padding"].decode()
        n, depth, rows, columns, channels = volumes.shape
        found = pool(tf.reshape(volumes, (n * depth, rows, columns, channels)), size, steps, padding)
        rows, columns = found.shape[1:3]
        found = pool(tf.reshape(found, (n, depth, rows * columns, channels)), (deep, 1), (planes, 1), padding)
        return tf.reshape(found, (n, found.shape[1], rows, columns, channels))

    return pooled


_max_pool_3d, _average_pool_3d = _pool_3d(tf.nn.max_pool2d), _pool_3d(tf.nn.avg_pool2d)


def _gradient_of(pooled: Callable, plain: Mapping[str, Any], volumes: Any, gradient: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(volumes)
        found = pooled(plain, volumes)
    return [tape.gradient(found, volumes, gradient)]


def _resize_bilinear(plain: Mapping[str, Any], images: Any, size: Any) -> list[Any]:
    rows, columns = _bilinear(plain, images, [int(each) for each in size])
    return [tf.einsum("bhwc,ih,jw->bijc", images, rows, columns)]


def _resize_bilinear_gradient(plain: Mapping[str, Any], gradient: Any, images: Any) -> list[Any]:
    rows, columns = _bilinear(plain, images, list(gradient.shape[1:3]))
    return [tf.einsum("bijc,ih,jw->bhwc", gradient, rows, columns)]


def _bilinear(plain: Mapping[str, Any], images: Any, size: list[int]) -> list[np.ndarray]:
    """Return, of rows and of columns, the matrix whose products are the resized image's."""
    matrices = []
    for out, given in zip(size, images.shape[1:3], strict=True):
        ends = plain["align_corners"] and out > 1
        step = (given - 1) / (out - 1) if ends else given / out
        place = np.arange(out) * step
        if plain["half_pixel_centers"]:
            place = (np.arange(out) + 0.5) * step - 0.5
        low = np.floor(place)
        share = place - low
        matrix = np.zeros((out, given))
        for each, weight in ((low, 1.0 - share), (low + 1, share)):
            np.add.at(matrix, (np.arange(out), np.clip(each, 0, given - 1).astype(int)), weight)
        matrices.append(matrix)
    return matrices


def _projected(plain: Mapping[str, Any], images: Any, transforms: Any, size: Any, fill: Any) -> list[Any]:
    """Return what ImageProjectiveTransformV3 gives, whose kernel of float64 interpolates in float32."""
    if plain["interpolation"] == b"NEAREST":
        return [
            tf.raw_ops.ImageProjectiveTransformV3(
                images=images,
                transforms=tf.cast(transforms, tf.float32),
                output_shape=size,
                fill_value=tf.cast(fill, tf.float32),
                interpolation="NEAREST",
                fill_mode=plain["fill_mode"].decode(),
            )
        ]
    given, of = images.numpy(), transforms.numpy()[:, :, None, None]
    y, x = np.mgrid[: int(size[0]), : int(size[1])].astype(np.float64)
    scale = of[:, 6] * x + of[:, 7] * y + 1.0
    of_scale = np.where(scale == 0.0, 1.0, scale)
    places = [
        _within((of[:, at] * x + of[:, at + 1] * y + of[:, at + 2]) / of_scale, length, plain["fill_mode"])
        for at, length in ((3, given.shape[1]), (0, given.shape[2]))
    ]
    found = np.zeros((len(given), *y.shape, given.shape[3]))
    number = np.arange(len(given))[:, None, None]
    for ends in itertools.product((0, 1), repeat=2):
        corner = [np.floor(place) + end for place, end in zip(places, ends, strict=True)]
        share = (1.0 - np.abs(places[0] - corner[0])) * (1.0 - np.abs(places[1] - corner[1]))
        is_inside = (corner[0] >= 0) & (corner[0] < given.shape[1]) & (corner[1] >= 0) & (corner[1] < given.shape[2])
        row, column = (np.where(is_inside, at, 0).astype(int) for at in corner)
        found += share[..., None] * np.where(is_inside[..., None], given[number, row, column], float(fill))
    return [tf.constant(np.where((scale == 0.0)[..., None], float(fill), found))]


def _within(place: np.ndarray, length: int, mode: bytes) -> np.ndarray:
    """Return where in a row of so many pixels a place is, by what the operator does with those outside."""
    if mode == b"CONSTANT":
        return place
    if mode == b"REFLECT":
        place = np.mod(place, 2 * length) if length > 1 else np.zeros_like(place)
        place = np.where(place >= length, 2 * length - 1 - place, place)
    elif mode == b"WRAP":
        turns = np.trunc(np.abs(place) / max(1, length - 1))
        place = np.where(place < 0, place + length * (turns + 1), np.where(place > length - 1, place - length * turns, place))
    return np.clip(place, 0.0, length - 1.0)


_TABLE = 1024  # of weights between two pixels, from which the kernel of bicubic resizing takes the nearest


def _resize_bicubic(plain: Mapping[str, Any], images: Any, size: Any) -> list[Any]:
    rows, columns = _bicubic(plain, images.shape[1:3], [int(each) for each in size])
    return [tf.einsum("bhwc,ih,jw->bijc", images, rows, columns)]


def _resize_bicubic_gradient(plain: Mapping[str, Any], gradient: Any, images: Any) -> list[Any]:
    rows, columns = _bicubic(plain, images.shape[1:3], gradient.shape[1:3])
    return [tf.einsum("bijc,ih,jw->bhwc", gradient, rows, columns)]


def _bicubic(plain: Mapping[str, Any], images: Sequence[int], size: Sequence[int]) -> list[np.ndarray]:
    """Return, of rows and of columns, the matrix whose products are the resized image's, by the kernel's table of weights.

    Which row of the table is taken is chosen in float32, as the kernel does.
    """
    is_centred = plain["half_pixel_centers"]
    a, one = (-0.5 if is_centred else -0.75), np.float32(1.0)
    at = np.arange(_TABLE + 1) / _TABLE
    inner, outer = (
        ((a + 2.0) * at - (a + 3.0)) * at**2 + 1.0,
        ((a * (at + 1.0) - 5.0 * a) * (at + 1.0) + 8.0 * a) * (at + 1.0) - 4.0 * a,
    )
    matrices = []
    for out, given in zip(size, images, strict=True):
        ends = plain["align_corners"] and out > 1
        step = one * (given - 1) / (out - 1) if ends else one * given / np.float32(out)
        place = np.arange(out, dtype=np.float32)
        place = (place + np.float32(0.5)) * step - np.float32(0.5) if is_centred else place * step
        low = np.floor(place)
        row = np.rint((place - low) * np.float32(_TABLE)).astype(int)
        weights = np.stack([outer[row], inner[row], inner[_TABLE - row], outer[_TABLE - row]], 1)
        pixels = low.astype(int)[:, None] + np.arange(-1, 3)
        if is_centred:  # pixels outside have no weight, those inside all of it
            weights = np.where((pixels >= 0) & (pixels < given), weights, 0.0)
            weights = weights / weights.sum(1, keepdims=True)
        matrix = np.zeros((out, given))
        np.add.at(matrix, (np.arange(out)[:, None], np.clip(pixels, 0, given - 1)), weights)
        matrices.append(matrix)
    return matrices


def _lanczos(radius: float) -> tuple[float, Callable[[np.ndarray], np.ndarray]]:
    return radius, lambda x: np.sinc(x) * np.sinc(x / radius)


def _cubic(b: float, c: float) -> tuple[float, Callable[[np.ndarray], np.ndarray]]:
    """Return a cubic filter of Mitchell and Netravali, 1988, https://doi.org/10.1145/54852.378514, and its radius."""

    def weight(x: np.ndarray) -> np.ndarray:
        inner = ((12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)) / 6
        outer = ((-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)) / 6
        return np.where(x < 1.0, inner, outer)

    return 2.0, weight


# Of ScaleAndTranslate's filters the radius, and the weight of a pixel at a distance within it.
_FILTERS: dict[bytes, tuple[float, Callable[[np.ndarray], np.ndarray]]] = {
    b"lanczos1": _lanczos(1.0),
    b"lanczos3": _lanczos(3.0),
    b"lanczos5": _lanczos(5.0),
    b"gaussian": (1.5, lambda x: np.exp(-2.0 * x**2)),
    b"box": (1.0, lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0))),
    b"triangle": (1.0, lambda x: 1.0 - x),
    b"keyscubic": _cubic(0.0, 0.5),
    b"mitchellcubic": _cubic(1 / 3, 1 / 3),
}


def _scaled_and_moved(plain: Mapping[str, Any], images: Any, size: Any, scale: Any, translation: Any) -> list[Any]:
    rows, columns = _filtered(plain, images.shape[1:3], [int(each) for each in size], scale, translation)
    return [tf.einsum("bhwc,ih,jw->bijc", images, rows, columns)]


def _scaled_and_moved_gradient(plain: Mapping[str, Any], gradient: Any, images: Any, scale: Any, translation: Any) -> list[Any]:
    rows, columns = _filtered(plain, images.shape[1:3], gradient.shape[1:3], scale, translation)
    return [tf.einsum("bijc,ih,jw->bhwc", gradient, rows, columns)]


def _filtered(
    plain: Mapping[str, Any], images: Sequence[int], size: Sequence[int], scale: Any, translation: Any
) -> list[np.ndarray]:
    """Return, of rows and of columns, the matrix whose products are the image that is scaled and moved.

    Places are float32 numbers, as the kernel's: a filter of boxes jumps half way between two pixels.
    """
    radius, weight = _FILTERS[plain["kernel_type"]]
    matrices = []
    for out, given, factor, shift in zip(
        size, images, *(each.numpy().astype(np.float32) for each in (scale, translation)), strict=True
    ):
        step = np.float32(1.0) / factor
        width = max(step, np.float32(1.0)) if plain["antialias"] else np.float32(1.0)
        centre = ((np.arange(out, dtype=np.float32) + np.float32(0.5)) * step - step * shift)[:, None]
        apart = (np.abs(np.arange(given, dtype=np.float32) + np.float32(0.5) - centre) / width).astype(np.float64)
        matrix = np.where((apart < radius) & (centre >= 0.0) & (centre <= given), weight(np.minimum(apart, radius)), 0.0)
        total = matrix.sum(1, keepdims=True)
        matrices.append(np.divide(matrix, total, out=np.zeros_like(matrix), where=total != 0.0))
    return matrices


class _Boxes:
    """Where CropAndResize samples an image: from each box so many rows and columns, whose first and last are its ends.

    Args:
        boxes: [boxes, 4], as top, left, bottom, right; of an image's first to its last pixel, 0 to 1.
        lengths: rows and columns of the image.
        size: those of a box.
    """

    def __init__(self, plain: Mapping[str, Any], boxes: np.ndarray, lengths: Sequence[int], size: Sequence[int]) -> None:
        self._is_nearest = plain.get("method", b"bilinear") == b"nearest"
        self._last = [length - 1 for length in lengths]
        # How far each row, and each column, is from a box's first to its last: in the shape that both broadcast to.
        shares = [np.arange(n) / (n - 1) if n > 1 else np.array([0.5]) for n in size]
        self._ends = shares[0][None, :, None], shares[1][None, None, :]
        corners = boxes[:, :, None, None]
        self._places = [
            (corners[:, axis] + (corners[:, axis + 2] - corners[:, axis]) * self._ends[axis]) * self._last[axis]
            for axis in (0, 1)
        ]
        rows, columns = ((place >= 0) & (place <= last) for place, last in zip(self._places, self._last, strict=True))
        self.is_inside = (rows & columns)[..., None]

    def pixels(self) -> Iterator[tuple[Any, Any, Any, tuple[Any, Any]]]:
        """Return each pixel that is sampled: its row, its column, its share, and how that grows along rows and columns.

        Those of places outside of the image are of any of its pixels.
        """
        if self._is_nearest:
            yield *self._whole(self._nearest()), np.ones(self.is_inside.shape), (0.0, 0.0)
            return
        lows = [np.floor(place) for place in self._places]
        y, x = (place - low for place, low in zip(self._places, lows, strict=True))
        for down, right in itertools.product((False, True), repeat=2):
            # At a whole place both are the same pixel, and the image is held to be flat there.
            ends = zip(self._places, lows, (down, right), strict=True)
            at = self._whole([np.ceil(place) if is_next else low for place, low, is_next in ends])
            share_y, share_x = (y if down else 1.0 - y), (x if right else 1.0 - x)
            slopes = (share_x if down else -share_x), (share_y if right else -share_y)
            yield *at, (share_y * share_x)[..., None], slopes

    def _nearest(self) -> list[np.ndarray]:
        """Return the rows and columns that are nearest: half way between two, as the kernel chooses in float32."""
        return [np.floor(place.astype(np.float32) + np.float32(0.5)) for place in self._places]

    def _whole(self, places: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.clip(place, 0, last).astype(int) for place, last in zip(places, self._last, strict=True)]

    def of_corners(self, slopes: Sequence[np.ndarray]) -> np.ndarray:
        """Return the gradients of boxes, [boxes, 4], from those of the rows and columns at which each pixel is sampled."""
        found = [
            [np.sum(slope * share * last, (1, 2)) for share in (1.0 - end, end)]
            for slope, end, last in zip(slopes, self._ends, self._last, strict=True)
        ]
        return np.stack([found[0][0], found[1][0], found[0][1], found[1][1]], 1)


def _cropped(plain: Mapping[str, Any], images: Any, boxes: Any, of_image: Any, size: Any) -> list[Any]:
    given, number = images.numpy(), of_image.numpy()[:, None, None]
    sampled = _Boxes(plain, boxes.numpy(), given.shape[1:3], size.numpy())
    found = sum(share * given[number, row, column] for row, column, share, _ in sampled.pixels())
    return [tf.constant(np.where(sampled.is_inside, found, plain["extrapolation_value"]))]


def _cropped_to_image(plain: Mapping[str, Any], gradient: Any, boxes: Any, of_image: Any, shape: Any) -> list[Any]:
    found, number = np.zeros(shape.numpy()), of_image.numpy()[:, None, None]
    sampled = _Boxes(plain, boxes.numpy(), found.shape[1:3], gradient.shape[1:3])
    inside = np.where(sampled.is_inside, gradient.numpy(), 0.0)
    for row, column, share, _ in sampled.pixels():
        np.add.at(found, (number, row, column), share * inside)
    return [tf.constant(found)]


def _cropped_to_boxes(plain: Mapping[str, Any], gradient: Any, images: Any, boxes: Any, of_image: Any) -> list[Any]:
    given, number = images.numpy(), of_image.numpy()[:, None, None]
    sampled = _Boxes(plain, boxes.numpy(), given.shape[1:3], gradient.shape[1:3])
    inside = np.where(sampled.is_inside, gradient.numpy(), 0.0)
    slopes = [np.zeros(inside.shape[:3]), np.zeros(inside.shape[:3])]
    for row, column, _, along in sampled.pixels():
        of_pixel = np.sum(given[number, row, column] * inside, -1)
        slopes = [slope + each * of_pixel for slope, each in zip(slopes, along, strict=True)]
    return [tf.constant(sampled.of_corners(slopes))]


def _quantized(plain: Mapping[str, Any], numbers: Any, least: Any, most: Any) -> list[Any]:
    """Return numbers as levels between the least and the most: Jacob et al., 2018, https://doi.org/10.1109/CVPR.2018.00286."""
    first, last, step = _levels(plain, least, most)
    clamped = tf.clip_by_value(numbers, first, last)
    return [tf.where(step == 0.0, 0.0, tf.floor(tf.math.divide_no_nan(clamped - first, step) + 0.5) * step + first)]


def _quantized_gradient(plain: Mapping[str, Any], gradient: Any, numbers: Any, least: Any, most: Any) -> list[Any]:
    first, last, step = _levels(plain, least, most)
    axes = list(range(numbers.shape.rank - least.shape.rank))
    below, above = (numbers < first) & (step != 0.0), (numbers > last) & (step != 0.0)
    return [
        tf.where(below | above, 0.0, gradient),
        *(tf.reduce_sum(tf.where(outside, gradient, 0.0), axes) for outside in (below, above)),
    ]


def _levels(plain: Mapping[str, Any], least: Any, most: Any) -> tuple[Any, Any, Any]:
    """Return the first level, the last one, and the step from one to the next: 0 is a level. Which one, is chosen in float32."""
    lowest, highest = (1.0 if plain["narrow_range"] else 0.0), 2.0 ** plain["num_bits"] - 1.0
    step = (most - least) / (highest - lowest)
    in_single = tf.cast(most, tf.float32) - tf.cast(least, tf.float32)
    place = lowest - tf.cast(least, tf.float32) / (in_single / tf.constant(highest - lowest, tf.float32))
    of_zero = tf.cast(tf.floor(tf.clip_by_value(place, lowest, highest) + 0.5), tf.float64)
    return (lowest - of_zero) * step, (highest - of_zero) * step, step


def _of_attributes(plain: Mapping[str, Any]) -> tuple[Any, Any]:
    return tuple(tf.constant(plain[name], tf.float64) for name in ("min", "max"))


ALTERNATIVES: dict[str, Callable[..., list[Any]]] = {
    "FusedBatchNormV3": _fused_batch_norm,
    "FusedBatchNormGradV3": _fused_batch_norm_gradient,
    "Conv2DBackpropInput": _convolution_to_input,
    "Conv2DBackpropFilter": _convolution_to_kernel,
    "MaxPool3D": lambda plain, volumes: [_max_pool_3d(plain, volumes)],
    "MaxPool3DGrad": lambda plain, volumes, _, gradient: _gradient_of(_max_pool_3d, plain, volumes, gradient),
    "AvgPool3D": lambda plain, volumes: [_average_pool_3d(plain, volumes)],
    "AvgPool3DGrad": lambda plain, shape, gradient: _gradient_of(_average_pool_3d, plain, tf.zeros(shape, tf.float64), gradient),
    "ResizeBilinear": _resize_bilinear,
    "ResizeBilinearGrad": _resize_bilinear_gradient,
    "ResizeBicubic": _resize_bicubic,
    "ResizeBicubicGrad": _resize_bicubic_gradient,
    "ScaleAndTranslate": _scaled_and_moved,
    "ScaleAndTranslateGrad": _scaled_and_moved_gradient,
    "CropAndResize": _cropped,
    "CropAndResizeGradImage": _cropped_to_image,
    "CropAndResizeGradBoxes": _cropped_to_boxes,
    "FakeQuantWithMinMaxArgs": lambda plain, numbers: _quantized(plain, numbers, *_of_attributes(plain)),
    "FakeQuantWithMinMaxArgsGradient": (
        lambda plain, gradient, numbers: _quantized_gradient(plain, gradient, numbers, *_of_attributes(plain))[:1]
    ),
    "FakeQuantWithMinMaxVars": _quantized,
    "FakeQuantWithMinMaxVarsGradient": _quantized_gradient,
    "FakeQuantWithMinMaxVarsPerChannel": _quantized,
    "FakeQuantWithMinMaxVarsPerChannelGradient": _quantized_gradient,
    "ImageProjectiveTransformV3": _projected,
}

"""Two views of an image for contrastive learning: random resized crop, flip, colour jitter and grayscale, in vectorised numpy.

The transforms and their order are those of MoCo's CIFAR-10 demonstration (facebookresearch/moco at f736491,
colab/moco_cifar10_demo.ipynb), after SimCLR (Chen et al. 2020, arXiv 2002.05709, appendix A). They act on float32, where the
demonstration's act on 8-bit images and round after each.

Every draw is from a stream named by (seed, step, view). Only operations that IEEE 754 rounds exactly touch a pixel, and sums are
of integers, so that frameworks, machines and numpy releases see the same bits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runners.contract.data import streams

LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601
_ATTEMPTS = 10
_JITTERS = ("brightness", "contrast", "saturation", "hue")
_FIXED_POINT = 65536.0


def make_view(images: np.ndarray, rule: dict[str, Any], *, seed: int, step: int, view: str) -> np.ndarray:
    """Return one augmented view of each image, float32 [batch, height, width, 3] from 0 to 255, not rounded.

    Args:
        images: uint8 [batch, height, width, 3].
        rule: `crop` (`area` and `ratio`, two numbers each), `flip_probability`, `jitter` (`probability`, `brightness`,
            `contrast`, `saturation`, `hue`), `grayscale_probability`.
        view: names the streams, so that two views of a batch differ.
    """
    count, name = len(images), f"views/{view}"

    def draw(what: str, per_image: int = 1) -> np.ndarray:
        found = streams.uniform(seed, f"{name}/{what}", step, count=count * per_image)
        return found.reshape(count, per_image) if per_image > 1 else found

    boxes = crop_boxes(images.shape[1:3], rule["crop"], draws=draw("crop", 4 * _ATTEMPTS).reshape(count, _ATTEMPTS, 4))
    pixels = images.astype(np.float32)
    pixels *= np.float32(1.0 / 255.0)
    planes = resized_crops(pixels, *boxes, flips=draw("flip") < rule["flip_probability"])
    jitter = rule["jitter"]
    factors = draw("jitter", 4)
    # The four in an order of each image's own.
    order = np.argsort(draw("order", 4), axis=1, kind="stable")
    applied = draw("applied") < jitter["probability"]
    for place in range(4):
        for which, kind in enumerate(_JITTERS):
            chosen = np.flatnonzero(applied & (order[:, place] == which))
            if len(chosen):
                spread = jitter[kind]
                factor = (2.0 * factors[chosen, which] - 1.0) * spread + (0.0 if kind == "hue" else 1.0)
                planes[:, chosen] = _ADJUST[kind](planes.take(chosen, axis=1), factor.astype(np.float32))
    gray = np.flatnonzero(draw("grayscale") < rule["grayscale_probability"])
    planes[:, gray] = luminance(planes.take(gray, axis=1))
    planes *= np.float32(255.0)
    augmented = np.empty(images.shape, np.float32)
    for channel, plane in enumerate(planes):
        augmented[..., channel] = plane.swapaxes(1, 2)
    return augmented


def crop_boxes(
    shape: tuple[int, int], rule: dict[str, Any], *, draws: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (top, left, height, width) of each crop, int64 [batch].

    The area is uniform in rule["area"] times the image's, the ratio of width to height log-uniform in rule["ratio"]; the first of
    ten attempts that fits is taken, the whole image if none does.

    Args:
        draws: uniform in (0, 1), [batch, attempt, 4].
    """
    rows, columns = shape
    least, most = rule["area"]
    area = rows * columns * (least + (most - least) * draws[..., 0])
    low, high = (math.log(ratio) for ratio in rule["ratio"])
    ratio = np.exp(low + (high - low) * draws[..., 1])
    width, height = np.rint(np.sqrt(area * ratio)).astype(np.int64), np.rint(np.sqrt(area / ratio)).astype(np.int64)
    fits = (width > 0) & (width <= columns) & (height > 0) & (height <= rows)
    first, each = fits.argmax(axis=1), np.arange(len(draws))
    found = fits[each, first]
    width, height = np.where(found, width[each, first], columns), np.where(found, height[each, first], rows)
    top = (draws[each, first, 2] * (rows - height + 1)).astype(np.int64)
    left = (draws[each, first, 3] * (columns - width + 1)).astype(np.int64)
    return top, left, height, width


def resized_crops(
    pixels: np.ndarray, top: np.ndarray, left: np.ndarray, height: np.ndarray, width: np.ndarray, *, flips: np.ndarray
) -> np.ndarray:
    """Return each crop, enlarged bilinearly to the size of its image, mirrored where it flips: planes [3, batch, width, height].

    The centre of output pixel i lies at (i + 1/2) * crop / size - 1/2 of the crop; beyond the outer centres their value holds.
    """
    rows, columns = pixels.shape[1:3]
    above, below, down = _between(top, height, rows)
    before, after, right = (np.where(flips[:, None], each[:, ::-1], each) for each in _between(left, width, columns))
    each = np.arange(len(pixels))[:, None]
    # Rows, then columns with rows and columns exchanged: both are a gather of whole lines.
    tall = _mixed(pixels[each, above], pixels[each, below], down[:, :, None, None])
    tall = np.ascontiguousarray(tall.transpose(3, 0, 2, 1)).reshape(3, -1, rows)
    first, second = (tall.take(each * columns + at, axis=1) for at in (before, after))
    return _mixed(first, second, right[:, :, None])


def luminance(planes: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the channels, [batch, width, height]."""
    red, green, blue = planes
    sums = red * LUMA[0]
    sums += green * LUMA[1]
    sums += blue * LUMA[2]
    return sums


def adjust_brightness(planes: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return the images times their factors [batch], within [0, 1]."""
    return _within(planes * factor[:, None, None])


def adjust_contrast(planes: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return factor * image + (1 - factor) * its mean luminance, within [0, 1]."""
    fixed = np.rint(luminance(planes) * _FIXED_POINT)  # whole numbers, of which float64 adds 2^37 exactly
    mean = (fixed.sum(axis=(1, 2), dtype=np.float64) / (fixed[0].size * _FIXED_POINT)).astype(np.float32)
    return _blended(planes, mean[:, None, None], factor)


def adjust_saturation(planes: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return factor * image + (1 - factor) * its luminance, within [0, 1]."""
    return _blended(planes, luminance(planes), factor)


def adjust_hue(planes: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return the images with the hue of HSV (Smith 1978, https://doi.org/10.1145/800248.807361) moved by a part of a turn."""
    red, green, blue = planes
    value = np.maximum(np.maximum(red, green), blue)
    chroma = value - np.minimum(np.minimum(red, green), blue)
    # Chosen by products with 0 and 1: np.where branches, which takes long where masks are as good as random.
    is_red, is_green = value == red, value == green
    first, second, third = (each.astype(np.float32) for each in (is_red, is_green & ~is_red, ~(is_red | is_green)))
    sixths = first * (green - blue)
    sixths += second * (blue - red)
    sixths += third * (red - green)
    sixths /= chroma + (chroma == 0).astype(np.float32)
    second *= np.float32(2.0)
    third *= np.float32(4.0)
    second += third
    sixths += second
    sixths += np.float32(6.0) * turn[:, None, None]
    # Channel n of HSV: value - chroma * max(0, min(k, 4 - k, 1)) with k = (n + hue) mod 6, for n of 5, 3, 1. A gray pixel, of
    # chroma 0, is its value whatever its hue.
    turned = np.empty_like(planes)
    for channel, n in zip(turned, (5.0, 3.0, 1.0), strict=True):
        k = sixths + np.float32(n)
        np.divide(k, np.float32(6.0), out=channel)
        np.floor(channel, out=channel)
        channel *= np.float32(6.0)
        k -= channel
        np.subtract(np.float32(4.0), k, out=channel)
        part = _within(np.minimum(k, channel, out=k))
        part *= chroma
        np.subtract(value, part, out=channel)
    return _within(turned)


_ADJUST = {
    "brightness": adjust_brightness,
    "contrast": adjust_contrast,
    "saturation": adjust_saturation,
    "hue": adjust_hue,
}


def _between(start: np.ndarray, length: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each output pixel the two source pixels that it lies between, and the share of the second, [batch, size]."""
    centre = (np.arange(size) + 0.5)[None] * (length / size)[:, None] - 0.5
    centre = np.clip(centre, 0.0, (length - 1)[:, None])
    first = np.floor(centre).astype(np.int64)
    second = np.minimum(first + 1, (length - 1)[:, None])
    return start[:, None] + first, start[:, None] + second, (centre - first).astype(np.float32)


def _mixed(first: np.ndarray, second: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return first + (second - first) * share, in the place of the second."""
    second -= first
    second *= share
    second += first
    return second


def _blended(planes: np.ndarray, other: np.ndarray, factor: np.ndarray) -> np.ndarray:
    factor = factor[:, None, None]
    blended = planes * factor
    blended += other * (np.float32(1.0) - factor)
    return _within(blended)


def _within(values: np.ndarray) -> np.ndarray:
    """Return the values cut off at 0 and 1, in their place."""
    return np.clip(values, np.float32(0.0), np.float32(1.0), out=values)

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

    top, left, height, width = crop_boxes(
        images.shape[1:3], rule["crop"], draws=draw("crop", 4 * _ATTEMPTS).reshape(count, _ATTEMPTS, 4)
    )
    flips = draw("flip") < rule["flip_probability"]
    pixels = np.multiply(images, np.float32(1.0 / 255.0), dtype=np.float32)
    pixels = resized_crops(pixels, top, left, height, width)
    pixels[flips] = pixels[flips, :, ::-1]
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
                pixels[chosen] = _ADJUST[kind](pixels[chosen], factor.astype(np.float32))
    gray = np.flatnonzero(draw("grayscale") < rule["grayscale_probability"])
    pixels[gray] = luminance(pixels[gray])
    return pixels * np.float32(255.0)


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


def resized_crops(pixels: np.ndarray, top: np.ndarray, left: np.ndarray, height: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return each crop, enlarged bilinearly to the size of the image it was cut from.

    The centre of output pixel i lies at (i + 1/2) * crop / size - 1/2 of the crop; beyond the outer centres their value holds.
    """
    rows, columns = pixels.shape[1:3]
    above, below, down = _between(top, height, rows)
    before, after, right = _between(left, width, columns)
    each = np.arange(len(pixels))[:, None]
    # Rows, then columns with rows and columns exchanged: both are a gather of whole lines.
    tall = _mixed(pixels[each, above], pixels[each, below], down[:, :, None, None])
    tall = np.ascontiguousarray(tall.swapaxes(1, 2))
    return np.ascontiguousarray(_mixed(tall[each, before], tall[each, after], right[:, :, None, None]).swapaxes(1, 2))


def luminance(pixels: np.ndarray) -> np.ndarray:
    """Return the weighted sum of the channels, [batch, height, width, 1]."""
    red, green, blue = (pixels[..., channel : channel + 1] * LUMA[channel] for channel in range(3))
    return (red + green) + blue


def adjust_brightness(pixels: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return the images times their factors [batch], within [0, 1]."""
    return np.clip(pixels * factor[:, None, None, None], 0.0, 1.0)


def adjust_contrast(pixels: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return factor * image + (1 - factor) * its mean luminance, within [0, 1]."""
    fixed = np.rint(luminance(pixels) * _FIXED_POINT).astype(np.int64)
    mean = (fixed.sum(axis=(1, 2, 3)) / (fixed[0].size * _FIXED_POINT)).astype(np.float32)
    return _blended(pixels, mean[:, None, None, None], factor)


def adjust_saturation(pixels: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return factor * image + (1 - factor) * its luminance, within [0, 1]."""
    return _blended(pixels, luminance(pixels), factor)


def adjust_hue(pixels: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Return the images with the hue of HSV (Smith 1978, https://doi.org/10.1145/800248.807361) moved by a part of a turn."""
    red, green, blue = (pixels[..., channel] for channel in range(3))
    # By pairs: 21 microseconds for 13 images, where numpy 2.4 takes 590 to reduce an axis of three elements.
    value = np.maximum(np.maximum(red, green), blue)
    chroma = value - np.minimum(np.minimum(red, green), blue)
    is_gray = chroma == 0
    divisor = np.where(is_gray, np.float32(1.0), chroma)
    sixths = np.where(
        value == red,
        (green - blue) / divisor,
        np.where(value == green, np.float32(2.0) + (blue - red) / divisor, np.float32(4.0) + (red - green) / divisor),
    )
    sixths = sixths + np.float32(6.0) * turn[:, None, None]
    # Channel n of HSV: value - chroma * max(0, min(k, 4 - k, 1)) with k = (n + hue) mod 6, for n of 5, 3, 1.
    channels = []
    for n in (5.0, 3.0, 1.0):
        k = sixths + np.float32(n)
        k = k - np.float32(6.0) * np.floor(k / np.float32(6.0))
        part = np.clip(np.minimum(k, np.float32(4.0) - k), 0.0, 1.0)
        channels.append(np.where(is_gray, value, np.clip(value - chroma * part, 0.0, 1.0)))
    return np.stack(channels, axis=-1)


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
    return first + (second - first) * share


def _blended(pixels: np.ndarray, other: np.ndarray, factor: np.ndarray) -> np.ndarray:
    factor = factor[:, None, None, None]
    return np.clip(pixels * factor + other * (np.float32(1.0) - factor), 0.0, 1.0)

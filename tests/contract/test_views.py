"""The two views: each transform against a slow definition of it, pixel by pixel."""

from __future__ import annotations

import colorsys
import hashlib
import math

import numpy as np
import pytest

from runners.contract.data import streams, views

RULE = {
    "crop": {"area": [0.08, 1.0], "ratio": [0.75, 4 / 3]},
    "flip_probability": 0.5,
    "jitter": {"probability": 0.8, "brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1},
    "grayscale_probability": 0.2,
}
OFF = {
    "crop": {"area": [1.0, 1.0], "ratio": [1.0, 1.0]},
    "flip_probability": 0.0,
    "jitter": {"probability": 0.0, "brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1},
    "grayscale_probability": 0.0,
}


@pytest.fixture
def images() -> np.ndarray:
    """Forty images of 13 x 11 pixels, one of them gray."""
    words = streams.raw(0, "test", count=40 * 13 * 11 * 3)
    images = (words >> np.uint64(56)).astype(np.uint8).reshape(40, 13, 11, 3)
    images[7] = images[7, :, :, :1]
    return images


@pytest.fixture
def pixels(images) -> np.ndarray:
    return images.astype(np.float32) / np.float32(255)


def adjusted(adjust, pixels, factor) -> np.ndarray:
    """Return images [batch, height, width, channel] adjusted, which views hold by channel, width before height."""
    return adjust(pixels.transpose(3, 0, 2, 1), factor).transpose(1, 3, 2, 0)


def view(images, rule, *, step=0, name="query"):
    return views.make_view(images, rule, seed=3, step=step, view=name) / np.float32(255)


def test_with_everything_off_a_view_is_the_image(images, pixels):
    """No crop, flip, jitter or gray: the pixels."""
    np.testing.assert_allclose(view(images, OFF), pixels, atol=1e-7)


def test_a_view_is_a_function_of_seed_step_and_name(images):
    """The same three give the same bits; each of them matters."""
    first = view(images, RULE)
    np.testing.assert_array_equal(first, view(images, RULE))
    for other in (
        view(images, RULE, step=1),
        view(images, RULE, name="key"),
        views.make_view(images, RULE, seed=4, step=0, view="query") / np.float32(255),
    ):
        assert (np.abs(first - other).max(axis=(1, 2, 3)) > 1e-3).mean() > 0.9


def test_views_keep_their_bits(images):
    """Tapes and references were made with these: the digest is of float32 as the first version of this code gave it."""
    found = np.stack([view(images, RULE, step=step, name=name) for step in range(20) for name in ("query", "key")])
    assert hashlib.sha256(found.tobytes()).hexdigest() == "7df9b3a76a49d8eeb7127cd03793c52e0c19c5c24a8bfe2438f2baec25104407"


def test_an_image_has_its_view_whatever_else_is_in_the_batch(images):
    """The draws of an image depend on its place alone: a longer batch begins with the same views."""
    np.testing.assert_array_equal(view(images[:8], RULE)[0], view(images[:8].copy(), RULE)[0])
    assert view(images, RULE).shape == images.shape


def test_views_stay_in_range(images):
    """Every value of every view is one that a pixel can have."""
    found = np.stack([view(images, RULE, step=step) for step in range(10)])
    assert found.min() >= 0.0
    assert found.max() <= 1.0


def test_crops_have_the_stated_area_and_ratio():
    """Areas are uniform in their range, ratios log-uniform, and every crop lies within the image."""
    draws = streams.uniform(1, "test", count=4000 * 10 * 4).reshape(4000, 10, 4)
    top, left, height, width = views.crop_boxes((96, 96), RULE["crop"], draws=draws)
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (top + height <= 96).all()
    assert (left + width <= 96).all()
    ratio = width / height
    assert ratio.min() == pytest.approx(0.75, abs=0.03)
    assert ratio.max() == pytest.approx(4 / 3, abs=0.05)
    area = (height * width) / 96**2
    assert area.min() == pytest.approx(0.08, abs=0.01)
    # Small areas always fit, so that they are the first attempt; large ones that do not fit are drawn again.
    first = draws[:, 0, 0] * 0.92 + 0.08
    small = first < 0.5
    np.testing.assert_allclose(area[small], first[small], atol=0.02)
    # Where there is room, the place is uniform.
    room = height < 48
    assert (top[room] / (96 - height[room])).mean() == pytest.approx(0.5, abs=0.03)


def test_a_crop_that_never_fits_is_the_whole_image():
    """Twice the area of the image fits at no ratio: after ten attempts the whole image is taken."""
    top, left, height, width = views.crop_boxes((9, 9), {"area": [2.0, 2.0], "ratio": [1.0, 1.0]}, draws=np.full((1, 10, 4), 0.5))
    assert [int(each[0]) for each in (top, left, height, width)] == [0, 0, 9, 9]


def test_crops_are_enlarged_bilinearly(pixels):
    """Pixel by pixel: between the centres of the crop's pixels linearly, beyond the outer ones constant; the second mirrored."""
    boxes = [np.array(each) for each in ([2, 0], [1, 4], [5, 13], [7, 1])]
    found = views.resized_crops(pixels[:2], *boxes, flips=np.array([False, True])).transpose(1, 3, 2, 0)
    found[1] = found[1, :, ::-1].copy()
    for n in range(2):
        top, left, height, width = (int(each[n]) for each in boxes)
        for i in range(13):
            for j in range(11):
                y = min(max((i + 0.5) * height / 13 - 0.5, 0), height - 1)
                x = min(max((j + 0.5) * width / 11 - 0.5, 0), width - 1)
                y0, x0 = math.floor(y), math.floor(x)
                y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
                at = lambda row, column: pixels[n, top + row, left + column].astype(float)  # noqa: B023, E731
                upper = at(y0, x0) + (at(y0, x1) - at(y0, x0)) * (x - x0)
                lower = at(y1, x0) + (at(y1, x1) - at(y1, x0)) * (x - x0)
                np.testing.assert_allclose(found[n, i, j], upper + (lower - upper) * (y - y0), atol=1e-6)


def test_a_flip_mirrors_columns(images, pixels):
    """At probability 1 left and right change places; at a half, of about half of the images."""
    np.testing.assert_allclose(view(images, OFF | {"flip_probability": 1.0}), pixels[:, :, ::-1], atol=1e-7)
    flipped = np.concatenate([view(images, OFF | {"flip_probability": 0.5}, step=step) for step in range(20)])
    share = (np.abs(flipped - np.tile(pixels, (20, 1, 1, 1))).max(axis=(1, 2, 3)) > 1e-3).mean()
    assert share == pytest.approx(0.5, abs=0.06)


def test_brightness_multiplies(pixels):
    """Times the factor, cut off at 1."""
    found = adjusted(views.adjust_brightness, pixels[:2], np.array([0.6, 1.4], np.float32))
    np.testing.assert_allclose(found[0], pixels[0] * 0.6, rtol=1e-6)
    np.testing.assert_allclose(found[1], np.minimum(pixels[1] * 1.4, 1), rtol=1e-6)


def test_contrast_is_about_the_mean_luminance(pixels):
    """The factor acts on the distance to the mean of 0.299 R + 0.587 G + 0.114 B."""
    found = adjusted(views.adjust_contrast, pixels[:1], np.array([0.7], np.float32))
    mean = (pixels[0].astype(float) @ [0.299, 0.587, 0.114]).mean()
    np.testing.assert_allclose(found[0], mean + 0.7 * (pixels[0] - mean), atol=1e-5)


def test_saturation_is_about_each_pixels_luminance(pixels):
    """The factor acts on the distance to the pixel's own luminance: 0 leaves gray."""
    found = adjusted(views.adjust_saturation, pixels[:2], np.array([1.3, 0.0], np.float32))
    gray = (pixels[:2].astype(float) @ [0.299, 0.587, 0.114])[..., None]
    np.testing.assert_allclose(found[0], np.clip(gray[0] + 1.3 * (pixels[0] - gray[0]), 0, 1), atol=1e-5)
    np.testing.assert_allclose(found[1], np.broadcast_to(gray[1], pixels[1].shape), atol=1e-6)


@pytest.mark.parametrize("turn", [-0.5, -0.1, 0.0, 0.07, 0.4])
def test_hue_turns_as_in_hsv(pixels, turn):
    """As Python's own colorsys has it; a gray pixel has no hue and stays."""
    found = adjusted(views.adjust_hue, pixels[5:8], np.full(3, turn, np.float32))
    for place in np.ndindex(3, 13, 11):
        hue, saturation, value = colorsys.rgb_to_hsv(*pixels[5:8][place].astype(float))
        np.testing.assert_allclose(found[place], colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value), atol=2e-6)
    np.testing.assert_array_equal(found[2], pixels[7])


def test_jitter_and_gray_come_as_often_as_stated(images, pixels):
    """Of 800 views about 80 % are jittered and 20 % gray; jitters come in every order."""
    jittered = np.concatenate([view(images, OFF | {"jitter": RULE["jitter"]}, step=step) for step in range(20)])
    share = (np.abs(jittered - np.tile(pixels, (20, 1, 1, 1))).max(axis=(1, 2, 3)) > 1e-6).mean()
    assert share == pytest.approx(0.8, abs=0.06)
    gray = np.concatenate([view(images, OFF | {"grayscale_probability": 0.2}, step=step) for step in range(20)])
    colourful = np.ptp(np.delete(gray.reshape(20, 40, 13, 11, 3), 7, axis=1), axis=-1).max(axis=(2, 3)) > 0
    assert 1 - colourful.mean() == pytest.approx(0.2, abs=0.06)


def test_the_order_of_the_jitters_matters(images):
    """Contrast and brightness do not commute: the views of one image in two steps differ by more than their factors would."""
    only = {**OFF["jitter"], "probability": 1.0, "saturation": 0.0, "hue": 0.0}
    found = view(images, OFF | {"jitter": only})
    pixels = images.astype(np.float32) / np.float32(255)
    factors = streams.uniform(3, "views/query/jitter", 0, count=160).reshape(40, 4)
    bright, contrast = ((0.8 * factors[:, which] + 0.6).astype(np.float32) for which in (0, 1))
    one = adjusted(views.adjust_contrast, adjusted(views.adjust_brightness, pixels, bright), contrast)
    other = adjusted(views.adjust_brightness, adjusted(views.adjust_contrast, pixels, contrast), bright)
    first, second = (np.abs(found - each).max(axis=(1, 2, 3)) < 1e-5 for each in (one, other))
    assert (first | second).all()
    assert 8 < first.sum() < 32

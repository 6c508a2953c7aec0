"""Pixels and masks at a new size, against a loop over pixels; run lengths, against pycocotools."""

from __future__ import annotations

import numpy as np
import pytest
from pycocotools import mask as coder

from tests.vigil.test_coco import read
from vigil.data.coco.annotations import decode_annotation
from vigil.data.coco.documents import decode, run_lengths
from vigil.data.coco.resize import fit_image, fit_mask, fitted_size


def fitted_slowly(values: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the mean under each new pixel, by a loop over new and old pixels."""
    old_height, old_width = values.shape
    result = np.zeros((height, width))
    for r in range(height):
        for c in range(width):
            for i in range(old_height):
                for j in range(old_width):
                    tall = min((r + 1) / height, (i + 1) / old_height) - max(r / height, i / old_height)
                    wide = min((c + 1) / width, (j + 1) / old_width) - max(c / width, j / old_width)
                    result[r, c] += max(tall, 0) * max(wide, 0) * values[i, j] * height * width
    return result


@pytest.mark.parametrize("size", [(17, 23), (23, 17), (9, 30), (5, 4), (8, 8), (24, 24)])
def test_a_new_pixel_is_the_mean_of_what_lies_under_it(size):
    """Against a loop over pixels, for images larger and smaller than the side of 8; where a mean is a tie either may be."""
    image = np.random.default_rng(1).integers(0, 256, (*size, 3), dtype=np.uint8)
    height, width = fitted_size(*size, side=8)
    found = fit_image(image, 8)
    for channel in range(3):
        slow = fitted_slowly(image[..., channel], height, width)
        assert np.abs(found[:height, :width, channel] - slow).max() <= 0.5 + 1e-9
    assert (found[height:] == 128).all()
    assert (found[:, width:] == 128).all()
    mask = image[..., 0] > 128
    slow = fitted_slowly(mask.astype(float), height, width)
    clear = np.abs(slow - 0.5) > 1e-9
    np.testing.assert_array_equal(fit_mask(mask, 8)[:height, :width][clear], slow[clear] > 0.5)
    assert not fit_mask(np.ones(size, bool), 8)[height:].any()


def test_half_covered_is_in_the_mask():
    """Two columns of four, one of them set, become one column of pixels that are in; none of it set is out."""
    mask = np.zeros((4, 4), bool)
    mask[:, 0] = True
    assert fit_mask(mask, 2).tolist() == [[True, False], [True, False]]


def test_an_image_of_the_right_size_stays_as_it_is():
    """Bit for bit, and its masks too."""
    image = np.random.default_rng(2).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    np.testing.assert_array_equal(fit_image(image, 32), image)
    np.testing.assert_array_equal(fit_mask(image[..., 1] > 99, 32), image[..., 1] > 99)


def test_an_image_and_its_mask_stay_together():
    """A bright rectangle and its mask, made smaller, still cover each other: no half pixel between the two rules."""
    image, mask = np.zeros((90, 120, 3), np.uint8), np.zeros((90, 120), bool)
    image[20:71, 33:101], mask[20:71, 33:101] = 255, True
    small = fit_image(image, 32)[..., 0]
    height, width = fitted_size(90, 120, side=32)
    np.testing.assert_array_equal((small >= 128)[:height, :width], fit_mask(mask, 32)[:height, :width])


@pytest.mark.parametrize(
    ("size", "expected"), [((480, 640), (96, 128)), ((640, 427), (128, 85)), ((1, 1000), (1, 128)), ((3, 3), (128, 128))]
)
def test_the_longer_edge_becomes_the_side(size, expected):
    """The shorter one is rounded to the nearest pixel, and never lost."""
    assert fitted_size(*size, side=128) == expected


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_run_lengths_are_read_as_pycocotools_writes_them(share):
    """Masks of 37 x 53 pixels of every density come back, from text, from bytes and from numbers."""
    mask = np.random.default_rng(4).random((37, 53)) < share
    (lengths,) = run_lengths(mask[None])
    np.testing.assert_array_equal(decode(lengths), mask)
    np.testing.assert_array_equal(decode(lengths | {"counts": lengths["counts"].decode()}), mask)
    flat = np.concatenate([[False], mask.T.reshape(-1)])
    edges = np.flatnonzero(np.diff(flat.astype(int)))
    counts = np.diff(np.concatenate([[0], edges, [mask.size]])).tolist()
    np.testing.assert_array_equal(decode({"size": [37, 53], "counts": counts}), mask)


@pytest.mark.parametrize("counts", [[5, 5], [1965, -4], "04", "é", "0 1"])
def test_run_lengths_that_do_not_fit_are_refused(counts):
    """Too few, negative, or no numbers: pycocotools would read beyond the mask, or leave it half empty."""
    with pytest.raises(ValueError, match="run lengths"):
        decode({"size": [37, 53], "counts": counts})


def test_every_annotation_of_coco_is_decoded_as_pycocotools_does():
    """839 annotations of 100 images, polygons and uncompressed run lengths of crowds: the same pixels."""
    truth = read("ground_truth")
    sizes = {image["id"]: (image["height"], image["width"]) for image in truth["images"]}
    for annotation in truth["annotations"]:
        height, width = sizes[annotation["image_id"]]
        lengths = coder.frPyObjects(annotation["segmentation"], height, width)
        lengths = lengths if annotation["iscrowd"] else coder.merge(lengths)
        mask = decode_annotation(annotation, height=height, width=width)
        assert run_lengths(mask[None])[0]["counts"] == lengths["counts"]
    assert sum(annotation["iscrowd"] for annotation in truth["annotations"]) == 9

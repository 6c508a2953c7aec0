"""Pasting a mask: against a slow loop over pixels, at odd sizes and outside the image, and against wrong conventions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vigil.data.coco.paste import paste_mask

BOXES = {
    "inside": (3.2, 4.7, 30.9, 21.1),
    "whole numbers": (5, 6, 33, 34),
    "smaller than a pixel": (10.6, 10.7, 10.9, 10.95),
    "less than a pixel wide": (10.2, 3.0, 10.8, 25.0),
    "over the left and upper edge": (-12.5, -7.25, 14.0, 9.5),
    "over the right and lower edge": (25.5, 20.0, 70.0, 55.5),
    "around the image": (-20.0, -30.0, 80.0, 90.0),
    "outside": (60.0, 50.0, 80.0, 70.0),
    "outside before": (-30.0, -20.0, -5.0, -4.0),
    "without width": (8.0, 4.0, 8.0, 20.0),
    "without height": (8.0, 4.0, 20.0, 4.0),
}
HEIGHT, WIDTH = 29, 37


def value_at(mask: np.ndarray, i: float, j: float) -> float:
    """Return the sum over all cells of value times overlap of unit tents: bilinear interpolation, written out; outside is 0."""
    return sum(
        max(0.0, 1 - abs(i - row)) * max(0.0, 1 - abs(j - column)) * float(mask[row, column])
        for row in range(max(0, math.floor(i)), min(len(mask), math.floor(i) + 2))
        for column in range(max(0, math.floor(j)), min(len(mask), math.floor(j) + 2))
    )


def pasted_slowly(
    mask, box, *, half: float = 0.5, swap: bool = False, edge: bool = False, align: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pasted mask by a loop over pixels, and each pixel's value; the keywords make it another convention."""
    left, top, right, bottom = box
    m = len(mask)
    values = np.zeros((HEIGHT, WIDTH))
    for r in range(HEIGHT if bottom > top and right > left else 0):
        for c in range(WIDTH):
            i = (r + half - top) / (bottom - top) * m - half
            j = (c + half - left) / (right - left) * m - half
            if align:
                i, j = (i + half) * (m - 1) / m, (j + half) * (m - 1) / m
            if edge:
                i, j = min(max(i, 0), m - 1), min(max(j, 0), m - 1)
            values[r, c] = value_at(mask, j, i) if swap else value_at(mask, i, j)
    return values >= 0.5, values


@pytest.fixture(params=[28, 7, 1])
def mask(request) -> np.ndarray:
    """A mask of random probabilities, smooth enough to have an inside: 28, 7 and 1 cells a side."""
    draws = np.random.default_rng(request.param).random((request.param + 4, request.param + 4))
    smooth = sum(draws[i : i + request.param, j : j + request.param] for i in range(5) for j in range(5)) / 25
    return np.clip((smooth - 0.5) * 4 + 0.5, 0, 1).astype(np.float32)


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_every_pixel_is_that_of_the_slow_loop(mask, box):
    """Wherever the box lies; a pixel whose value is one half within rounding may be either."""
    slow, values = pasted_slowly(mask, box)
    pasted = paste_mask(mask, np.array(box), height=HEIGHT, width=WIDTH)
    assert (pasted.shape, pasted.dtype) == ((HEIGHT, WIDTH), bool)
    clear = np.abs(values - 0.5) > 1e-12
    np.testing.assert_array_equal(pasted[clear], slow[clear])


@pytest.mark.parametrize("other", ["half", "swap", "edge", "align"])
def test_another_convention_is_another_mask(other):
    """Pixels at their corners, rows for columns, an edge that goes on outside, or aligned corners: the slow loop sees each."""
    other = {other: 0.0 if other == "half" else True}
    mask = np.zeros((7, 7), np.float32)
    mask[:, 4:] = 1
    mask[:2] = 1
    box = np.array(BOXES["inside"])
    pasted = paste_mask(mask, box, height=HEIGHT, width=WIDTH)
    assert (pasted != pasted_slowly(mask, box, **other)[0]).any()


def test_a_full_mask_fills_the_pixels_whose_centres_are_in_the_box():
    """With many cells the edge lies at the box: at columns 4 to 9 for 3.6 to 10.4, as for 4.4 to 9.6; one half is inside."""
    full = np.ones((512, 512), np.float32)
    for left, right in ((3.6, 10.4), (4.4, 9.6)):
        pasted = paste_mask(full, np.array([left, 2.0, right, 5.0]), height=HEIGHT, width=WIDTH)
        assert np.flatnonzero(pasted.any(axis=0)).tolist() == [4, 5, 6, 7, 8, 9]
        assert np.flatnonzero(pasted.any(axis=1)).tolist() == [2, 3, 4]


def test_one_half_everywhere_is_inside():
    """The threshold is met by one half itself, at every pixel between the outer cells' centres."""
    half = paste_mask(np.full((28, 28), 0.5, np.float16), np.array([0.0, 0.0, 28.0, 28.0]), height=28, width=28)
    assert half.all()
    below = paste_mask(np.full((28, 28), 0.4995, np.float16), np.array([0.0, 0.0, 28.0, 28.0]), height=28, width=28)
    assert not below.any()


def test_at_its_own_size_a_mask_stays_what_it_is():
    """28 x 28 cells in a box of 28 x 28 pixels: each cell is a pixel, bit for bit."""
    mask = np.random.default_rng(3).random((28, 28)) > 0.5
    pasted = paste_mask(mask.astype(np.float16), np.array([4.0, 1.0, 32.0, 29.0]), height=29, width=37)
    np.testing.assert_array_equal(pasted[1:29, 4:32], mask)
    assert pasted.sum() == mask.sum()

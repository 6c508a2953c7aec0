"""Scenes: masks are exactly what can be seen, boxes are theirs, and every machine draws the same pixels."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.data import scenes
from runners.contract.data.scenes import CLASSES, MOST_INSTANCES, SIDE, box_of, checksum, make_scenes, shape_mask


@pytest.fixture(scope="module")
def some() -> scenes.Scenes:
    return make_scenes("train", 40)


def test_every_machine_draws_the_same(some):
    """The checksum of the first 40 scenes is pinned; the test split is another."""
    assert checksum(some)[:16] == "d77e69e9f792596d"
    assert checksum(make_scenes("test", 40)) != checksum(some)


def test_a_scene_is_the_same_however_many_are_asked_for(some):
    """The first eight of forty are the eight of eight."""
    few = make_scenes("train", 8)
    np.testing.assert_array_equal(few.images, some.images[:8])
    np.testing.assert_array_equal(few.packed_masks, some.packed_masks[:8])


def test_masks_do_not_overlap_and_boxes_fit_them(some):
    """A pixel shows one shape; each box is the smallest around its mask, and empty rows are empty."""
    for index in range(40):
        masks = some.masks(index)
        assert masks.sum(axis=0).max() <= 1
        for kind, box, mask in zip(some.classes[index], some.boxes[index], masks, strict=True):
            assert (kind >= 0) == mask.any() == bool(box.any())
            if kind >= 0:
                left, top, right, bottom = box.astype(int)
                assert mask[top:bottom, left:right].sum() == mask.sum()
                assert mask[top, left:right].any()
                assert mask[bottom - 1, left:right].any()
                assert mask[top:bottom, left].any()
                assert mask[top:bottom, right - 1].any()


def test_what_a_mask_shows_has_the_shapes_colour(some):
    """Within a mask the colour varies by shading and noise only; outside it is another: the masks are those of the pixels."""
    apart = []
    for index in range(40):
        image = some.images[index].astype(float)
        for mask in some.masks(index)[some.classes[index] >= 0]:
            around = np.zeros_like(mask)
            around[1:] |= mask[:-1]
            around[:-1] |= mask[1:]
            around &= ~mask
            apart.append(np.abs(image[mask].mean(axis=0) - image[around].mean(axis=0)).max())
            assert image[mask].std(axis=0).max() < 40
    assert np.median(apart) > 40


def test_classes_sizes_and_counts_vary(some):
    """All six classes, from one shape to many, from small ones to large ones."""
    many = make_scenes("train", 200)
    count = (many.classes >= 0).sum(axis=1)
    assert count.min() >= 1
    assert count.max() == MOST_INSTANCES
    share = np.bincount(many.classes[many.classes >= 0], minlength=len(CLASSES)) / count.sum()
    assert (np.abs(share - 1 / 6) < 0.05).all()
    areas = np.unpackbits(many.packed_masks, axis=-1).sum(axis=-1)[many.classes >= 0]
    assert areas.min() < 150
    assert areas.max() > 1500


def test_covered_shapes_are_in_no_list(monkeypatch):
    """With nothing dropped, some scenes would list shapes of which hardly anything is seen."""
    listed = (make_scenes("train", 40).classes >= 0).sum()
    monkeypatch.setattr(scenes, "LEAST_VISIBLE", 10**6)
    everything = sum((scenes._make_scene("train", index)[1] >= 0).sum() for index in range(40))
    assert everything > listed


@pytest.mark.parametrize("kind", CLASSES)
def test_a_shape_has_its_area(kind):
    """In pixels, for a radius of 30, turned or not, up to its edge; the slow formula of the plane gives the area."""
    r = 30.0
    expected = {
        "disc": np.pi * r**2,
        "square": (2 * 7 / 8 * r) ** 2,
        "triangle": 0.5 * (2 * 4 / 7 * 1.5 * r) * (1.5 * r),
        "cross": 4 * r * (2 / 3 * r) - (2 / 3 * r) ** 2,
        "ring": np.pi * r**2 * 3 / 4,
        "bar": 2 * r * (2 / 3 * r),
    }[kind]
    for turn in ((1, 0, 1), (3, 4, 5), (-7, 24, 25)):
        mask = shape_mask(kind, centre=(SIDE, SIDE), radius=30, turn=turn)
        assert mask.sum() == pytest.approx(expected, rel=0.06)


def test_a_box_is_exclusive_on_the_right_and_below():
    """One pixel at row 3, column 5 has the box 5, 3, 6, 4."""
    mask = np.zeros((8, 8), bool)
    mask[3, 5] = True
    assert box_of(mask).tolist() == [5.0, 3.0, 6.0, 4.0]


@pytest.mark.parametrize(("split", "count"), [("validation", 3), ("train", 0), ("test", 5001)])
def test_what_does_not_exist_is_refused(split, count):
    """Unknown splits and counts are an error that names the allowed ones."""
    with pytest.raises(ValueError, match="allowed are train"):
        make_scenes(split, count)

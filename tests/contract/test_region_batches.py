"""Batches of a detector: a pure function of seed and step, labels that belong to their images, detections from rows."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.data import instances
from runners.contract.data.batches import split
from runners.contract.data.region_batches import RegionBatches, mirrored
from runners.contract.data.scenes import box_of
from runners.contract.errors import NanDetections, UnusableData
from runners.contract.kinds import detections
from runners.contract.kinds.table import kind_of
from vigil.recipes.loading import load_recipe


@pytest.fixture(scope="module")
def batches() -> RegionBatches:
    """Those of the smoke profile: batches of 4, 32 training images."""
    training = load_recipe("tiny_mask_rcnn").resolve("smoke")
    return kind_of(training).make_batches(kind_of(training).load(training["data"], None), training, seed=3)


def test_a_step_is_always_the_same(batches):
    """The same step gives the same bits, the next one others."""
    (images, labels), (again, labels_again) = batches.train(2), batches.train(2)
    np.testing.assert_array_equal(images, again)
    for name, array in labels.items():
        np.testing.assert_array_equal(array, labels_again[name])
    _, others = batches.train(3)
    moving = ("boxes", "masks", "anchor_priorities", "proposal_priorities")
    assert all((labels[name] != others[name]).any() for name in moving)


def test_labels_are_of_their_images(batches):
    """In ten batches each box is that of its mask, mirrored or not; what is empty is empty everywhere."""
    for step in range(10):
        images, labels = batches.train(step)
        assert (images.shape, images.dtype) == ((4, 128, 128, 3), np.float32)
        for box, kind, mask in zip(
            labels["boxes"].reshape(-1, 4), labels["classes"].ravel(), labels["masks"].reshape(-1, 128, 128), strict=True
        ):
            np.testing.assert_array_equal(box, box_of(mask) if kind >= 0 else np.zeros(4))
            assert mask.any() == (kind >= 0)


def test_both_kinds_of_images_are_there(batches):
    """Some images are mirrored and some are not, whole: image, box and mask."""
    flips = np.array([True, False])
    images, labels = batches.train(0)
    found = mirrored(images[:2], labels["boxes"][:2], labels["masks"][:2], flips=flips)
    for array, original in zip(found, (images, labels["boxes"], labels["masks"]), strict=True):
        np.testing.assert_array_equal(array[1], original[1])
        assert (array[0] != original[0]).any()
    back = mirrored(*found, flips=flips)
    for array, original in zip(back, (images, labels["boxes"], labels["masks"]), strict=True):
        np.testing.assert_array_equal(array, original[:2])


def test_nothing_is_given_in_training(batches):
    """Proposals in the place of the model's own come from verify alone."""
    _, labels = batches.train(0)
    assert not labels["is_given"].any()
    assert labels["proposals"].shape == (4, 48, 4)
    assert labels["anchor_priorities"].shape == (4, 960)
    assert labels["proposal_priorities"].shape == (4, 48 + 8)


def test_a_shard_has_all_arrays(batches):
    """Cut into 3 and 1, every array of the labels is cut; put together again it is what it was."""
    _, labels = batches.train(0)
    shards = split(labels, (3, 1))
    assert [len(shard["boxes"]) for shard in shards] == [3, 1]
    for name, array in labels.items():
        np.testing.assert_array_equal(np.concatenate([shard[name] for shard in shards]), array)


def test_rows_become_detections():
    """One image with one disc, one with nothing."""
    rows = np.zeros((2, 3, 6 + 4))
    rows[..., 0] = -1
    rows[0, 0] = [2, 0.9, 1, 2, 5, 8, 0.1, 0.2, 0.3, 0.4]
    found = detections.from_rows(rows, np.array([7, 8]))
    detections.check(found)
    assert found.classes.tolist() == [[2, -1, -1], [-1, -1, -1]]
    assert found.boxes[0, 0].tolist() == [1, 2, 5, 8]
    np.testing.assert_allclose(found.masks[0, 0], [[0.1, 0.2], [0.3, 0.4]], atol=1e-3)


def test_detections_that_are_not_finite_are_refused():
    """An image of NaN must not pass for one in which nothing was found: the run fails, by a word of its own."""
    rows = np.zeros((3, 2, 6 + 4))
    rows[..., 0] = -1
    rows[1] = np.nan
    with pytest.raises(NanDetections, match=r"1 of 3 test images is not finite, the first has the id 12") as raised:
        detections.from_rows(rows, np.array([11, 12, 13]))
    assert raised.value.category == "nan_detections"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_classes": 5}, r"the data have 6 classes \(disc, .*\), the recipe's model\.n_classes is 5\. Write 6 there"),
        ({"n_classes": 7}, r"model\.n_classes is 7\. Write 6 there"),
        ({"image_shape": [256, 256, 3]}, r"are 128 pixels wide and high, .* is \[256, 256, 3\]\. Import them with `--side 256`"),
    ],
)
def test_data_that_do_not_fit_the_model_are_refused(changes, message):
    """Data of the user's own with another number of classes or another size than the recipe says: both are named."""
    training = load_recipe("tiny_mask_rcnn").resolve("smoke")
    dataset = instances.load(training["data"], None)
    training["model"] |= changes
    with pytest.raises(UnusableData, match=message):
        kind_of(training).make_batches(dataset, training, seed=3)

"""Batches for detectors: images with the instances in them, and every random choice that a training step makes of regions.

Which anchors and proposals a step learns from is drawn here, as priorities: the programs of all frameworks are free of chance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.contract.data import streams
from runners.contract.data.batches import Batches
from runners.contract.data.datasets import DataSet
from runners.contract.data.instances import InstanceSet
from runners.contract.errors import UnusableData
from runners.contract.kinds import regions
from runners.contract.kinds.detections import Detections, from_rows


class RegionBatches(Batches):
    """Training batches of images and labels in several arrays, evaluation batches of images and their places in the split.

    The labels of a training batch, each with a row for each image:

        boxes: float32 [batch, most, 4]; classes: int32 [batch, most], -1 in a row without an instance.
        masks: uint8 [batch, most, side, side], 0 or 1.
        anchor_priorities: int32 [batch, anchor], a random order. proposal_priorities: int32 [batch, proposal + most].
        proposals: float32 [batch, proposal, 4], and is_given: int32 [batch], 1 where they take the place of the model's own.
            Training gives none.

    Raises:
        UnusableData: The data have other classes than the recipe's model, or another size.
    """

    def __init__(
        self, whole: InstanceSet, training: dict[str, Any], *, seed: int, order: Callable[[int], np.ndarray] | None = None
    ) -> None:
        require_fit(whole, training["model"])
        train, test = whole.train.images, whole.test.images
        images = DataSet(train, np.arange(len(train)), test, np.arange(len(test)), whole.checksum)
        super().__init__(images, training, seed=seed, order=order)
        self._instances = whole
        model = training["model"]
        self._n_anchors, self._n_proposals = len(regions.anchors(model)), model["proposals"]["count"]

    def train(self, step: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the batch of step `step`: images float32 [batch, height, width, channel], and labels in several arrays."""
        index = self._index(step)
        flips = streams.uniform(self._seed, "augmentation/flip", step, count=len(index)) < self._augmentation["flip_probability"]
        labels = self._labels(index)
        batch, most = labels["classes"].shape
        images, labels["boxes"], labels["masks"] = mirrored(
            self._normalise(self._data.train_images[index]), labels["boxes"], labels["masks"], flips=flips
        )
        for name, n in {"anchor_priorities": self._n_anchors, "proposal_priorities": self._n_proposals + most}.items():
            labels[name] = regions.priorities(self._seed, f"regions/{name}", step, shape=(batch, n))
        labels["proposals"] = np.zeros((batch, self._n_proposals, 4), np.float32)
        labels["is_given"] = np.zeros(batch, np.int32)
        return images, labels

    def detections(self, rows: np.ndarray) -> Detections:
        """Return what was found in the test images, from the rows [image, detection, number] that a model gives back."""
        return from_rows(rows, self._instances.test.image_ids)

    def _labels(self, places: np.ndarray) -> dict[str, np.ndarray]:
        train = self._instances.train
        masks = np.unpackbits(train.packed_masks[places], axis=-1).reshape(*train.classes[places].shape, train.side, train.side)
        return {"boxes": train.boxes[places], "classes": train.classes[places], "masks": masks}


def require_fit(whole: InstanceSet, model: dict[str, Any]) -> None:
    """Raise UnusableData unless a set has the classes and the size that a recipe's model is made for.

    Left to the frameworks, a class too many is an error in one and a loss that is not a number in another.
    """
    side, n_classes = model["image_shape"][0], len(whole.class_names)
    if n_classes != model["n_classes"]:
        raise UnusableData(
            f"the data have {n_classes} classes ({', '.join(whole.class_names)}), the recipe's model.n_classes is "
            f"{model['n_classes']}. Write {n_classes} there."
        )
    for found in {whole.train.side, whole.test.side} - {side}:
        raise UnusableData(
            f"the images are {found} pixels wide and high, the recipe's model.image_shape is {model['image_shape']}. Import them "
            f"with `--side {side}`, or write {[found, found, 3]} there."
        )


def mirrored(
    images: np.ndarray, boxes: np.ndarray, masks: np.ndarray, *, flips: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images with their boxes and masks, left and right exchanged where `flips` [batch] says so. Padding stays padding."""
    left, top, right, bottom = np.moveaxis(boxes, -1, 0)
    other = np.stack([images.shape[2] - right, top, images.shape[2] - left, bottom], axis=-1)
    changes = flips[:, None, None] & (boxes != 0).any(axis=-1, keepdims=True)
    images, masks = images.copy(), masks.copy()
    images[flips] = images[flips, :, ::-1]
    masks[flips] = masks[flips, ..., ::-1]
    return images, np.where(changes, other, boxes), masks

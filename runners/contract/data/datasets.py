"""The data set of a run, whole in memory as uint8."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.data import cifar10, digits, generated, labelled, textures
from runners.contract.data.kept import kept
from runners.contract.errors import UnusableData


@dataclasses.dataclass(frozen=True)
class DataSet:
    """Images uint8 [n, height, width, channel], labels int64 [n]. `checksum` is over exactly these bytes.

    class_names: of a set that was imported, by label.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    checksum: str
    class_names: tuple[str, ...] = ()


def load(data: dict[str, Any], directory: str | None) -> DataSet:
    """Load the first n_train and n_test labelled images. Raises UnusableData for missing or altered files.

    A set with a checksum was imported: it is checked whole.
    """
    n_train, n_test = data["n_train"], data["n_test"]
    if data.get("checksum"):
        return _imported(data, Path(directory or ""))
    if data["name"] in _EMBEDDED:
        train, test = (_embedded(data["name"], split, count) for split, count in (("train", n_train), ("test", n_test)))
    elif data["name"] == "cifar10":
        images, labels, test_images, test_labels = cifar10.load(Path(directory or ""))
        train, test = (images[:n_train], labels[:n_train]), (test_images[:n_test], test_labels[:n_test])
    elif data["name"] == "digits":  # tested on what it was trained on, as published
        images, labels = digits.load()
        train, test = (images[:n_train], labels[:n_train]), (images[:n_test], labels[:n_test])
    else:
        raise ValueError(f"data set {data['name']!r}: allowed are {', '.join([*_EMBEDDED, 'cifar10', 'digits'])}")
    return DataSet(*train, *test, checksum=_checksum(train, test))


def _checksum(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> str:
    return generated.checksum(*train)[:16] + generated.checksum(*test)[:16]


def require_fit(dataset: DataSet, model: dict[str, Any]) -> None:
    """Raise UnusableData unless a set has the size of image and the classes that a recipe's model is made for.

    Left to the frameworks, a class too many is an error in one and a loss that is not a number in another.
    """
    found, expected = dataset.train_images.shape[1:], tuple(model["image_shape"])
    if found != expected:
        raise UnusableData(
            f"the images are {list(found)} (height, width, channels), the recipe's model.image_shape is {list(expected)}. "
            f"Write {list(found)} there."
        )
    if (classes := len(dataset.class_names)) != model["n_classes"]:
        raise UnusableData(
            f"the data have {classes} classes, the recipe's model.n_classes is {model['n_classes']}. Write {classes} there."
        )


def _imported(data: dict[str, Any], directory: Path) -> DataSet:
    path = directory / f"{data['name']}.npz"
    whole, splits = labelled.read(path, expected=data["checksum"]), []
    for split in ("train", "test"):
        images, labels, count = getattr(whole, f"{split}_images"), getattr(whole, f"{split}_labels"), data[f"n_{split}"]
        if count > len(labels):
            raise UnusableData(
                f"{path}, {split}: the recipe asks for {count} images, the file holds {len(labels)}. Ask for as many at most."
            )
        splits.append((images[:count], labels[:count]))
    train, test = splits
    for label in np.setdiff1d(np.arange(len(whole.class_names)), train[1])[:1]:
        raise UnusableData(
            f"{path}, train: none of the first {len(train[1])} images is of class {whole.class_names[label]}: they are taken in "
            "the file's order, that of folders class by class. Ask for all, or import them in a mixed order."
        )
    return DataSet(*train, *test, checksum=_checksum(train, test), class_names=whole.class_names)


@functools.lru_cache(maxsize=4)
def _embedded(name: str, split: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    def make() -> dict[str, np.ndarray]:
        images, labels = _EMBEDDED[name](split, count)
        return {"images": images, "labels": labels}

    arrays = kept(f"{name}-{split}-{count}", make)
    return arrays["images"], arrays["labels"]


_EMBEDDED = {"generated": generated.make_images, "textures": textures.make_images}

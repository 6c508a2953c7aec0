"""The data set of a run, whole in memory as uint8."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.data import cifar10, digits, generated, textures
from runners.contract.data.kept import kept


@dataclasses.dataclass(frozen=True)
class DataSet:
    """Images uint8 [n, height, width, channel], labels int64 [n]. `checksum` is over exactly these bytes."""

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    checksum: str


def load(data: dict[str, Any], directory: str | None) -> DataSet:
    """Load the first n_train and n_test labelled images. Raises UnusableData for missing or altered files."""
    n_train, n_test = data["n_train"], data["n_test"]
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
    return DataSet(*train, *test, checksum=generated.checksum(*train)[:16] + generated.checksum(*test)[:16])


@functools.lru_cache(maxsize=4)
def _embedded(name: str, split: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    def make() -> dict[str, np.ndarray]:
        images, labels = _EMBEDDED[name](split, count)
        return {"images": images, "labels": labels}

    arrays = kept(f"{name}-{split}-{count}", make)
    return arrays["images"], arrays["labels"]


_EMBEDDED = {"generated": generated.make_images, "textures": textures.make_images}

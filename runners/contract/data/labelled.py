"""A user's labelled images, as `vigil data import` writes them: NAME.npz in the data directory."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from runners.contract.data import archives

KIND = "labelled images"
_ARRAYS = {"train_images": "u1", "train_labels": "<i8", "test_images": "u1", "test_labels": "<i8"}


@dataclasses.dataclass(frozen=True)
class LabelledSet:
    """Images uint8 [n, height, width, channel], labels int64 [n], and the names of the classes by label.

    checksum: over every array with its shape, and over the names.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    class_names: tuple[str, ...]
    checksum: str


def make_set(arrays: dict[str, np.ndarray], class_names: tuple[str, ...]) -> LabelledSet:
    """Return a set of arrays by their names in it, with its checksum."""
    own, names = {name: arrays[name] for name in _ARRAYS}, tuple(class_names)
    return LabelledSet(**own, class_names=names, checksum=archives.checksum(own, _ARRAYS, names=names))


def write(path: Path, whole: LabelledSet) -> None:
    """Write a set as NAME.npz, all of it or nothing."""
    arrays = {name: getattr(whole, name).astype(dtype) for name, dtype in _ARRAYS.items()}
    archives.write(path, kind=KIND, class_names=np.array(whole.class_names), **arrays)


def read(path: Path, *, expected: str | None = None) -> LabelledSet:
    """Return what `write` has written. Raises UnusableData if it is missing, damaged, or has another checksum than expected."""
    arrays = archives.read(path, kind=KIND, names=("class_names", *_ARRAYS))
    whole = make_set(arrays, tuple(map(str, arrays["class_names"])))
    archives.require_checksum(path, whole.checksum, expected)
    return whole

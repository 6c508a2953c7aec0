"""The data set of a detector, whole in memory: images, and what is in each by class, box and mask.

`scenes` is embedded. Any other name is a file NAME.npz in the data directory, which `vigil coco import` makes of a user's folder;
a recipe that names it says its checksum too, so that a name means the same pixels on every machine.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.data import scenes
from runners.contract.data.kept import kept
from runners.contract.errors import DAMAGED_ARCHIVE, UnusableData
from runners.contract.files import replacing

EMBEDDED = "scenes"
SCHEMA = 1
# Dtypes are part of what is checked: the same numbers in another type are another file.
_ARRAYS = {"images": "u1", "image_ids": "<i8", "classes": "<i4", "boxes": "<f4", "crowd": "?", "packed_masks": "u1"}


@dataclasses.dataclass(frozen=True)
class Instances:
    """One split of n images. An image has rows for `most` instances; where it has fewer the rest is empty.

    images: uint8 [n, side, side, 3], red, green, blue. image_ids: int64 [n], no two alike.
    classes: int32 [n, most], a place in the class names; -1 where there is no instance.
    boxes: float32 [n, most, 4], left, top, right, bottom of the mask in pixels; right and bottom are exclusive.
    crowd: bool [n, most], true of a region in which a detector is neither right nor wrong. There is none in a training split.
    packed_masks: uint8 [n, most, side * side / 8], by numpy.packbits.
    """

    images: np.ndarray
    image_ids: np.ndarray
    classes: np.ndarray
    boxes: np.ndarray
    crowd: np.ndarray
    packed_masks: np.ndarray

    @property
    def side(self) -> int:
        """The height and the width of an image, in pixels."""
        return self.images.shape[1]

    def masks(self, index: int) -> np.ndarray:
        """Return the masks of one image, bool [most, side, side]."""
        bits = np.unpackbits(self.packed_masks[index], axis=-1)
        return bits.reshape(-1, self.side, self.side).astype(bool)

    def first(self, count: int) -> Instances:
        """Return the first images."""
        return Instances(**{name: getattr(self, name)[:count] for name in _ARRAYS})


@dataclasses.dataclass(frozen=True)
class InstanceSet:
    """Two splits and the names of their classes. `checksum` is over exactly these bytes."""

    train: Instances
    test: Instances
    class_names: tuple[str, ...]
    checksum: str


def load(data: dict[str, Any], directory: str | None) -> InstanceSet:
    """Return the first n_train and n_test images of a set.

    Args:
        data: name, n_train, n_test, and the checksum of the whole file unless the name is `scenes`.
        directory: where NAME.npz lies; None for the embedded set.

    Raises:
        UnusableData: The file is missing, altered, or has fewer images than are asked for.
    """
    if data["name"] == EMBEDDED:
        train, test = (_from_scenes(split, data[f"n_{split}"]) for split in ("train", "test"))
        names: tuple[str, ...] = scenes.CLASSES
    else:
        path = Path(directory or "") / f"{data['name']}.npz"
        whole = read(path, expected=data["checksum"])
        train, test = (_first(getattr(whole, split), data[f"n_{split}"], where=f"{path}, {split}") for split in ("train", "test"))
        names = whole.class_names
    return make_set(train, test, names)


def make_set(train: Instances, test: Instances, class_names: tuple[str, ...]) -> InstanceSet:
    """Return a set with its checksum: the first 16 characters of each split's."""
    parts = (checksum(split, class_names)[:16] for split in (train, test))
    return InstanceSet(train, test, tuple(class_names), "".join(parts))


def checksum(split: Instances, class_names: tuple[str, ...]) -> str:
    """Return the SHA-256 of every array of a split with its shape, and of the class names."""
    digest = hashlib.sha256(repr(tuple(class_names)).encode())
    for name, dtype in _ARRAYS.items():
        array = np.ascontiguousarray(getattr(split, name), dtype=dtype)
        digest.update(f"{name} {dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write(path: Path, whole: InstanceSet) -> None:
    """Write a set as NAME.npz, all of it or nothing."""
    arrays = {f"{split}_{name}": getattr(getattr(whole, split), name) for split in ("train", "test") for name in _ARRAYS}
    with replacing(path) as file:
        np.savez_compressed(file, schema=np.int64(SCHEMA), class_names=np.array(whole.class_names), **arrays)


def read(path: Path, *, expected: str | None = None) -> InstanceSet:
    """Return what `write` has written. Raises UnusableData if it is missing, damaged, or has another checksum than expected."""
    try:
        content = path.read_bytes()
    except OSError as error:
        known = ", ".join([EMBEDDED, *sorted(each.stem for each in path.parent.glob("*.npz"))])
        raise UnusableData(
            f"{path}: cannot be read ({error.strerror}). Make it with `vigil coco import {path.stem}`, or let VIGIL_DATA_DIR "
            f"name the directory that holds it. Data sets there are: {known}."
        ) from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            if int(arrays["schema"]) != SCHEMA:
                raise UnusableData(f"{path}: schema {arrays['schema']}, this version reads {SCHEMA}. Import the set again.")
            train, test = (Instances(**{name: arrays[f"{split}_{name}"] for name in _ARRAYS}) for split in ("train", "test"))
            names = tuple(map(str, arrays["class_names"]))
    except DAMAGED_ARCHIVE as error:
        raise UnusableData(f"{path}: is not a data set, or is damaged ({error}). Remove it, and import the set again.") from error
    whole = make_set(train, test, names)
    if expected is not None and whole.checksum != expected:
        raise UnusableData(
            f"{path}: expected checksum {expected}, found {whole.checksum}. The recipe was written for other images, annotations "
            "or options of `vigil coco import`: import that set again, or write the checksum that was found into the recipe."
        )
    return whole


@functools.lru_cache(maxsize=4)
def _from_scenes(split: str, count: int) -> Instances:
    made = kept(f"scenes-{split}-{count}", lambda: vars(scenes.make_scenes(split, count)))
    boxes, classes = made["boxes"].astype(np.float32), made["classes"].astype(np.int32)
    crowd = np.zeros(classes.shape, bool)
    return Instances(made["images"], np.arange(1, count + 1), classes, boxes, crowd, made["packed_masks"])


def _first(split: Instances, count: int, *, where: str) -> Instances:
    if count > len(split.images):
        raise UnusableData(
            f"{where}: the recipe asks for {count} images, the file holds {len(split.images)}. Ask for as many at most."
        )
    return split.first(count)

"""A user's labelled images, as `vigil data import` writes them: NAME.npz in the data directory.

A recipe that names one says its checksum too, so that a name means the same pixels on every machine.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
from pathlib import Path

import numpy as np

from runners.contract.errors import DAMAGED_ARCHIVE, UnusableData
from runners.contract.files import replacing

SCHEMA = 1
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
    digest = hashlib.sha256(repr(tuple(class_names)).encode())
    for name, dtype in _ARRAYS.items():
        array = np.ascontiguousarray(arrays[name], dtype=dtype)
        digest.update(f"{name} {dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    own = {name: arrays[name] for name in _ARRAYS}
    return LabelledSet(**own, class_names=tuple(class_names), checksum=digest.hexdigest()[:32])


def write(path: Path, whole: LabelledSet) -> None:
    """Write a set as NAME.npz, all of it or nothing."""
    arrays = {name: getattr(whole, name).astype(dtype) for name, dtype in _ARRAYS.items()}
    with replacing(path) as file:
        np.savez_compressed(file, kind=np.array(KIND), schema=np.int64(SCHEMA), class_names=np.array(whole.class_names), **arrays)


def read(path: Path, *, expected: str | None = None) -> LabelledSet:
    """Return what `write` has written. Raises UnusableData if it is missing, damaged, or has another checksum than expected."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnusableData(
            f"{path}: cannot be read ({error.strerror}). Make it with `vigil data import {path.stem}`, or let VIGIL_DATA_DIR "
            "name the directory that holds it."
        ) from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            if str(archive["kind"]) != KIND or int(archive["schema"]) != SCHEMA:
                raise UnusableData(f"{path}: holds {archive['kind']}, schema {archive['schema']}; read are {KIND}, {SCHEMA}.")
            arrays = {name: archive[name] for name in _ARRAYS}
            names = tuple(map(str, archive["class_names"]))
    except (OSError, *DAMAGED_ARCHIVE) as error:
        raise UnusableData(
            f"{path}: is no set of {KIND}, or is damaged ({error}). Remove it, and import the set again."
        ) from error
    whole = make_set(arrays, names)
    if expected is not None and whole.checksum != expected:
        raise UnusableData(
            f"{path}: expected checksum {expected}, found {whole.checksum}. The recipe was written for other images, labels or "
            "options of `vigil data import`: import that set again, or write the checksum that was found into the recipe."
        )
    return whole

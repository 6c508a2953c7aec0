"""What `vigil data import` writes and runners read: NAME.npz in the data directory, arrays of one kind under a checksum.

A recipe that names one says its checksum too, so that a name means the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.errors import DAMAGED_ARCHIVE, UnusableData
from runners.contract.files import replacing

SCHEMA = 1


def checksum(arrays: Mapping[str, np.ndarray], types: Mapping[str, str], *, names: tuple[str, ...]) -> str:
    """Return the SHA-256, 32 characters of it, of every array with its type and shape, and of the names beside them."""
    digest = hashlib.sha256(repr(tuple(names)).encode())
    for name, dtype in types.items():
        array = np.ascontiguousarray(arrays[name], dtype=dtype)
        digest.update(f"{name} {dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:32]


def write(path: Path, *, kind: str, **arrays: Any) -> None:
    """Write arrays of one kind of data as NAME.npz, all of it or nothing."""
    with replacing(path) as file:
        np.savez_compressed(file, kind=np.array(kind), schema=np.int64(SCHEMA), **arrays)


def read(path: Path, *, kind: str, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return what `write` has written. Raises UnusableData if it is missing, damaged, or of another kind."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnusableData(
            f"{path}: cannot be read ({error.strerror}). Make it with `vigil data import {path.stem}`, or let VIGIL_DATA_DIR "
            "name the directory that holds it."
        ) from error
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            if str(archive["kind"]) != kind or int(archive["schema"]) != SCHEMA:
                raise UnusableData(f"{path}: holds {archive['kind']}, schema {archive['schema']}; read are {kind}, {SCHEMA}.")
            return {name: archive[name] for name in names}
    except DAMAGED_ARCHIVE as error:
        raise UnusableData(
            f"{path}: is no set of {kind}, or is damaged ({error}). Remove it, and import the set again."
        ) from error


def require_checksum(path: Path, found: str, expected: str | None) -> None:
    """Raise UnusableData unless a set has the checksum that a recipe says; None takes any."""
    if expected is not None and found != expected:
        raise UnusableData(
            f"{path}: expected checksum {expected}, found {found}. The recipe was written for other data or options of "
            "`vigil data import`: import that set again, or write the checksum that was found into the recipe."
        )

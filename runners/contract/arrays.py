"""Arrays in one .npz file, with the digest of them all among them: what is read is what was written, or it is refused.

Files from before there were digests have none, and are read without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from runners.contract.errors import DAMAGED_ARCHIVE
from runners.contract.files import replacing

Arrays = dict[str, np.ndarray]
DIGEST = "sha256"


def digest_of_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the SHA-256 over names, types, shapes and bits."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], *, durable: bool = False, is_compressed: bool = False) -> None:
    """Replace a file by arrays and their digest: a killed process leaves the old one or the new one, whole."""
    whole: dict[str, Any] = {**arrays, DIGEST: np.array(digest_of_arrays(arrays))}
    with replacing(path, durable=durable) as file:
        (np.savez_compressed if is_compressed else np.savez)(file, **whole)


def read_arrays(path: Path) -> Arrays:
    """Return the arrays of a file.

    Raises:
        OSError: It cannot be opened.
        ValueError: It is no whole .npz file, or its content is not what was written.
    """
    with open(path, "rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            digest = arrays.pop(DIGEST, None)
            is_whole = digest is None or str(digest) == digest_of_arrays(arrays)
        except DAMAGED_ARCHIVE as error:
            raise ValueError(f"not a whole .npz file: {type(error).__name__}: {error}") from error
    if not is_whole:
        raise ValueError(f"{DIGEST}: the content is not what was written: it was altered or damaged")
    return arrays

"""The official CIFAR-10 files (Krizhevsky 2009), read only when their published MD5 agrees.

Pickles can run code. These are checked before they are opened, and opened by an unpickler that admits an array and
nothing else.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path

import numpy as np

from runners.contract.errors import UnusableData

FOLDER = "cifar-10-batches-py"
FILES = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
    "batches.meta": "5ff9c542aee3614f3951f8cda6e48888",
}
TRAIN_FILES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
TEST_FILES = ("test_batch",)


def load(directory: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training images and labels, test images and labels, in the files' order.

    Images are uint8 [n, 32, 32, 3], labels int64 [n]; n is 50,000 and 10,000.

    Raises:
        UnusableData: A file is missing or its MD5 differs, with the file and both checksums.
    """
    train = [_read_batch(directory, name) for name in TRAIN_FILES]
    test = [_read_batch(directory, name) for name in TEST_FILES]
    train_images, train_labels = (np.concatenate(parts) for parts in zip(*train, strict=True))
    test_images, test_labels = (np.concatenate(parts) for parts in zip(*test, strict=True))
    return train_images, train_labels, test_images, test_labels


def verify(directory: Path) -> None:
    """Raise UnusableData unless every official file is there, with its published MD5."""
    for name in FILES:
        read_verified(directory, name)


def read_verified(directory: Path, name: str) -> bytes:
    """Return the content of one official file; what is returned is what was checked."""
    path = directory / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnusableData(
            f"{path}: cannot be read ({error.strerror}). Put the file {name} of the official archive "
            f"cifar-10-python.tar.gz there (MD5 {FILES[name]})."
        ) from error
    check_md5(content, path, FILES[name])
    return content


def check_md5(content: bytes, path: Path, expected: str) -> None:
    """Raise UnusableData unless the MD5 of `content` is `expected`; `path` is for the message."""
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found != expected:
        raise UnusableData(
            f"{path}: expected MD5 {expected}, found {found}. The file is truncated or altered: remove it, and put the "
            "official one there."
        )


def _read_batch(directory: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    batch = _ArrayUnpickler(io.BytesIO(read_verified(directory, name)), encoding="bytes").load()
    channels_first = batch[b"data"].reshape(-1, 3, 32, 32)
    return np.ascontiguousarray(channels_first.transpose(0, 2, 3, 1)), np.array(batch[b"labels"], dtype=np.int64)


class _ArrayUnpickler(pickle.Unpickler):
    """Lets a pickle name numpy's array and dtype constructors, and refuses any other name."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) in {("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct")}:
            return np.empty(0).__reduce__()[0]
        if (module, name) == ("numpy", "ndarray"):
            return np.ndarray
        if (module, name) == ("numpy", "dtype"):
            return np.dtype
        if (module, name) == ("_codecs", "encode"):  # how Python 3 writes bytes in protocol 2
            return _encode_latin1
        raise UnusableData(f"a CIFAR-10 file asks for {module}.{name}; only numpy arrays are admitted")


def _encode_latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise UnusableData(f"a CIFAR-10 file asks for the codec {encoding!r}; only latin1 is admitted")
    return text.encode("latin1")

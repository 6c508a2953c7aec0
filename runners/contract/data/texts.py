"""Texts as language models take them: characters by number. A user's own is NAME.npz, as `vigil data import` writes it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from runners.contract.data import archives

KIND = "text"
LARGEST_VOCABULARY = 2**16
_ARRAYS = {"characters": "<u4", "train": "<u2", "test": "<u2"}


@dataclasses.dataclass(frozen=True)
class TextSet:
    """A text in two parts, each character as its place among the kinds: uint16 [character].

    characters: the code points of the kinds, uint32 [kind], in ascending order.
    """

    characters: np.ndarray
    train: np.ndarray
    test: np.ndarray
    checksum: str


def make_set(train: np.ndarray, test: np.ndarray) -> TextSet:
    """Return the set of two texts of code points, uint32 [character]; a kind is what the first one has."""
    characters, tokens = np.unique(train, return_inverse=True)
    if not np.isin(test, characters).all() or len(characters) > LARGEST_VOCABULARY:
        raise ValueError(f"at most {LARGEST_VOCABULARY} kinds of characters, and none in test that train does not have")
    return _with_checksum(
        {"characters": characters.astype(np.uint32), "train": tokens, "test": np.searchsorted(characters, test)}
    )


def write(path: Path, whole: TextSet) -> None:
    """Write a set as NAME.npz, all of it or nothing."""
    archives.write(path, kind=KIND, **{name: getattr(whole, name).astype(dtype) for name, dtype in _ARRAYS.items()})


def read(path: Path, *, expected: str | None = None) -> TextSet:
    """Return what `write` has written. Raises UnusableData if it is missing, damaged, or has another checksum than expected."""
    whole = _with_checksum(archives.read(path, kind=KIND, names=tuple(_ARRAYS)))
    archives.require_checksum(path, whole.checksum, expected)
    return whole


def _with_checksum(arrays: dict[str, np.ndarray]) -> TextSet:
    own = {name: np.asarray(arrays[name], dtype) for name, dtype in _ARRAYS.items()}
    return TextSet(**own, checksum=archives.checksum(own, _ARRAYS, names=()))

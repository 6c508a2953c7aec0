"""Digests of bits, cheap enough to be made of every tensor of a step.

They tell two runs of one program apart; they are no protection from somebody who makes two tensors of one digest.
"""

from __future__ import annotations

import functools
import zlib
from typing import Any

import numpy as np

# Below, one checksum is as fast.
_SMALL = 1 << 14
_ROW = 1 << 14  # numbers of 8 bytes: they stay in the cache
_CLASSES = 509
_SEED = 1997


def digest_of_bytes(flat: np.ndarray) -> int:
    """Return the digest of a flat array of bytes.

    Of a small one it is CRC-32. Of a large one it is a checksum of sums modulo 2^64 of words times odd numbers, which depend on
    the place, and of the exclusive or of words by their place modulo 509. The sums alone would not see two signs that change: a
    sign is the highest bit of a word, and an odd number times it is the same wherever it stands.
    """
    if flat.size < _SMALL:
        return zlib.crc32(flat.data)
    whole = flat.size // 8
    words = flat[: 8 * whole].view(np.int64)
    full = whole // _ROW
    weights = _weights()
    digest = zlib.crc32(flat[8 * whole :].data, flat.size)
    with np.errstate(over="ignore"):
        digest = zlib.crc32((words[: full * _ROW].reshape(full, _ROW) @ weights).tobytes(), digest)
        rest = words[full * _ROW :]
        digest = zlib.crc32((rest @ weights[: rest.size]).tobytes(), digest)
    rows = whole // _CLASSES
    mixed = np.bitwise_xor.reduce(words[: rows * _CLASSES].reshape(rows, _CLASSES), axis=0)
    return zlib.crc32(words[rows * _CLASSES :].data, zlib.crc32(mixed.tobytes(), digest))


def digest_of_array(array: Any) -> int:
    """Return the digest of an array's bits, row by row."""
    return digest_of_bytes(bytes_of(array))


def bytes_of(array: Any) -> np.ndarray:
    """Return an array as flat bytes, without a copy where that is possible."""
    array = np.ascontiguousarray(array)
    if array.dtype.hasobject:
        raise TypeError(f"dtype {array.dtype}: holds Python objects, which have no bits to compare")
    return array.reshape(-1).view(np.uint8)


@functools.lru_cache(maxsize=1)
def _weights() -> np.ndarray:
    return np.random.default_rng(_SEED).integers(-(2**63), 2**63 - 1, _ROW) | 1

"""Handwritten digits: the test set of UCI's optdigits, 1,797 images of 8 x 8 pixels from 0 to 16, beside this module.

Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits, https://doi.org/10.24432/C50P49, licensed CC BY 4.0
(https://creativecommons.org/licenses/by/4.0/). Scikit-learn's `load_digits` has the same images in the same order. Changed here:
the 65 numbers of a line are two arrays, compressed.
"""

from __future__ import annotations

import functools
import io
from pathlib import Path

import numpy as np

from runners.contract.data import own

COUNT = 1797
IMAGE_SHAPE = (8, 8, 1)
CLASSES = 10
_PATH = Path(__file__).with_name("digits.npz")
_SHA256 = "516461765719e9f81b246f52d21473a2e9006efb68053ba7c60c53a89fe9dcb6"


@functools.lru_cache(maxsize=1)
def load() -> tuple[np.ndarray, np.ndarray]:
    """Return images uint8 [1797, 8, 8, 1] and labels int64 [1797]. Raises UnusableData unless the file is the one meant."""
    with np.load(io.BytesIO(own.read(_PATH, sha256=_SHA256)), allow_pickle=False) as archive:
        return archive["images"], archive["labels"].astype(np.int64)

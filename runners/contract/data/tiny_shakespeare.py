"""Tiny Shakespeare: 1,115,394 characters of the plays, of 65 kinds, beside this module.

Put together by Andrej Karpathy in 2015 (https://github.com/karpathy/char-rnn, data/tinyshakespeare/input.txt); the text is in the
public domain. Changed here: nothing, it is compressed.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import lzma
from pathlib import Path

import numpy as np

from runners.contract.data import own, texts

NAME = "tiny_shakespeare"
COUNT = 1_115_394
VOCABULARY = 65
# Nine tenths are trained on, the first ones.
TRAINED = COUNT * 9 // 10
_PATH = Path(__file__).with_name("tiny_shakespeare.txt.xz")
_SHA256 = "21b40ccf4999c004256d116655824719001352dbc22636354d9cd0c645d03a4a"


@functools.lru_cache(maxsize=1)
def load() -> texts.TextSet:
    """Return the text in two parts. Raises UnusableData unless the file is the one meant."""
    points = np.frombuffer(lzma.decompress(own.read(_PATH, sha256=_SHA256)), np.uint8)
    whole = texts.make_set(points[:TRAINED], points[TRAINED:])
    # References name it by the tokens alone, a byte each.
    tokens = np.concatenate([whole.train, whole.test]).astype(np.uint8)
    return dataclasses.replace(whole, checksum=hashlib.sha256(tokens.tobytes()).hexdigest()[:32])

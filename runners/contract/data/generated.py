"""The embedded data set: ten classes of 32x32x3 images made from a seed, the same bits on every machine.

Five small textures ("parts") exist. An image shows two different ones, and which two is its class: ten pairs, ten classes.
Parts lie anywhere, mirrored or not, at a contrast that varies, beside parts that mean nothing, on a smooth coloured ground under
noise. A network must find both parts whatever surrounds them; it can also learn the training images by heart, which is what
augmentation, weight decay and batch norm statistics are there to prevent.

Only integer arithmetic on raw random words is used, so that no maths library can move a pixel.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable

import numpy as np

from runners.contract.data import streams

SEED = 2015
SIDE = 32
PART = 9
N_PARTS = 5
N_DISTRACTORS = 6
PAIRS = tuple(itertools.combinations(range(N_PARTS), 2))
CONTRAST = (5, 16)
DISTRACTOR_CONTRAST = (5, 16)
NOISE = 21
MAXIMUM = {"train": 50000, "test": 10000}


@functools.lru_cache(maxsize=4)
def make_images(split: str, n_images: int) -> tuple[np.ndarray, np.ndarray]:
    """Return uint8 [n_images, 32, 32, 3] and int64 labels [n_images]; the classes are equally frequent.

    The first n images of a split are the same whatever n is.
    """
    return first_of_chunks(_make_chunk, split, n_images)


def first_of_chunks(
    make_chunk: Callable[[str, int], tuple[np.ndarray, np.ndarray]], split: str, n_images: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first images and labels of chunks of a thousand, read-only. Raises ValueError for what is not there.

    Args:
        make_chunk: (split, index of the chunk) -> images and labels.
    """
    if split not in MAXIMUM or not 0 < n_images <= MAXIMUM[split]:
        raise ValueError(f"split {split!r} with {n_images} images: allowed are train (to 50000) and test (to 10000)")
    chunks = [make_chunk(split, index) for index in range(-(-n_images // 1000))]
    images, labels = (np.concatenate(parts)[:n_images] for parts in zip(*chunks, strict=True))
    images.flags.writeable = labels.flags.writeable = False
    return images, labels


def checksum(images: np.ndarray, labels: np.ndarray) -> str:
    """Return the SHA-256 of pixels and labels."""
    digest = hashlib.sha256(np.ascontiguousarray(images, dtype=np.uint8).tobytes())
    digest.update(np.ascontiguousarray(labels, dtype="<i8").tobytes())
    return digest.hexdigest()


@functools.lru_cache(maxsize=1)
def _parts() -> np.ndarray:
    """Return int64 [N_PARTS + N_DISTRACTORS, PART, PART, 3], each of mean zero and within about +-128."""
    count = N_PARTS + N_DISTRACTORS
    coarse = streams.integers(SEED, "generated/parts", count=count * 5 * 5 * 3, below=257).reshape(count, 5, 5, 3) - 128
    fine = np.zeros((count, PART, PART, 3), dtype=np.int64)
    fine[:, ::2, ::2] = 2 * coarse
    fine[:, 1::2, ::2] = coarse[:, :-1] + coarse[:, 1:]
    fine[:, :, 1::2] = (fine[:, :, :-2:2] + fine[:, :, 2::2]) // 2
    fine //= 2
    return fine - fine.sum(axis=(1, 2), keepdims=True) // (PART * PART)


def _make_chunk(split: str, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 1,000 images and labels; every chunk has its own position in each stream."""
    n = 1000

    def draw(name: str, per_image: int, below: int) -> np.ndarray:
        return streams.integers(SEED, f"generated/{split}/{name}", index, count=n * per_image, below=below).reshape(n, per_image)

    labels = (streams.permutation(SEED, f"generated/{split}/labels", index, count=n) % len(PAIRS)).astype(np.int64)
    canvas = smooth_ground(draw("ground", 5 * 5 * 3, 97).reshape(n, 5, 5, 3) + 80)
    shown = np.concatenate([draw("distractors", 2, N_DISTRACTORS) + N_PARTS, np.array(PAIRS)[labels]], axis=1)
    rows, columns = draw("rows", 4, SIDE - PART + 1), draw("columns", 4, SIDE - PART + 1)
    mirrored = draw("mirrored", 4, 2).astype(bool)
    contrast = draw("contrast", 4, CONTRAST[1] - CONTRAST[0]) + CONTRAST[0]
    for place in range(4):
        part = _parts()[shown[:, place]]
        part = np.where(mirrored[:, place, None, None, None], part[:, :, ::-1], part)
        row = rows[:, place, None] + np.arange(PART)
        column = columns[:, place, None] + np.arange(PART)
        image = np.arange(n)[:, None, None]
        canvas[image, row[:, :, None], column[:, None, :]] += part * contrast[:, place, None, None, None] // 16
    # The sum of two uniform draws: a triangular distribution.
    canvas += sum(draw(f"noise{k}", SIDE * SIDE * 3, 2 * NOISE + 1).reshape(canvas.shape) - NOISE for k in (0, 1))
    return np.clip(canvas, 0, 255).astype(np.uint8), labels


def smooth_ground(corners: np.ndarray) -> np.ndarray:
    """Return [n, 32, 32, 3]: the 5x5 grid of colours, interpolated linearly in integers."""
    weight = np.arange(8)
    left, right = corners[:, :, :-1, None], corners[:, :, 1:, None]
    wide = (left * (8 - weight)[:, None] + right * weight[:, None]).reshape(len(corners), 5, SIDE, 3)
    top, bottom = wide[:, :-1, None], wide[:, 1:, None]
    tall = top * (8 - weight)[:, None, None] + bottom * weight[:, None, None]
    return tall.reshape(len(corners), SIDE, SIDE, 3) // 64

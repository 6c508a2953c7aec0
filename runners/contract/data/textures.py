"""Embedded images for contrastive learning: a texture over the whole image is its class, so that any crop of it shows which.

Ten textures repeat every eight pixels. An image shows one of them, at any phase, mirrored or not, at a contrast that varies, on a
smooth ground that is nearly gray, under noise. Little else is shared by two crops of an image, so a network that tells images
apart learns the texture.

Only integer arithmetic on raw random words is used, so that no maths library can move a pixel.
"""

from __future__ import annotations

import functools

import numpy as np

from runners.contract.data import streams
from runners.contract.data.generated import SIDE, first_of_chunks, smooth_ground

SEED = 2020
PERIOD = 8
N_CLASSES = 10
CONTRAST = (0, 12)  # sixteenths; where it is 0 or 1 nobody can tell the class
NOISE = 20
GROUND = 17


@functools.lru_cache(maxsize=4)
def make_images(split: str, n_images: int) -> tuple[np.ndarray, np.ndarray]:
    """Return uint8 [n_images, 32, 32, 3] and int64 labels [n_images]; the classes are equally frequent.

    The first n images of a split are the same whatever n is.
    """
    return first_of_chunks(_make_chunk, split, n_images)


@functools.lru_cache(maxsize=1)
def _textures() -> np.ndarray:
    """Return int64 [N_CLASSES, PERIOD, PERIOD, 3], within +-128: a random grid of half the side that repeats, made smooth."""
    half = PERIOD // 2
    coarse = streams.integers(SEED, "textures", count=N_CLASSES * half * half * 3, below=257) - 128
    coarse = coarse.reshape(N_CLASSES, half, half, 3)
    tall = np.zeros((N_CLASSES, PERIOD, half, 3), np.int64)
    tall[:, ::2], tall[:, 1::2] = coarse, (coarse + np.roll(coarse, -1, axis=1)) // 2
    fine = np.zeros((N_CLASSES, PERIOD, PERIOD, 3), np.int64)
    fine[:, :, ::2], fine[:, :, 1::2] = tall, (tall + np.roll(tall, -1, axis=2)) // 2
    return fine


def _make_chunk(split: str, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 1,000 images and labels; every chunk has its own position in each stream."""
    n = 1000

    def draw(name: str, per_image: int, below: int) -> np.ndarray:
        return streams.integers(SEED, f"textures/{split}/{name}", index, count=n * per_image, below=below).reshape(n, per_image)

    labels = (streams.permutation(SEED, f"textures/{split}/labels", index, count=n) % N_CLASSES).astype(np.int64)
    canvas = smooth_ground(draw("ground", 5 * 5 * 3, GROUND).reshape(n, 5, 5, 3) + 128 - GROUND // 2)
    row = (draw("row", 1, PERIOD) + np.arange(SIDE)) % PERIOD
    column = draw("column", 1, PERIOD) + np.arange(SIDE)
    column = np.where(draw("mirrored", 1, 2) == 1, -column, column) % PERIOD
    contrast = draw("contrast", 1, CONTRAST[1] - CONTRAST[0]) + CONTRAST[0]
    canvas += _textures()[labels[:, None, None], row[:, :, None], column[:, None, :]] * contrast[:, :, None, None] // 16
    # The sum of two uniform draws: a triangular distribution.
    canvas += sum(draw(f"noise{k}", SIDE * SIDE * 3, 2 * NOISE + 1).reshape(canvas.shape) - NOISE for k in (0, 1))
    return np.clip(canvas, 0, 255).astype(np.uint8), labels

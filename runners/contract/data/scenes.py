"""Embedded images for instance segmentation: shapes that overlap, with exact masks, the same bits on every machine.

A scene is a smooth coloured ground with clutter (dots and lines that mean nothing), under noise, and up to eight shapes in the
order in which they cover each other. A shape is of one of six classes; its size, turn, colour and shading say nothing of which.
A mask is what can be seen of a shape. One of which less than a quarter can be seen is clutter, and in no list.

Only integer arithmetic on raw random words is used, so that no maths library can move a pixel: turns are those of Pythagorean
triples.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib

import numpy as np

from runners.contract.data import streams

SEED = 2017
SIDE = 128
CLASSES = ("disc", "square", "triangle", "cross", "ring", "bar")
MOST_INSTANCES = 8
RADIUS = (9, 31)
NOISE = 9
N_DOTS, N_LINES = 24, 8
MAXIMUM = {"train": 20000, "test": 5000}
LEAST_VISIBLE = 4  # one part in so many of a shape's pixels
# cosine and sine times a common denominator
_TURNS = ((1, 0, 1), (24, 7, 25), (12, 5, 13), (15, 8, 17), (4, 3, 5), (3, 4, 5), (8, 15, 17), (5, 12, 13), (7, 24, 25))


@dataclasses.dataclass(frozen=True)
class Scenes:
    """n scenes, instances in the order in which they lie on each other, the lowest first; the rest of their rows is empty.

    images: uint8 [n, side, side, 3]. classes: int64 [n, 8], -1 where there is none.
    boxes: float64 [n, 8, 4], left, top, right, bottom of the mask in pixels, right and bottom exclusive.
    packed_masks: uint8 [n, 8, side * side / 8], by numpy.packbits.
    """

    images: np.ndarray
    classes: np.ndarray
    boxes: np.ndarray
    packed_masks: np.ndarray

    def masks(self, index: int) -> np.ndarray:
        """Return the masks of one scene, bool [8, side, side]."""
        bits = np.unpackbits(self.packed_masks[index], axis=-1)
        return bits.reshape(MOST_INSTANCES, SIDE, SIDE).astype(bool)


@functools.lru_cache(maxsize=4)
def make_scenes(split: str, count: int) -> Scenes:
    """Return the first scenes of a split, train or test; a scene is the same however many are asked for."""
    if split not in MAXIMUM or not 0 < count <= MAXIMUM[split]:
        raise ValueError(f"split {split!r} with {count} scenes: allowed are train (to 20000) and test (to 5000)")
    found = [_make_scene(split, index) for index in range(count)]
    images, classes, boxes, masks = (np.stack(parts) for parts in zip(*found, strict=True))
    for array in (images, classes, boxes, masks):
        array.flags.writeable = False
    return Scenes(images, classes, boxes, masks)


def checksum(scenes: Scenes) -> str:
    """Return the SHA-256 of pixels, classes and masks."""
    digest = hashlib.sha256(scenes.images.tobytes())
    digest.update(scenes.classes.astype("<i8").tobytes())
    digest.update(scenes.packed_masks.tobytes())
    return digest.hexdigest()


def shape_mask(kind: str, *, centre: tuple[int, int], radius: int, turn: tuple[int, int, int]) -> np.ndarray:
    """Return where a shape is, bool [side, side].

    Args:
        centre: column and row, in half pixels. radius: in pixels. turn: (cosine, sine, denominator) as integers.
    """
    cosine, sine, denominator = turn
    steps = 2 * np.arange(SIDE, dtype=np.int64) + 1
    x, y = (steps - centre[0])[None, :], (steps - centre[1])[:, None]
    u, v = np.abs(cosine * x + sine * y), cosine * y - sine * x
    size = 2 * radius * denominator  # of the radius in the same unit as u and v
    if kind in ("disc", "ring"):
        squared = u * u + v * v
        inside = squared <= size * size
        return inside if kind == "disc" else inside & (4 * squared >= size * size)
    if kind == "triangle":
        # Equilateral but for 4/7 in the place of 1 / sqrt(3).
        return (2 * v <= size) & (7 * u <= 4 * (v + size))
    v = np.abs(v)
    if kind == "square":
        return 8 * np.maximum(u, v) <= 7 * size
    if kind == "cross":
        return (np.maximum(u, v) <= size) & (3 * np.minimum(u, v) <= size)
    if kind == "bar":
        return (u <= size) & (3 * v <= size)
    raise ValueError(f"shape {kind!r}: allowed are {', '.join(CLASSES)}")


def _make_scene(split: str, index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    def draw(name: str, count: int, below: int) -> np.ndarray:
        return streams.integers(SEED, f"scenes/{split}/{name}", index, count=count, below=below)

    canvas = _ground(draw("ground", 5 * 5 * 3, 121).reshape(5, 5, 3) + 67)
    _add_clutter(canvas, draw)
    wanted = 1 + int(draw("count", 1, MOST_INSTANCES)[0])
    kinds, turns, mirrored = (
        draw(name, MOST_INSTANCES, below) for name, below in (("class", len(CLASSES)), ("turn", 9), ("flip", 4))
    )
    radii = draw("radius", MOST_INSTANCES, RADIUS[1] - RADIUS[0]) + RADIUS[0]
    # Centres lie where at least half of the radius is within the image.
    places = draw("place", 2 * MOST_INSTANCES, 2 * SIDE - 24).reshape(MOST_INSTANCES, 2) + 12
    colours = draw("colour", 3 * MOST_INSTANCES, 141).reshape(MOST_INSTANCES, 3) - 70
    shading = draw("shading", 2 * MOST_INSTANCES, 61).reshape(MOST_INSTANCES, 2) - 30
    shapes: list[np.ndarray] = []
    visible: list[np.ndarray] = []
    rows, columns = np.arange(SIDE)[:, None], np.arange(SIDE)[None, :]
    for number in range(wanted):
        cosine, sine, denominator = _TURNS[turns[number]]
        turn = (cosine if mirrored[number] & 1 else -cosine, sine if mirrored[number] & 2 else -sine, denominator)
        where = shape_mask(CLASSES[kinds[number]], centre=tuple(places[number]), radius=int(radii[number]), turn=turn)
        ramp = (shading[number, 0] * (rows - SIDE // 2) + shading[number, 1] * (columns - SIDE // 2)) // SIDE
        # A colour is told by its difference to the ground: at least 40 in one channel.
        colour = colours[number] + 40 * np.where(colours[number] < 0, -1, 1)
        canvas[where] = (128 + colour[None] + ramp[where][:, None]).astype(np.int64)
        visible = [mask & ~where for mask in visible] + [where]
        shapes.append(where)
    for k in (0, 1):
        canvas += draw(f"noise{k}", SIDE * SIDE * 3, 2 * NOISE + 1).reshape(canvas.shape)
    canvas -= 2 * NOISE
    image = np.clip(canvas, 0, 255, out=canvas).astype(np.uint8)
    kept = [n for n in range(wanted) if LEAST_VISIBLE * visible[n].sum() >= shapes[n].sum() and visible[n].sum() >= 24]
    classes, boxes = np.full(MOST_INSTANCES, -1, np.int64), np.zeros((MOST_INSTANCES, 4))
    masks = np.zeros((MOST_INSTANCES, SIDE, SIDE), bool)
    for place, number in enumerate(kept):
        classes[place], masks[place], boxes[place] = kinds[number], visible[number], box_of(visible[number])
    return image, classes, boxes, np.packbits(masks.reshape(MOST_INSTANCES, -1), axis=-1)


def box_of(mask: np.ndarray) -> np.ndarray:
    """Return left, top, right and bottom of a mask that is not empty, float64 [4]; right and bottom are exclusive."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float64)


def _add_clutter(canvas: np.ndarray, draw) -> None:
    """Put dots of 2 to 4 pixels and thin lines onto the ground, in place."""
    places = draw("dots", 2 * N_DOTS, SIDE - 4).reshape(N_DOTS, 2)
    sizes, shades = draw("dot_sizes", N_DOTS, 3) + 2, draw("dot_shades", 3 * N_DOTS, 161).reshape(N_DOTS, 3) - 80
    for (row, column), size, shade in zip(places, sizes, shades, strict=True):
        canvas[row : row + size, column : column + size] += shade
    starts, lengths = draw("lines", 2 * N_LINES, SIDE).reshape(N_LINES, 2), draw("line_lengths", N_LINES, 40) + 12
    shades, upright = draw("line_shades", 3 * N_LINES, 161).reshape(N_LINES, 3) - 80, draw("line_turns", N_LINES, 2)
    for (row, column), length, shade, is_upright in zip(starts, lengths, shades, upright, strict=True):
        if is_upright:
            canvas[row : row + length, column] += shade
        else:
            canvas[row, column : column + length] += shade


def _ground(corners: np.ndarray) -> np.ndarray:
    """Return int64 [side, side, 3]: the 5x5 grid of colours, interpolated linearly in integers."""
    cell = SIDE // 4
    weight = np.arange(cell)
    left, right = corners[:, :-1, None], corners[:, 1:, None]
    wide = (left * (cell - weight)[:, None] + right * weight[:, None]).reshape(5, SIDE, 3)
    top, bottom = wide[:-1, None], wide[1:, None]
    tall = top * (cell - weight)[:, None, None] + bottom * weight[:, None, None]
    return (tall.reshape(SIDE, SIDE, 3) // (cell * cell)).astype(np.int64)

"""Boxes in images: how far two overlap, how they are written, and which of many stay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vigil.audit.arguments import drawn, normal, uniform
from vigil.audit.entry import operator

KERAS = "https://keras.io/api/utils/bounding_boxes/"
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/image"
WIDE = ("fp32", "fp64")
_FLOAT = ("fp32",)  # Keras converts boxes to float32 unless it is told otherwise
_HEIGHT, _WIDTH = 80.0, 120.0


def _corners(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return boxes [..., left, top, right, bottom] of 5 to 40 in an image of 80 by 120."""
    size = random.uniform(5.0, 40.0, (*shape[:-1], 2))
    first = 10.0 + random.uniform(0.0, 1.0, (*shape[:-1], 2)) * (np.array([_WIDTH, _HEIGHT]) - 10.0 - size)
    return np.concatenate([first, first + size], -1)


def _boxes(*dims: Any) -> Any:
    return drawn(_corners, *dims, 4)


def written(corners: np.ndarray, form: str) -> np.ndarray:
    """Return boxes [..., left, top, right, bottom] in another form of Keras's."""
    if form.startswith("rel_"):
        corners = corners / np.array([_WIDTH, _HEIGHT, _WIDTH, _HEIGHT])
    left, top, right, bottom = np.moveaxis(corners, -1, 0)
    parts = {
        "xyxy": (left, top, right, bottom),
        "yxyx": (top, left, bottom, right),
        "xywh": (left, top, right - left, bottom - top),
        "center_xywh": ((left + right) / 2, (top + bottom) / 2, right - left, bottom - top),
        "center_yxhw": ((top + bottom) / 2, (left + right) / 2, bottom - top, right - left),
    }[form.removeprefix("rel_")]
    return np.stack(parts, -1)


def _read(boxes: np.ndarray, form: str) -> np.ndarray:
    """Return boxes of a form as [..., left, top, right, bottom]."""
    a, b, c, d = np.moveaxis(boxes, -1, 0)
    corners = np.stack(
        {
            "xyxy": (a, b, c, d),
            "yxyx": (b, a, d, c),
            "xywh": (a, b, a + c, b + d),
            "center_xywh": (a - c / 2, b - d / 2, a + c / 2, b + d / 2),
            "center_yxhw": (b - d / 2, a - c / 2, b + d / 2, a + c / 2),
        }[form.removeprefix("rel_")],
        -1,
    )
    return corners * np.array([_WIDTH, _HEIGHT, _WIDTH, _HEIGHT]) if form.startswith("rel_") else corners


_PLAIN = ("xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw")
_FORMS = (*_PLAIN, "rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh")
_COUNTS = tuple({"m": first, "n": second} for first, second in ((3, 4), (1, 1), (7, 33), (33, 65)))


@operator(
    boxes=_boxes("m"),
    source=KERAS,
    sizes=({"m": 5}, {"m": 1}, {"m": 33}, {"m": 1027}),
    precisions=_FLOAT,
    parameters=[{"source": "xyxy", "target": form} for form in _FORMS],
)
def boxes_written(boxes: np.ndarray, source: str, target: str) -> np.ndarray:
    """Return boxes in another form."""
    return written(boxes, target)


@operator(
    parts=uniform(0.2, 0.4, "m", 4),
    source=KERAS,
    sizes=({"m": 5}, {"m": 1}, {"m": 33}, {"m": 1027}),
    precisions=_FLOAT,
    parameters=[{"source": form, "target": "xyxy"} for form in _FORMS]
    + [{"source": "rel_xywh", "target": "center_yxhw"}, {"source": "center_xywh", "target": "rel_yxyx"}],
)
def boxes_read(parts: np.ndarray, source: str, target: str) -> np.ndarray:
    """Return what four numbers in some form are in another."""
    return written(_read(parts, source), target)


def _overlap(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return intersection over union, and the union."""
    sides = np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(first[..., :2], second[..., :2])
    shared = np.prod(np.maximum(sides, 0.0), -1)
    union = np.prod(first[..., 2:] - first[..., :2], -1) + np.prod(second[..., 2:] - second[..., :2], -1) - shared
    return shared / union, union


@operator(
    first=_boxes("m"),
    second=_boxes("n"),
    source=KERAS,
    sizes=_COUNTS,
    precisions=_FLOAT,
    parameters=[{"form": form} for form in ("xyxy", "yxyx", "xywh", "center_xywh", "rel_xyxy")],
)
def boxes_overlap(first: np.ndarray, second: np.ndarray, form: str) -> np.ndarray:
    """Return intersection over union of each of the first with each of the second."""
    return _overlap(first[:, None], second[None])[0]


@operator(first=_boxes(2, "m"), second=_boxes(2, "n"), source=KERAS, sizes=_COUNTS, precisions=_FLOAT)
def boxes_overlap_in_batches(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return intersection over union of each of the first with each of the second, in each batch."""
    return _overlap(first[:, :, None], second[:, None])[0]


def _near(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return two rows of boxes, of which each of the second has some part in common with that of the first."""
    first = _corners(random, shape[1:], sizes)
    return np.stack([first, first + random.uniform(-2.4, 2.4, first.shape)])


@operator(
    pair=drawn(_near, 2, "m", 4),
    source="https://doi.org/10.1609/aaai.v34i07.6999",
    precisions=_FLOAT,
    sizes=({"m": 5}, {"m": 1}, {"m": 33}, {"m": 1027}),
    parameters=[{"form": form} for form in ("xyxy", "xywh", "center_xywh")],
)
def complete_overlap(pair: np.ndarray, form: str) -> np.ndarray:
    """Return IoU - distance^2 of centers / diagonal^2 around both - alpha v (Zheng et al. 2020, equations 8 to 10)."""
    first, second = pair
    overlap = _overlap(first, second)[0]
    around = np.maximum(first[..., 2:], second[..., 2:]) - np.minimum(first[..., :2], second[..., :2])
    apart = (first[..., :2] + first[..., 2:] - second[..., :2] - second[..., 2:]) / 2
    sides = [each[..., 2:] - each[..., :2] for each in (first, second)]
    angles = [np.arctan(each[..., 0] / each[..., 1]) for each in sides]
    v = 4 / math.pi**2 * (angles[1] - angles[0]) ** 2
    return overlap - np.sum(apart**2, -1) / np.sum(around**2, -1) - v * v / (1.0 - overlap + v)


_VARIANCES = (None, [0.1, 0.1, 0.2, 0.2])


@operator(
    anchors=_boxes("m"),
    boxes=_boxes(2, "m"),
    source=KERAS,
    sizes=({"m": 3}, {"m": 1}, {"m": 33}, {"m": 1027}),
    precisions=_FLOAT,
    parameters=[{"form": form, "variance": variance} for form in ("center_yxhw", "center_xywh") for variance in _VARIANCES],
)
def boxes_encoded(anchors: np.ndarray, boxes: np.ndarray, form: str, variance: list[float] | None) -> np.ndarray:
    """Return centers less the anchors' over their sides, and logarithms of sides over sides, over variances."""
    anchors, boxes = written(anchors, form), written(boxes, form)
    anchors = np.broadcast_to(anchors, boxes.shape)
    found = np.concatenate(
        [(boxes[..., :2] - anchors[..., :2]) / anchors[..., 2:], np.log(boxes[..., 2:] / anchors[..., 2:])], -1
    )
    return found if variance is None else found / np.array(variance)


@operator(
    anchors=_boxes("m"),
    deltas=normal(2, "m", 4, scale=0.1),
    source=KERAS,
    sizes=({"m": 3}, {"m": 1}, {"m": 33}, {"m": 1027}),
    precisions=_FLOAT,
    parameters=[
        {"form": form, "variance": variance, "target": target}
        for form, target in (("center_yxhw", "xyxy"), ("center_xywh", "xywh"))
        for variance in _VARIANCES
    ],
)
def boxes_decoded(anchors: np.ndarray, deltas: np.ndarray, form: str, variance: list[float] | None, target: str) -> np.ndarray:
    """Return the boxes of which these are the deltas."""
    anchors = np.broadcast_to(written(anchors, form), deltas.shape)
    deltas = deltas if variance is None else deltas * np.array(variance)
    parts = np.concatenate(
        [anchors[..., :2] + deltas[..., :2] * anchors[..., 2:], anchors[..., 2:] * np.exp(deltas[..., 2:])], -1
    )
    return written(_read(parts, form), target)


def _beyond(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return boxes [..., left, top, right, bottom] around the middle of the image, with corners in it or outside."""
    before = random.uniform(-30.0, 35.0, (*shape[:-1], 2))
    return np.concatenate([before, random.uniform(45.0, 150.0, before.shape)], -1)


@operator(boxes=drawn(_beyond, "m", 4), source=KERAS, sizes=({"m": 5}, {"m": 1}, {"m": 33}), precisions=_FLOAT)
def boxes_within(boxes: np.ndarray) -> np.ndarray:
    """Return boxes whose corners outside of the image are moved to its border."""
    return np.clip(boxes, 0.0, np.array([_WIDTH, _HEIGHT] * 2))


def _scores(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return scores between 0 and 1, all different."""
    count = math.prod(shape)
    return ((random.permutation(count) + random.uniform(0.2, 0.8, count)) / count).reshape(shape)


_SCORED = drawn(_scores, "n", is_differentiated=False)
_CROWD = {"n": 33}
_KEEPS = [
    {"count": count, "overlap": overlap, "least": least}
    for count, overlap, least in ((5, 0.5, -1e30), (20, 0.2, -1e30), (33, 0.05, 0.3), (3, 0.7, 0.9), (40, 0.0, -1e30))
]


def _crowded(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return boxes [..., top, left, bottom, right] with much in common, of a share of an image."""
    size = random.uniform(0.2, 0.5, (*shape[:-1], 2))
    first = random.uniform(0.0, 0.5, (*shape[:-1], 2))
    return np.concatenate([first, first + size], -1)


_CROWDED = drawn(_crowded, "n", 4, is_differentiated=False)


def _kept(boxes: np.ndarray, scores: np.ndarray, count: int, overlap: float, least: float) -> list[int]:
    """Return which stay: the best that is left, again and again, without those that overlap it by more."""
    order, found = [int(each) for each in np.argsort(-scores) if scores[each] > least], []
    overlaps = _overlap(boxes[:, None], boxes[None])[0]
    while order and len(found) < count:
        found.append(order[0])
        order = [each for each in order[1:] if overlaps[found[-1], each] <= overlap]
    return found


_CROWDS = ({"n": 9}, {"n": 1}, {"n": 33}, {"n": 129})


@operator(
    boxes=_CROWDED,
    scores=_SCORED,
    source=f"{TENSORFLOW}/non_max_suppression",
    sizes=_CROWDS,
    precisions=_FLOAT,
    parameters=_KEEPS,
)
def boxes_that_stay(boxes: np.ndarray, scores: np.ndarray, count: int, overlap: float, least: float) -> np.ndarray:
    """Return the numbers of boxes that stay, best first."""
    return np.array(_kept(boxes, scores, count, overlap, least), np.int64)


@operator(
    boxes=_CROWDED,
    scores=_SCORED,
    source=f"{TENSORFLOW}/non_max_suppression_padded",
    sizes=_CROWDS,
    precisions=_FLOAT,
    parameters=_KEEPS,
)
def boxes_that_stay_padded(
    boxes: np.ndarray, scores: np.ndarray, count: int, overlap: float, least: float
) -> tuple[np.ndarray, ...]:
    """Return the numbers of boxes that stay, best first, zeros behind them, and how many they are."""
    found = _kept(boxes, scores, count, overlap, least)
    return np.array(found + [0] * (count - len(found)), np.int64), np.array(len(found), np.int64)


@operator(
    boxes=_CROWDED,
    scores=_SCORED,
    source="https://doi.org/10.1109/ICCV.2017.593",
    sizes=_CROWDS,
    precisions=_FLOAT,
    parameters=[
        {"count": 9, "sigma": 0.5, "least": 0.05},
        {"count": 4, "sigma": 0.2, "least": 0.0},
        {"count": 20, "sigma": 1.0, "least": 0.3},
    ],
)
def boxes_that_fade(
    boxes: np.ndarray, scores: np.ndarray, count: int, sigma: float, least: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and scores of boxes, best first, each choice having the others fade by exp(-IoU^2 / (2 sigma))."""
    overlaps = _overlap(boxes[:, None], boxes[None])[0]
    left, found, values = dict(enumerate(scores)), [], []
    while left and len(found) < count:
        best = max(left, key=lambda each: left[each])
        if left[best] <= least:
            break
        found.append(best)
        values.append(left.pop(best))
        left = {each: score * math.exp(-0.5 / sigma * overlaps[best, each] ** 2) for each, score in left.items()}
    return np.array(found, np.int64), np.array(values)


@operator(
    overlaps=drawn(lambda random, shape, sizes: _square(random, shape[0]), "n", "n", is_differentiated=False),
    scores=_SCORED,
    source=f"{TENSORFLOW}/non_max_suppression_overlaps",
    sizes=_CROWDS,
    precisions=_FLOAT,
    parameters=_KEEPS,
)
def overlaps_that_stay(overlaps: np.ndarray, scores: np.ndarray, count: int, overlap: float, least: float) -> np.ndarray:
    """Return the numbers that stay, best first, of things whose overlaps are given."""
    order, found = [int(each) for each in np.argsort(-scores) if scores[each] > least], []
    while order and len(found) < count:
        found.append(order[0])
        order = [each for each in order[1:] if overlaps[found[-1], each] <= overlap]
    return np.array(found, np.int64)


def _square(random: np.random.Generator, count: int) -> np.ndarray:
    half = np.triu(random.uniform(0.0, 1.0, (count, count)), 1)
    return half + half.T + np.eye(count)


@operator(
    boxes=drawn(_crowded, 2, "n", 4, is_differentiated=False),
    scores=drawn(_scores, 2, "n", 3, is_differentiated=False),
    source=f"{TENSORFLOW}/combined_non_max_suppression",
    sizes=({"n": 5}, {"n": 1}, {"n": 33}),
    precisions=_FLOAT,
    parameters=[
        {"each": each, "total": total, "overlap": overlap, "least": least}
        for each, total, overlap, least in ((3, 6, 0.5, 0.1), (2, 4, 0.2, 0.0), (9, 7, 0.7, 0.4))
    ],
)
def boxes_of_classes_that_stay(
    boxes: np.ndarray, scores: np.ndarray, each: int, total: int, overlap: float, least: float
) -> tuple[np.ndarray, ...]:
    """Return boxes, scores and classes of the best of those that stay in their class, and how many they are."""
    rows = []
    for own, own_scores in zip(boxes, scores, strict=True):
        found = [
            (own_scores[place, kind], kind, own[place])
            for kind in range(scores.shape[-1])
            for place in _kept(own, own_scores[:, kind], each, overlap, least)
        ]
        found = sorted(found, key=lambda one: -one[0])[:total]
        empty = [(0.0, 0, np.zeros(4))] * (total - len(found))
        rows.append((found + empty, len(found)))
    return (
        np.array([[one[2] for one in row] for row, _ in rows]),
        np.array([[one[0] for one in row] for row, _ in rows]),
        np.array([[float(one[1]) for one in row] for row, _ in rows]),
        np.array([count for _, count in rows], np.int64),
    )


def _cuts(random: np.random.Generator, shape: tuple[int, ...], sizes: Any) -> np.ndarray:
    """Return boxes of shares of an image, some partly outside, and the last from right to left."""
    found = np.concatenate([random.uniform(-0.2, 0.4, (shape[0], 2)), random.uniform(0.6, 1.2, (shape[0], 2))], -1)
    found[-1] = found[-1, [2, 3, 0, 1]]
    return found


@operator(
    image=normal(2, "m", "n", 3),
    boxes=drawn(_cuts, "k", 4, is_differentiated=False),
    source=f"{TENSORFLOW}/crop_and_resize",
    sizes=({"m": 4, "n": 5, "k": 2}, {"m": 1, "n": 1, "k": 1}, {"m": 9, "n": 7, "k": 3}, {"m": 33, "n": 31, "k": 5}),
    precisions=_FLOAT,
    parameters=[
        {"height": height, "width": width, "method": method, "outside": outside}
        for height, width, method, outside in ((3, 4, "bilinear", 0.0), (1, 6, "bilinear", -2.0), (5, 1, "nearest", 1.0))
    ],
)
def cut_and_resized(image: np.ndarray, boxes: np.ndarray, height: int, width: int, method: str, outside: float) -> np.ndarray:
    """Return boxes of images, resized: a box's corners are centers of corner pixels; the boxes are of image 0, 1, 0 and so on."""
    _, rows, columns, _ = image.shape

    def places(first: float, last: float, count: int, size: int) -> np.ndarray:
        if count == 1:
            return np.array([0.5 * (first + last) * (size - 1)])
        return first * (size - 1) + np.arange(count) * (last - first) * (size - 1) / (count - 1)

    found = np.full((len(boxes), height, width, image.shape[-1]), outside)
    for place, (top, left, bottom, right) in enumerate(boxes):
        source = image[place % 2]
        for row, y in enumerate(places(top, bottom, height, rows)):
            for column, x in enumerate(places(left, right, width, columns)):
                if not (0 <= y <= rows - 1 and 0 <= x <= columns - 1):
                    continue
                if method == "nearest":
                    found[place, row, column] = source[round(y), round(x)]
                    continue
                above, before = math.floor(y), math.floor(x)
                below, after = math.ceil(y), math.ceil(x)
                upper = source[above, before] + (source[above, after] - source[above, before]) * (x - before)
                lower = source[below, before] + (source[below, after] - source[below, before]) * (x - before)
                found[place, row, column] = upper + (lower - upper) * (y - above)
    return found

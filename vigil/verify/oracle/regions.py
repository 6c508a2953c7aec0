"""The region pieces of runners/<framework>/regions.py in float64: slow, image by image and box by box.

Decisions are loops that follow their definition. What is differentiated returns (output, backward), as in operations.py.
"""

from __future__ import annotations

import math

import numpy as np

from runners.contract.regions import LARGEST_LOG_SIDE
from vigil.verify.oracle.operations import Backward

Weights = tuple[float, float, float, float]


def box_iou(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the intersection over union of boxes [batch, n, 4] or [n, 4] with others [batch, m, 4], as [batch, n, m]."""
    boxes = np.broadcast_to(boxes, (len(others), *boxes.shape[-2:]))
    found = np.zeros((*boxes.shape[:2], others.shape[1]))
    for image, row, column in np.ndindex(*found.shape):
        found[image, row, column] = _iou(boxes[image, row], others[image, column])
    return found


def encode(boxes: np.ndarray, anchors: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the weighted deltas [batch, n, 4] from anchors to boxes; a side that is not positive counts as one pixel."""
    anchors, deltas = np.broadcast_to(anchors, boxes.shape), np.empty(boxes.shape)
    for place in np.ndindex(*boxes.shape[:-1]):
        x, y, width, height = _centre_and_sides(boxes[place])
        from_x, from_y, from_width, from_height = _centre_and_sides(anchors[place])
        moves = (x - from_x) / from_width, (y - from_y) / from_height
        deltas[place] = np.array(weights) * [*moves, math.log(width / from_width), math.log(height / from_height)]
    return deltas


def decode(deltas: np.ndarray, anchors: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the boxes [batch, n, 4] that weighted deltas lead to from anchors."""
    anchors, boxes = np.broadcast_to(anchors, deltas.shape), np.empty(deltas.shape)
    for place in np.ndindex(*deltas.shape[:-1]):
        x, y, width, height = _centre_and_sides(anchors[place])
        dx, dy, dwidth, dheight = deltas[place] / np.array(weights)
        x, y = x + dx * width, y + dy * height
        width, height = (side * math.exp(min(d, LARGEST_LOG_SIDE)) for side, d in ((width, dwidth), (height, dheight)))
        boxes[place] = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    return boxes


def clip(boxes: np.ndarray, side: float) -> np.ndarray:
    """Return the part of boxes inside an image of `side` by `side` pixels."""
    return np.minimum(np.maximum(boxes, 0.0), side)


def match(iou: np.ndarray, valid: np.ndarray, *, low: float, high: float, forces_best: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row of iou [batch, n, truth] the index of its ground truth and its label (1, 0, -1), int64 [batch, n]."""
    batch, n, _ = iou.shape
    index, label = np.zeros((batch, n), np.int64), np.zeros((batch, n), np.int64)
    for image in range(batch):
        truths = np.flatnonzero(valid[image])
        for row in range(n if len(truths) else 0):
            # max takes the first of equal ones.
            index[image, row] = max(truths, key=lambda truth: iou[image, row, truth])
            best = iou[image, row, index[image, row]]
            label[image, row] = 1 if best >= high else 0 if best < low else -1
        for truth in truths if forces_best else ():
            most = iou[image, :, truth].max()
            if most > 0:
                label[image, iou[image, :, truth] == most] = 1
    return index, label


def sample(labels: np.ndarray, priorities: np.ndarray, *, count: int, most_positive: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are drawn as positive and which as negative, bool [batch, n], highest priorities first."""
    drawn = np.zeros((2, *labels.shape), bool)
    for image in range(len(labels)):
        order = sorted(range(labels.shape[1]), key=lambda row: -priorities[image, row])
        positive = [row for row in order if labels[image, row] == 1][:most_positive]
        negative = [row for row in order if labels[image, row] == 0][: count - len(positive)]
        drawn[0, image, positive] = drawn[1, image, negative] = True
    return drawn[0], drawn[1]


def listed(positive: np.ndarray, negative: np.ndarray, *, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of drawn rows, positive ones first, int64 [batch, count], and which are drawn.

    Places that are not used hold the lowest indices that were not drawn.
    """
    drawn = positive | negative
    order = [
        [*np.flatnonzero(first), *np.flatnonzero(second), *np.flatnonzero(others)]
        for first, second, others in zip(positive, negative, ~drawn, strict=True)
    ]
    return np.array(order)[:, :count], np.arange(count) < drawn.sum(axis=1)[:, None]


def top_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest of each row of scores [batch, n] and their indices; of equal ones the lowest index is first."""
    indices = np.array([sorted(range(len(row)), key=lambda place: -row[place])[:k] for row in scores])
    return np.take_along_axis(scores, indices, axis=1), indices


def picked(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the rows of values [batch, n, ...] at indices [batch, k]."""
    return np.stack([rows[chosen] for rows, chosen in zip(values, indices, strict=True)])


def nms(
    boxes: np.ndarray, scores: np.ndarray, valid: np.ndarray, *, threshold: float, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices that greedy non-maximum suppression keeps, int64 [batch, count], and which are in use."""
    kept, used = np.zeros((len(boxes), count), np.int64), np.zeros((len(boxes), count), bool)
    for image in range(len(boxes)):
        keep: list[int] = []
        for row in sorted(np.flatnonzero(valid[image]), key=lambda row: -scores[image, row]):
            if all(_iou(boxes[image, row], boxes[image, better]) <= threshold for better in keep):
                keep.append(int(row))
        keep = keep[:count]
        kept[image, : len(keep)], used[image, : len(keep)] = keep, True
    return kept, used


def roi_align(features: np.ndarray, boxes: np.ndarray, *, stride: float, size: int, samples: int) -> tuple[np.ndarray, Backward]:
    """Return each box of a map [batch, height, width, channel] as [batch, box, size, size, channel], by bilinear samples.

    A sample lies between four pixels, each of which weighs what is left of a pixel's width in both directions.
    """
    batch, height, width, channels = features.shape
    pooled = np.zeros((batch, boxes.shape[1], size, size, channels))
    # Of each bin: rows and columns of pixels, and what they weigh in it.
    read: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for image, box in np.ndindex(*boxes.shape[:2]):
        left, top, right, bottom = boxes[image, box] / stride - 0.5
        for i, j in np.ndindex(size, size):
            corners = []
            for k, m in np.ndindex(samples, samples):
                y = top + (i + (k + 0.5) / samples) * (bottom - top) / size
                x = left + (j + (m + 0.5) / samples) * (right - left) / size
                for row, of_row in _pixels_around(y, height):
                    corners += [(row, column, of_row * of_column / samples**2) for column, of_column in _pixels_around(x, width)]
            rows, columns, weights = (np.array(each) for each in zip(*corners, strict=True)) if corners else ([], [], np.zeros(0))
            read[image, box, i, j] = rows, columns, weights
            if corners:
                pooled[image, box, i, j] = weights @ features[image, rows, columns]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        of_features = np.zeros_like(features)
        for (image, *place), (rows, columns, weights) in read.items():
            if len(weights):
                np.add.at(of_features[image], (rows, columns), weights[:, None] * gradient[(image, *place)])
        return (of_features,)

    return pooled, backward


def level_of(boxes: np.ndarray, *, canonical: float) -> np.ndarray:
    """Return which of two levels each box is pooled from: floor(1 + log2(sqrt(area) / canonical)), not below 0 nor above 1."""
    found = np.zeros(boxes.shape[:-1], np.int64)
    for place in np.ndindex(*found.shape):
        area = _area(boxes[place])
        found[place] = min(max(math.floor(1 + math.log2(math.sqrt(area) / canonical)), 0), 1) if area > 0 else 0
    return found


def pooled(
    fine: np.ndarray,
    coarse: np.ndarray,
    *,
    boxes: np.ndarray,
    strides: tuple[float, float],
    canonical: float,
    size: int,
    samples: int,
) -> tuple[np.ndarray, Backward]:
    """Return `roi_align` of each box from its own of two levels."""
    is_coarse = level_of(boxes, canonical=canonical)[..., None, None, None] == 1
    found = [
        roi_align(level, boxes, stride=stride, size=size, samples=samples)
        for level, stride in zip((fine, coarse), strides, strict=True)
    ]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return found[0][1](np.where(is_coarse, 0.0, gradient))[0], found[1][1](np.where(is_coarse, gradient, 0.0))[0]

    return np.where(is_coarse, found[1][0], found[0][0]), backward


def smooth_l1(predicted: np.ndarray, *, target: np.ndarray, beta: float) -> tuple[np.ndarray, Backward]:
    """Return the sum over the last axis of d ** 2 / (2 * beta) where |d| < beta, else |d| - beta / 2.

    Girshick 2015, arXiv 1504.08083, equation 3, where beta is 1.
    """
    d = predicted - target
    is_near = np.abs(d) < beta

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        return (gradient[..., None] * np.where(is_near, d / beta, np.sign(d)),)

    return np.where(is_near, d**2 / (2 * beta), np.abs(d) - beta / 2).sum(axis=-1), backward


def sigmoid_cross_entropy(logits: np.ndarray, *, targets: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return -(t * log(p) + (1 - t) * log(1 - p)) with p the logistic function of the logits, elementwise."""

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        return (gradient * (np.exp(-np.logaddexp(0.0, -logits)) - targets),)

    return targets * np.logaddexp(0.0, -logits) + (1.0 - targets) * np.logaddexp(0.0, logits), backward


def softmax_cross_entropy(logits: np.ndarray, *, labels: np.ndarray) -> tuple[np.ndarray, Backward]:
    """Return -log softmax(logits [..., class])[label], [...]."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    is_label = np.arange(logits.shape[-1]) == labels[..., None]

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        return (gradient[..., None] * (np.exp(log_probabilities) - is_label),)

    return -np.where(is_label, log_probabilities, 0.0).sum(axis=-1), backward


def _area(box: np.ndarray) -> float:
    left, top, right, bottom = box
    return max(right - left, 0.0) * max(bottom - top, 0.0)


def _iou(box: np.ndarray, other: np.ndarray) -> float:
    overlap = _area(np.concatenate([np.maximum(box[:2], other[:2]), np.minimum(box[2:], other[2:])]))
    return overlap / (_area(box) + _area(other) - overlap) if overlap > 0 else 0.0


def _centre_and_sides(box: np.ndarray) -> tuple[float, float, float, float]:
    left, top, right, bottom = box
    width, height = (side if side > 0 else 1.0 for side in (right - left, bottom - top))
    return (left + right) / 2, (top + bottom) / 2, width, height


def _pixels_around(place: float, length: int) -> list[tuple[int, float]]:
    """Return the pixels of an axis that a sample lies between, with their weights; none if it lies too far outside."""
    if place < -1 or place > length:
        return []
    place = min(max(place, 0.0), length - 1.0)
    first = math.floor(place)
    share = place - first
    return [(first, 1.0 - share), (min(first + 1, length - 1), share)]

"""The region pieces of runners/<framework>/regions.py in float64, image by image and box by box.

Decisions follow their definition. What is differentiated returns (output, backward), as in operations.py.
"""

from __future__ import annotations

import math

import numpy as np

from runners.contract.kinds.regions import LARGEST_LOG_SIDE
from vigil.verify.oracle.operations import Backward

Weights = tuple[float, float, float, float]


def box_iou(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the intersection over union of boxes [batch, n, 4] or [n, 4] with others [batch, m, 4], as [batch, n, m]."""
    boxes, others = boxes[..., :, None, :], others[:, None]
    corners = np.maximum(boxes[..., :2], others[..., :2]), np.minimum(boxes[..., 2:], others[..., 2:])
    overlap = _area(np.concatenate(corners, axis=-1))
    union = _area(boxes) + _area(others) - overlap
    return np.divide(overlap, union, out=np.zeros(overlap.shape), where=overlap > 0)


def encode(boxes: np.ndarray, anchors: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the weighted deltas [batch, n, 4] from anchors to boxes; a side that is not positive counts as one pixel."""
    centre, sides = _centre_and_sides(boxes)
    from_centre, from_sides = _centre_and_sides(anchors)
    return np.array(weights) * np.concatenate([(centre - from_centre) / from_sides, np.log(sides / from_sides)], axis=-1)


def decode(deltas: np.ndarray, anchors: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the boxes [batch, n, 4] that weighted deltas lead to from anchors."""
    centre, sides = _centre_and_sides(anchors)
    deltas = deltas / np.array(weights)
    centre = centre + deltas[..., :2] * sides
    sides = sides * np.exp(np.minimum(deltas[..., 2:], LARGEST_LOG_SIDE))
    return np.concatenate([centre - sides / 2, centre + sides / 2], axis=-1)


def clip(boxes: np.ndarray, side: float) -> np.ndarray:
    """Return the part of boxes inside an image of `side` by `side` pixels."""
    return np.minimum(np.maximum(boxes, 0.0), side)


def match(iou: np.ndarray, valid: np.ndarray, *, low: float, high: float, forces_best: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row of iou [batch, n, truth] the index of its ground truth and its label (1, 0, -1), int64 [batch, n]."""
    batch, n, _ = iou.shape
    index, label = np.zeros((batch, n), np.int64), np.zeros((batch, n), np.int64)
    for image in range(batch):
        truths = np.flatnonzero(valid[image])
        if not len(truths):
            continue
        overlaps = iou[image][:, truths]
        index[image] = truths[overlaps.argmax(axis=1)]  # the first of equal ones
        best = overlaps.max(axis=1)
        label[image] = np.where(best >= high, 1, np.where(best < low, 0, -1))
        if forces_best:
            most = overlaps.max(axis=0)
            label[image][((overlaps == most) & (most > 0)).any(axis=1)] = 1
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
    overlaps = box_iou(boxes, boxes)
    for image in range(len(boxes)):
        keep: list[int] = []
        for row in sorted(np.flatnonzero(valid[image]), key=lambda row: -scores[image, row]):
            if (overlaps[image, row, keep] <= threshold).all():
                keep.append(int(row))
        keep = keep[:count]
        kept[image, : len(keep)], used[image, : len(keep)] = keep, True
    return kept, used


def roi_align(features: np.ndarray, boxes: np.ndarray, *, stride: float, size: int, samples: int) -> tuple[np.ndarray, Backward]:
    """Return each box of a map [batch, height, width, channel] as [batch, box, size, size, channel], by bilinear samples.

    A sample lies between two pixels of each axis, which weigh what is left of a pixel's width. The samples of a bin form a grid:
    what a pixel weighs in it is the product of what its row and its column do.
    """
    batch, height, width, _ = features.shape
    pooled = np.zeros((batch, boxes.shape[1], size, size, features.shape[-1]))
    read: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
    for image, box in np.ndindex(*boxes.shape[:2]):
        left, top, right, bottom = boxes[image, box] / stride - 0.5
        down = _weights(top, bottom, size=size, samples=samples, length=height)
        across = _weights(left, right, size=size, samples=samples, length=width)
        read[image, box] = down, across
        pooled[image, box] = np.tensordot(down, np.tensordot(across, features[image], (1, 1)), (1, 1))

    def backward(gradient: np.ndarray) -> tuple[np.ndarray]:
        of_features = np.zeros_like(features)
        for (image, box), (down, across) in read.items():
            of_features[image] += np.tensordot(down, np.tensordot(across, gradient[image, box], (0, 1)), (0, 1))
        return (of_features,)

    return pooled, backward


def level_of(boxes: np.ndarray, *, canonical: float) -> np.ndarray:
    """Return which of two levels each box is pooled from: floor(1 + log2(sqrt(area) / canonical)), not below 0 nor above 1."""
    area = _area(boxes)
    with np.errstate(divide="ignore"):
        return np.clip(np.floor(1 + np.log2(np.sqrt(area) / canonical)), 0, 1).astype(np.int64)


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


def _area(boxes: np.ndarray) -> np.ndarray:
    return np.maximum(boxes[..., 2:] - boxes[..., :2], 0.0).prod(axis=-1)


def _centre_and_sides(boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres and the sides, [..., 2] each, of boxes [..., 4]."""
    sides = boxes[..., 2:] - boxes[..., :2]
    return (boxes[..., :2] + boxes[..., 2:]) / 2, np.where(sides > 0, sides, 1.0)


def _weights(start: float, end: float, *, size: int, samples: int, length: int) -> np.ndarray:
    """Return [size, length]: what each pixel of an axis weighs in each bin; nothing in samples that lie too far outside."""
    weights = np.zeros((size, length))
    for k in range(size * samples):
        place = start + (k + 0.5) * (end - start) / (size * samples)
        if place < -1 or place > length:
            continue
        place = min(max(place, 0.0), length - 1.0)
        first = math.floor(place)
        weights[k // samples, first] += (1.0 - (place - first)) / samples
        weights[k // samples, min(first + 1, length - 1)] += (place - first) / samples
    return weights

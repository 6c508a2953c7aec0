"""The pieces of a region detector: boxes, anchors' matches, sampling, suppression, pooling and losses, all of static shape.

Twins: runners/torch/regions.py, runners/jax/regions.py. Same outline, same names, same order.

A box is (left, top, right, bottom) in pixels. Boxes and scores are in the parameters' dtype, whatever that of the features.
"""

from __future__ import annotations

import math

import tensorflow as tf

from runners.contract.kinds.regions import LARGEST_LOG_SIDE


def box_iou(boxes, others):
    """Return the intersection over union of boxes [batch, n, 4] with others [batch, m, 4], as [batch, n, m].

    A box without area gives 0. Both may lack the batch. Areas must not overflow: sides to 1e18 in float32.
    """
    boxes, others = boxes[..., :, None, :], others[..., None, :, :]
    high, low = tf.minimum(boxes[..., 2:], others[..., 2:]), tf.maximum(boxes[..., :2], others[..., :2])
    overlap = _product_of_sides(high - low)
    union = _product_of_sides(boxes[..., 2:] - boxes[..., :2]) + _product_of_sides(others[..., 2:] - others[..., :2]) - overlap
    return tf.math.divide_no_nan(overlap, union)


def encode(boxes, anchors, weights):
    """Return the deltas [..., 4] that lead from anchors to boxes (Ren et al. 2015, arXiv 1506.01497, equation 2).

    Moves over the anchor's sides and logarithms of sides over the anchor's, each times its weight. A side that is not positive
    counts as one pixel, so that padding has finite deltas.

    Args:
        boxes, anchors: [..., 4]; either may lack the batch.
        weights: four numbers, of x, y, width and height.
    """
    x, y, width, height = _centre_and_sides(boxes)
    anchor_x, anchor_y, anchor_width, anchor_height = _centre_and_sides(anchors)
    of_x, of_y, of_width, of_height = weights
    deltas = [
        of_x * ((x - anchor_x) / anchor_width),
        of_y * ((y - anchor_y) / anchor_height),
        of_width * tf.math.log(width / anchor_width),
        of_height * tf.math.log(height / anchor_height),
    ]
    return tf.stack(deltas, axis=-1)


def decode(deltas, anchors, weights):
    """Return the boxes [..., 4] that deltas [..., 4] lead to from anchors; sides grow to at most 62.5 times the anchor's."""
    x, y, width, height = _centre_and_sides(anchors)
    dx, dy, dwidth, dheight = (delta / weight for delta, weight in zip(tf.unstack(deltas, axis=-1), weights, strict=True))
    x, y = x + dx * width, y + dy * height
    width = width * tf.exp(tf.minimum(dwidth, LARGEST_LOG_SIDE))
    height = height * tf.exp(tf.minimum(dheight, LARGEST_LOG_SIDE))
    return tf.stack([x - 0.5 * width, y - 0.5 * height, x + 0.5 * width, y + 0.5 * height], axis=-1)


def clip(boxes, side):
    """Return the part of boxes [..., 4] inside an image of `side` by `side` pixels; of one outside, a line or a point is left."""
    return tf.clip_by_value(boxes, 0, side)


def match(iou, valid, *, low, high, forces_best):
    """Return for each anchor or proposal the ground truth that it overlaps most, and its label, both int [batch, n].

    The label is 1 from `high` on, 0 below `low`, and -1, ignored, between. Of equally good ones the lowest index is taken. In an
    image without ground truth every index and label is 0.

    Args:
        iou: [batch, n, truth].
        valid: bool [batch, truth], which rows of the ground truth are not padding.
        forces_best: label 1 whatever each ground truth overlaps most, all of these on ties. Their index stays that of their own
            best. PAPER(detectron2): a ground truth without area, which overlaps nothing, forces none; there it forces all.
    """
    iou = tf.where(valid[:, None, :], iou, -1.0)
    best, index = (found[..., 0] for found in top_k(iou, 1))
    label = tf.where(best >= high, 1, tf.where(best < low, 0, -1))
    if forces_best:
        most = tf.reduce_max(iou, axis=1, keepdims=True)
        label = tf.where(tf.reduce_any((iou == most) & (iou > 0), axis=2), 1, label)
    return index, label


def sample(labels, priorities, *, count, most_positive):
    """Return which rows are drawn as positive and which as negative, both bool [batch, n].

    At most `most_positive` of label 1, those of the highest priorities, then as many of label 0 as fill up `count`.

    Args:
        labels: int [batch, n]: 1, 0, or -1 for rows that are never drawn.
        priorities: int or float [batch, n], none negative, different within a row.
    """
    positive = (labels == 1) & (_rank(tf.where(labels == 1, priorities, -1)) < most_positive)
    room = count - tf.reduce_sum(tf.cast(positive, tf.int32), axis=1, keepdims=True)
    negative = (labels == 0) & (_rank(tf.where(labels == 0, priorities, -1)) < room)
    return positive, negative


def listed(positive, negative, *, count):
    """Return the indices of drawn rows, positive ones first, each kind in order, int [batch, count], and which are drawn, bool.

    Args:
        positive, negative: bool [batch, n], as `sample` returns them; `count` is at most n.
    """
    kind, indices = top_k(2 * tf.cast(positive, tf.int32) + tf.cast(negative, tf.int32), count)
    return indices, kind > 0


def top_k(scores, k):
    """Return the k largest of scores [batch, n] and their indices, both [batch, k]; of equal ones the lowest index is first."""
    # DIFFERS(tensorflow): tf.math.top_k promises this order, tf.argmax promises none. Under XLA it puts 0.0 before -0.0.
    return tf.math.top_k(tf.where(scores != 0, scores, 0), k)


def picked(values, indices):
    """Return the rows of values [batch, n, ...] at indices [batch, k], as [batch, k, ...]."""
    return tf.gather(values, indices, axis=1, batch_dims=1)


def nms(boxes, scores, valid, *, threshold, count):
    """Return the indices that greedy non-maximum suppression keeps and which of them are in use, int and bool [batch, count].

    The best box that is left is kept, and those whose intersection over union with it is above `threshold`, not at it, are
    dropped. Of equal scores the lowest index comes first. A box without area drops none but itself. Unused places hold 0.

    Args:
        boxes: [batch, n, 4]; scores: finite [batch, n]; valid: bool [batch, n], boxes that take part.
    """
    itself = tf.eye(boxes.shape[1], dtype=tf.bool)
    stays = ~((box_iou(boxes, boxes) > threshold) | itself)
    left = tf.where(valid, scores, -math.inf)
    kept, used = [], []
    for _ in range(count):
        score, best = top_k(left, 1)
        kept.append(best)
        used.append(score > -math.inf)
        left = tf.where(picked(stays, best)[:, 0], left, -math.inf)
    return tf.concat(kept, axis=1), tf.concat(used, axis=1)


def roi_align(features, boxes, *, stride, size, samples):
    """Return what lies in each box of a map [batch, height, width, channel], as [batch, box, size, size, channel].

    RoIAlign (He et al. 2017, arXiv 1703.06870, section 3) as torchvision's with aligned=True: a box is divided by the stride and
    moved by half a pixel, as the value of pixel i stands at its centre, i + 1/2. Each bin is the mean of samples ** 2 bilinear
    samples. A sample further than one pixel outside the outer centres is 0, a nearer one has their value; a box inside the image
    has none outside. A box without area is sampled along a line or at a point.

    The samples form a grid, so that interpolation is a product with one matrix per axis, and so is its gradient, which goes to
    the features alone. Computed in the boxes' dtype.

    Args:
        boxes: finite [batch, box, 4] in pixels of the image.
        stride: pixels of the image per pixel of the map.
    """
    boxes = tf.stop_gradient(boxes)
    left, top, right, bottom = tf.unstack(boxes / stride - 0.5, axis=-1)
    down = _interpolation(top, bottom, size=size, samples=samples, length=features.shape[1])
    across = _interpolation(left, right, size=size, samples=samples, length=features.shape[2])
    lines = tf.einsum("brih,bhwc->briwc", down, tf.cast(features, boxes.dtype))
    return tf.cast(tf.einsum("briwc,brjw->brijc", lines, across), features.dtype)


def level_of(boxes, *, canonical):
    """Return which of two levels each box [..., 4] is pooled from, int [...]: 1 from an area of canonical ** 2 on, else 0.

    Lin et al. 2016, arXiv 1612.03144, equation 1, for two levels; there the size of the step is 224 pixels.
    """
    return tf.cast(_product_of_sides(boxes[..., 2:] - boxes[..., :2]) >= canonical**2, tf.int32)


def pooled(levels, boxes, *, strides, canonical, size, samples):
    """Return `roi_align` of each box from its own of two levels, as [batch, box, size, size, channel].

    Args:
        levels: two maps [batch, height, width, channel], the finer first; strides: theirs.
        canonical: as of `level_of`.
    """
    fine, coarse = (
        roi_align(level, boxes, stride=stride, size=size, samples=samples) for level, stride in zip(levels, strides, strict=True)
    )
    return tf.where(level_of(boxes, canonical=canonical)[..., None, None, None] == 1, coarse, fine)


def smooth_l1(predicted, target, *, beta):
    """Return the sum over the last axis of d ** 2 / (2 * beta) where |d| < beta, else |d| - beta / 2; beta above 0."""
    # DIFFERS(tensorflow): keras.losses.huber is beta times this, and a mean over the axis.
    distance = tf.abs(predicted - target)
    losses = tf.where(distance < beta, 0.5 * tf.square(distance) / beta, distance - 0.5 * beta)
    return tf.reduce_sum(losses, axis=-1)


def sigmoid_cross_entropy(logits, targets):
    """Return -log of the probability that a sigmoid gives to targets of 0 or 1, or between, elementwise."""
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)


def softmax_cross_entropy(logits, labels):
    """Return -log softmax(logits [..., class])[label], as labels [...] are shaped; labels from 0 on, so that none is padding."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def _product_of_sides(sides):
    """Return width times height [...] of sides [..., 2]; 0 where one is negative."""
    width, height = tf.unstack(tf.maximum(sides, 0), axis=-1)
    return width * height


def _centre_and_sides(boxes):
    """Return (x, y, width, height) of boxes [..., 4]; a side that is not positive is 1."""
    left, top, right, bottom = tf.unstack(boxes, axis=-1)
    width, height = (tf.where(side > 0, side, 1.0) for side in (right - left, bottom - top))
    return 0.5 * (left + right), 0.5 * (top + bottom), width, height


def _rank(priorities):
    """Return the place of each in its row [batch, n], counted from the highest."""
    return tf.argsort(tf.argsort(priorities, axis=1, direction="DESCENDING", stable=True), axis=1)


def _interpolation(start, end, *, size, samples, length):
    """Return [batch, box, size, length]: what each pixel of an axis weighs in each bin of boxes from start to end, in pixels."""
    steps = (tf.range(size * samples, dtype=start.dtype) + 0.5) / (size * samples)
    place = start[..., None] + (end - start)[..., None] * steps
    is_near = (place >= -1) & (place <= length)
    pixels = tf.range(length, dtype=start.dtype)
    distance = tf.abs(tf.clip_by_value(place, 0, length - 1)[..., None] - pixels)
    weights = tf.maximum(1 - distance, 0) * tf.cast(is_near, start.dtype)[..., None]
    return tf.reduce_mean(tf.reshape(weights, (*weights.shape[:-2], size, samples, length)), axis=-2)

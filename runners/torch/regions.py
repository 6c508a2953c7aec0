"""The pieces of a region detector: boxes, anchors' matches, sampling, suppression, pooling and losses, all of static shape.

Twins: runners/tensorflow/regions.py, runners/jax/regions.py. Same outline, same names, same order.

A box is (left, top, right, bottom) in pixels. Boxes and scores are in the parameters' dtype, whatever that of the features.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from runners.contract.kinds.regions import LARGEST_LOG_SIDE

# What is called in a loop is compiled once, not once a call: 9 s in the place of 29 for a suppression of 48 boxes.
_region = getattr(torch.compiler, "nested_compile_region", lambda function: function)


def box_iou(boxes, others):
    """Return the intersection over union of boxes [batch, n, 4] with others [batch, m, 4], as [batch, n, m].

    A box without area gives 0. Both may lack the batch. Areas must not overflow: sides to 1e18 in float32.
    """
    boxes, others = boxes[..., :, None, :], others[..., None, :, :]
    high, low = torch.minimum(boxes[..., 2:], others[..., 2:]), torch.maximum(boxes[..., :2], others[..., :2])
    overlap = _product_of_sides(high - low)
    union = _product_of_sides(boxes[..., 2:] - boxes[..., :2]) + _product_of_sides(others[..., 2:] - others[..., :2]) - overlap
    return overlap / union.clamp(min=torch.finfo(union.dtype).tiny)


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
        of_width * torch.log(width / anchor_width),
        of_height * torch.log(height / anchor_height),
    ]
    return torch.stack(deltas, dim=-1)


def decode(deltas, anchors, weights):
    """Return the boxes [..., 4] that deltas [..., 4] lead to from anchors; sides grow to at most 62.5 times the anchor's."""
    x, y, width, height = _centre_and_sides(anchors)
    dx, dy, dwidth, dheight = (delta / weight for delta, weight in zip(deltas.unbind(dim=-1), weights, strict=True))
    x, y = x + dx * width, y + dy * height
    width = width * torch.exp(dwidth.clamp(max=LARGEST_LOG_SIDE))
    height = height * torch.exp(dheight.clamp(max=LARGEST_LOG_SIDE))
    return torch.stack([x - 0.5 * width, y - 0.5 * height, x + 0.5 * width, y + 0.5 * height], dim=-1)


def clip(boxes, side):
    """Return the part of boxes [..., 4] inside an image of `side` by `side` pixels; of one outside, a line or a point is left."""
    return boxes.clamp(0, side)


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
    iou = iou.masked_fill(~valid[:, None, :], -1.0)
    best, index = iou.max(dim=2)
    label = torch.where(best >= high, 1, torch.where(best < low, 0, -1))
    if forces_best:
        most = iou.amax(dim=1, keepdim=True)
        label = torch.where(((iou == most) & (iou > 0)).any(dim=2), 1, label)
    return index, label


def sample(labels, priorities, *, count, most_positive):
    """Return which rows are drawn as positive and which as negative, both bool [batch, n].

    At most `most_positive` of label 1, those of the highest priorities, then as many of label 0 as fill up `count`.

    Args:
        labels: int [batch, n]: 1, 0, or -1 for rows that are never drawn.
        priorities: int or float [batch, n], none negative, different within a row.
    """
    positive = (labels == 1) & (_rank(priorities.masked_fill(labels != 1, -1)) < most_positive)
    room = count - positive.sum(dim=1, keepdim=True)
    negative = (labels == 0) & (_rank(priorities.masked_fill(labels != 0, -1)) < room)
    return positive, negative


def listed(positive, negative, *, count):
    """Return the indices of drawn rows, positive ones first, each kind in order, int [batch, count], and which are drawn, bool.

    Args:
        positive, negative: bool [batch, n], as `sample` returns them; `count` is at most n.
    """
    kind, indices = top_k(2 * positive.int() + negative.int(), count)
    return indices, kind > 0


def top_k(scores, k):
    """Return the k largest of scores [batch, n] and their indices, both [batch, k]; of equal ones the lowest index is first."""
    # DIFFERS(torch): torch.topk does not say which of equal scores it takes.
    values, indices = torch.sort(scores, dim=1, descending=True, stable=True)
    return values[:, :k], indices[:, :k]


def picked(values, indices):
    """Return the rows of values [batch, n, ...] at indices [batch, k], as [batch, k, ...]."""
    return torch.take_along_dim(values, indices.reshape(*indices.shape, *[1] * (values.dim() - 2)), dim=1)


def nms(boxes, scores, valid, *, threshold, count):
    """Return the indices that greedy non-maximum suppression keeps and which of them are in use, int and bool [batch, count].

    The best box that is left is kept, and those whose intersection over union with it is above `threshold`, not at it, are
    dropped. Of equal scores the lowest index comes first. A box without area drops none but itself. Unused places hold 0.

    Args:
        boxes: [batch, n, 4]; scores: finite [batch, n]; valid: bool [batch, n], boxes that take part.
    """
    itself = torch.eye(boxes.shape[1], dtype=torch.bool, device=boxes.device)
    drops = (box_iou(boxes, boxes) > threshold) | itself
    left = scores.masked_fill(~valid, -torch.inf)
    kept, used = [], []
    for _ in range(count):
        left, best, is_used = _keep_best(left, drops)
        kept.append(best)
        used.append(is_used)
    return torch.cat(kept, dim=1), torch.cat(used, dim=1)


def roi_align(features, boxes, *, stride, size, samples):
    """Return what lies in each box of a map [batch, channel, height, width], as [batch, box, channel, size, size].

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
    boxes = boxes.detach()
    left, top, right, bottom = (boxes / stride - 0.5).unbind(dim=-1)
    down = _interpolation(top, bottom, size=size, samples=samples, length=features.shape[2])
    across = _interpolation(left, right, size=size, samples=samples, length=features.shape[3])
    # A trace forgets this: to be called outside autocast, as it holds the casts that the rest needs.
    with torch.autocast(features.device.type, enabled=False):
        lines = torch.einsum("brih,bchw->brciw", down, features.to(boxes.dtype))
        return torch.einsum("brciw,brjw->brcij", lines, across).to(features.dtype)


def level_of(boxes, *, canonical):
    """Return which of two levels each box [..., 4] is pooled from, int [...]: 1 from an area of canonical ** 2 on, else 0.

    Lin et al. 2016, arXiv 1612.03144, equation 1, for two levels; there the size of the step is 224 pixels.
    """
    return (_product_of_sides(boxes[..., 2:] - boxes[..., :2]) >= canonical**2).long()


def pooled(levels, boxes, *, strides, canonical, size, samples):
    """Return `roi_align` of each box from its own of two levels, as [batch, box, channel, size, size].

    Args:
        levels: two maps [batch, channel, height, width], the finer first; strides: theirs.
        canonical: as of `level_of`.
    """
    fine, coarse = (
        roi_align(level, boxes, stride=stride, size=size, samples=samples) for level, stride in zip(levels, strides, strict=True)
    )
    return torch.where(level_of(boxes, canonical=canonical)[..., None, None, None] == 1, coarse, fine)


def smooth_l1(predicted, target, *, beta):
    """Return the sum over the last axis of d ** 2 / (2 * beta) where |d| < beta, else |d| - beta / 2; beta above 0."""
    return F.smooth_l1_loss(predicted, target, reduction="none", beta=beta).sum(dim=-1)


def sigmoid_cross_entropy(logits, targets):
    """Return -log of the probability that a sigmoid gives to targets of 0 or 1, or between, elementwise."""
    # DIFFERS(torch): its errors are 2**-24 (2**-53) of 1 + |logit|, those of the others of the loss itself.
    return F.binary_cross_entropy_with_logits(logits, targets, reduction="none")


def softmax_cross_entropy(logits, labels):
    """Return -log softmax(logits [..., class])[label], as labels [...] are shaped; labels from 0 on, so that none is padding."""
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="none").reshape(labels.shape)


@_region
def _keep_best(left, drops):
    """Return the scores [batch, n] without those that the best one drops, its index, and whether it was one, both [batch, 1]."""
    score, best = left.max(dim=1, keepdim=True)
    return left.masked_fill(picked(drops, best)[:, 0], -torch.inf), best, score > -torch.inf


def _product_of_sides(sides):
    """Return width times height [...] of sides [..., 2]; 0 where one is negative."""
    width, height = sides.clamp(min=0).unbind(dim=-1)
    return width * height


def _centre_and_sides(boxes):
    """Return (x, y, width, height) of boxes [..., 4]; a side that is not positive is 1."""
    left, top, right, bottom = boxes.unbind(dim=-1)
    width, height = (torch.where(side > 0, side, 1.0) for side in (right - left, bottom - top))
    return 0.5 * (left + right), 0.5 * (top + bottom), width, height


def _rank(priorities):
    """Return the place of each in its row [batch, n], counted from the highest."""
    return torch.argsort(torch.argsort(priorities, dim=1, descending=True, stable=True), dim=1)


def _interpolation(start, end, *, size, samples, length):
    """Return [batch, box, size, length]: what each pixel of an axis weighs in each bin of boxes from start to end, in pixels."""
    steps = (torch.arange(size * samples, dtype=start.dtype, device=start.device) + 0.5) / (size * samples)
    place = start[..., None] + (end - start)[..., None] * steps
    is_near = (place >= -1) & (place <= length)
    pixels = torch.arange(length, dtype=start.dtype, device=start.device)
    distance = (place.clamp(min=0, max=length - 1)[..., None] - pixels).abs()
    weights = (1 - distance).clamp(min=0) * is_near[..., None]
    return weights.unflatten(-2, (size, samples)).mean(dim=-2)

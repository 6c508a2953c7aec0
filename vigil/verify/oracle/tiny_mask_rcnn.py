"""Mask R-CNN (He et al. 2017, arXiv 1703.06870) on the oracle's graph.

Same taps as its twins in runners/. Decisions, which anchors and which proposals, are its own: made of float64 values, and fixed
where the gradient is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.kinds.detection import LEVELS
from runners.contract.kinds.regions import anchors
from vigil.verify.oracle import operations
from vigil.verify.oracle import region_operations as regions
from vigil.verify.oracle.graph import Graph, Node
from vigil.verify.oracle.layers import Layers
from vigil.verify.oracle.rounding import Rounding

Tensors = Mapping[str, np.ndarray]
TERMS = ("rpn_class", "rpn_box", "box_class", "box", "mask")


def forward(
    graph: Graph, images: np.ndarray, labels: Tensors, *, model: dict[str, Any], statistics: Tensors
) -> tuple[list[Node], None]:
    """Return the five losses of images [batch, height, width, channel] in training mode, [batch] each.

    Args:
        labels: those of `runners.contract.data.region_batches`.
    """
    layers = Layers(graph, model, statistics, training=True)
    levels = _levels(layers, images, model)
    objectness, deltas = _scored_anchors(layers, levels)
    proposals = _proposed(objectness.value, deltas.value, model, rounding=graph.rounding)
    proposals = graph.choice("proposals", proposals, among=(objectness, deltas))
    is_given = labels["is_given"][:, None, None] == 1
    proposals = np.where(is_given, labels["proposals"].astype(np.float64), proposals)
    losses = [
        *_proposal_losses(graph, objectness, deltas, labels, model),
        *_region_losses(layers, levels, proposals, labels, model),
    ]
    return [graph.tap(f"loss.{name}", loss) for name, loss in zip(TERMS, losses, strict=True)], None


def own_proposals(images: np.ndarray, *, model: dict[str, Any], params: Tensors, statistics: Tensors) -> np.ndarray:
    """Return the proposals that training mode makes of images, float64 [batch, proposal, 4]."""
    layers = Layers(Graph(params), model, statistics, training=True)
    objectness, deltas = _scored_anchors(layers, _levels(layers, images.astype(np.float64), model))
    return _proposed(objectness.value, deltas.value, model, rounding=layers.graph.rounding)


def objective(graph: Graph, losses: list[Node], expected: None) -> Node:
    """Return the mean over the batch of the sum of the losses."""
    del expected
    first, *others = losses
    terms = len(losses) * len(first.value)
    return graph.apply(operations.mean_of_sums, first, *others, is_wide=True, terms=(terms,))


def evaluate(graph: Graph, images: np.ndarray, *, model: dict[str, Any], statistics: Tensors) -> Node:
    """Return what is found, as `runners.contract.kinds.detections.from_rows` reads it, [batch, detection, 6 + cells]."""
    layers, rule, n_classes = Layers(graph, model, statistics, training=False), model["detection"], model["n_classes"]
    side = model["image_shape"][0]
    levels = _levels(layers, images, model)
    objectness, deltas = _scored_anchors(layers, levels)
    proposals = _proposed(objectness.value, deltas.value, model, rounding=graph.rounding)
    batch, count = proposals.shape[:2]
    is_large = _are_large(proposals, model)
    logits, moves = (node.value for node in _box_head(layers, _pooled(graph, levels, proposals, "box", model), is_large))
    likelihood = np.exp(logits - logits.max(axis=-1, keepdims=True))
    likelihood = graph.rounding.master(likelihood / likelihood.sum(axis=-1, keepdims=True))
    scores = likelihood[..., 1:].reshape(batch, -1)
    starts = np.repeat(proposals, n_classes, axis=1)
    boxes = regions.decode(moves.reshape(batch, count * n_classes, 4), starts, model["region_sampling"]["weights"])
    boxes, kinds = regions.clip(graph.rounding.master(boxes), side), np.tile(np.arange(n_classes), count)
    is_probable = (scores > rule["least_score"]) & np.repeat(is_large, n_classes, axis=1)
    apart = boxes + 2.0 * side * kinds[:, None]
    kept, used = regions.nms(apart, scores, is_probable, threshold=rule["overlap"], count=rule["count"])
    boxes, scores, kinds = regions.picked(boxes, kept), regions.picked(scores, kept), kinds[kept]
    masks = _mask_head(layers, _pooled(graph, levels, boxes, "mask", model), used).value
    own = operations.of_class(masks, classes=kinds)[0].reshape(*kinds.shape, -1)
    numbers = np.concatenate([kinds[..., None], scores[..., None], boxes, 1.0 / (1.0 + np.exp(-own))], axis=-1)
    nothing = -(np.arange(numbers.shape[-1]) == 0).astype(np.float64)
    return Node(np.where(used[..., None], numbers, nothing))


def _levels(layers: Layers, images: np.ndarray, model: dict[str, Any]) -> list[Node]:
    """Return the two maps of the pyramid, the finer first."""
    graph = layers.graph
    x = layers.conv("stem.conv", Node(graph.rounding.cast(images)), 2)
    x = layers.relu("stem.relu", layers.batch_norm("stem.bn", x), ends_block=True)
    stages = {}
    for stage, count in enumerate(model["blocks"], start=2):
        for k in range(1, count + 1):
            x = layers.conv(f"stage{stage}.conv{k}", x, 2 if k == 1 else 1)
            x = layers.relu(f"stage{stage}.relu{k}", layers.batch_norm(f"stage{stage}.bn{k}", x), ends_block=True)
        stages[stage] = x
    fine, coarse = (layers.conv(f"fpn.lateral{level}", stages[level], 1, is_padded=False) for level in LEVELS)
    sums = layers.add("fpn.sum", fine, graph.apply(operations.twice_as_large, coarse)), coarse
    return [layers.conv(f"fpn.output{level}", x, 1, ends_block=True) for level, x in zip(LEVELS, sums, strict=True)]


def _scored_anchors(layers: Layers, levels: list[Node]) -> tuple[Node, Node]:
    """Return objectness [batch, anchor] and deltas [batch, anchor, 4]."""
    graph, scores, moves = layers.graph, list[Node](), list[Node]()
    for level, x in zip(LEVELS, levels, strict=True):
        x = layers.relu(f"rpn{level}.relu", layers.conv("rpn.conv", x, 1, tap=f"rpn{level}.conv"))
        for name, found in (("objectness", scores), ("deltas", moves)):
            found.append(layers.conv(f"rpn.{name}", x, 1, is_padded=False, tap=f"rpn{level}.{name}"))
    objectness = graph.apply(operations.joined_levels, *scores, numbers=1, widens=True)
    deltas = graph.apply(operations.joined_levels, *moves, numbers=4, widens=True)
    return graph.tap("rpn.objectness", objectness, ends_block=True), graph.tap("rpn.deltas", deltas, ends_block=True)


def _proposed(objectness: np.ndarray, deltas: np.ndarray, model: dict[str, Any], *, rounding: Rounding) -> np.ndarray:
    """Return the proposals [batch, count, 4]; a place that is not in use is a box without area."""
    rule, weights = model["proposals"], model["anchor_sampling"]["weights"]
    scores, best = regions.top_k(objectness, rule["considered"])
    boxes = regions.decode(regions.picked(deltas, best), anchors(model)[best], weights)
    boxes = regions.clip(rounding.master(boxes), model["image_shape"][0])
    kept, used = regions.nms(boxes, scores, _are_large(boxes, model), threshold=rule["overlap"], count=rule["count"])
    return np.where(used[..., None], regions.picked(boxes, kept), 0.0)


def _are_large(boxes: np.ndarray, model: dict[str, Any]) -> np.ndarray:
    return ((boxes[..., 2:] - boxes[..., :2]) >= model["proposals"]["least_side"]).all(axis=-1)


def _proposal_losses(graph: Graph, objectness: Node, deltas: Node, labels: Tensors, model: dict[str, Any]) -> tuple[Node, Node]:
    rule, cells = model["anchor_sampling"], anchors(model)
    truth, is_there = labels["boxes"].astype(np.float64), labels["classes"] >= 0
    overlap = regions.box_iou(cells, truth)
    index, label = regions.match(overlap, is_there, low=rule["low"], high=rule["high"], forces_best=True)
    priorities = labels["anchor_priorities"]
    positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
    # What is learned is computed in the parameters' type too, and a gradient that nearly vanishes is its difference to it.
    target = graph.rounding.master(regions.encode(regions.picked(truth, index), cells, rule["weights"]))
    of_class = graph.apply(regions.sigmoid_cross_entropy, objectness, targets=positive.astype(np.float64), is_wide=True)
    of_box = graph.apply(regions.smooth_l1, deltas, target=target, beta=rule["beta"], is_wide=True, terms=(4,))
    return _total(graph, of_class, positive | negative, rule["count"]), _total(graph, of_box, positive, rule["count"])


def _region_losses(
    layers: Layers, levels: list[Node], proposals: np.ndarray, labels: Tensors, model: dict[str, Any]
) -> tuple[Node, Node, Node]:
    graph, rule, truth = layers.graph, model["region_sampling"], labels["boxes"].astype(np.float64)
    boxes, index, positive, used = _sampled(proposals, labels, model)
    boxes = graph.choice("regions", boxes)
    own = np.maximum(regions.picked(labels["classes"], index), 0)
    logits, deltas = _box_head(layers, _pooled(graph, levels, boxes, "box", model), used)
    classes = np.where(positive, own + 1, 0)
    of_class = graph.apply(regions.softmax_cross_entropy, logits, labels=classes, is_wide=True, terms=(logits.value.shape[-1],))
    by_class = graph.apply(_coordinates_first, deltas, is_wide=True)
    moves = graph.apply(operations.of_class, by_class, classes=own, is_wide=True)
    target = graph.rounding.master(regions.encode(regions.picked(truth, index), boxes, rule["weights"]))
    of_box = graph.apply(regions.smooth_l1, moves, target=target, beta=rule["beta"], is_wide=True, terms=(4,))
    most = rule["most_positive"]
    boxes, index, own, has_mask = boxes[:, :most], index[:, :most], own[:, :most], positive[:, :most]
    masks = _mask_head(layers, _pooled(graph, levels, boxes, "mask", model), has_mask)
    of_own = graph.apply(operations.of_class, masks, classes=own, is_wide=True)
    targets = _cropped(regions.picked(labels["masks"], index), boxes, has_mask, model)
    targets = graph.rounding.master(targets, 4 * model["pooling"]["samples"] ** 2)
    of_pixel = graph.apply(regions.sigmoid_cross_entropy, of_own, targets=targets, is_wide=True)
    of_mask = graph.apply(_mean_of_pixels, of_pixel, is_wide=True, terms=(targets[0, 0].size,))
    class_loss, box_loss = _total(graph, of_class, used, rule["count"]), _total(graph, of_box, positive, rule["count"])
    return class_loss, box_loss, _total(graph, of_mask, has_mask, most)


def _sampled(proposals: np.ndarray, labels: Tensors, model: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """Return regions, the index of each one's instance, which are positive, and which are in use."""
    rule, truth, is_there = model["region_sampling"], labels["boxes"].astype(np.float64), labels["classes"] >= 0
    candidates = np.concatenate([proposals, truth], axis=1)
    overlap = regions.box_iou(candidates, truth)
    index, label = regions.match(overlap, is_there, low=rule["low"], high=rule["high"], forces_best=False)
    label = np.where(np.concatenate([_are_large(proposals, model), is_there], axis=1), label, -1)
    priorities = labels["proposal_priorities"]
    positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
    places, used = regions.listed(positive, negative, count=rule["count"])
    return *(regions.picked(each, places) for each in (candidates, index, positive)), used


def _pooled(graph: Graph, levels: list[Node], boxes: np.ndarray, head: str, model: dict[str, Any]) -> Node:
    rule = model["pooling"]
    options = {"strides": model["strides"], "canonical": rule["canonical"], "samples": rule["samples"], "size": rule[head]}
    terms = (4 * rule["samples"] ** 2,)
    return graph.tap(f"{head}.pool", graph.apply(regions.pooled, *levels, boxes=boxes, terms=terms, **options))


def _box_head(layers: Layers, x: Node, used: np.ndarray) -> tuple[Node, Node]:
    x = layers.conv("box.conv", x, 1, of_regions=True)
    x = layers.relu("box.relu", layers.region_batch_norm("box.bn", x, used))
    x = layers.dense("box.dense", layers.graph.apply(_flattened, x), tap="box.dense", of_regions=True)
    x = layers.relu("box.hidden", x, ends_block=True)
    classes, deltas = (
        layers.dense(f"box.{name}", x, tap=f"box.{name}", of_regions=True, widens=True) for name in ("classes", "deltas")
    )
    return classes, deltas


def _mask_head(layers: Layers, x: Node, used: np.ndarray) -> Node:
    for k in (1, 2):
        x = layers.conv(f"mask.conv{k}", x, 1, of_regions=True)
        x = layers.relu(f"mask.relu{k}", layers.region_batch_norm(f"mask.bn{k}", x, used), ends_block=k == 2)
    x = layers.relu("mask.up_relu", layers.transposed_conv("mask.up", x), ends_block=True)
    return layers.conv("mask.classes", x, 1, is_padded=False, of_regions=True)


def _cropped(masks: np.ndarray, boxes: np.ndarray, used: np.ndarray, model: dict[str, Any]) -> np.ndarray:
    """Return what of masks [batch, box, side, side] lies in each one's box, at the size of the mask head's output."""
    rule = model["pooling"]
    size = 2 * rule["mask"]
    crops = np.zeros((*used.shape, size, size))
    for place in np.argwhere(used):
        mask, box = masks[tuple(place)].astype(np.float64), boxes[tuple(place)]
        options = {"stride": 1, "size": size, "samples": rule["samples"]}
        crops[tuple(place)] = regions.roi_align(mask[None, :, :, None], box[None, None], **options)[0][0, 0, ..., 0]
    return crops


def _total(graph: Graph, losses: Node, used: np.ndarray, divisor: int) -> Node:
    return graph.apply(operations.sum_in_use, losses, used=used, divisor=divisor, is_wide=True, terms=(losses.value.shape[1],))


def _flattened(x: np.ndarray) -> tuple[np.ndarray, operations.Backward]:
    return x.reshape(*x.shape[:2], -1), lambda gradient: (gradient.reshape(x.shape),)


def _coordinates_first(deltas: np.ndarray) -> tuple[np.ndarray, operations.Backward]:
    """Return deltas [batch, n, class * 4] as [batch, n, 4, class]."""
    apart = deltas.reshape(*deltas.shape[:2], -1, 4).swapaxes(2, 3)
    return apart, lambda gradient: (gradient.swapaxes(2, 3).reshape(deltas.shape),)


def _mean_of_pixels(x: np.ndarray) -> tuple[np.ndarray, operations.Backward]:
    """Return the mean over rows and columns of x [batch, n, height, width]."""
    height, width = x.shape[2:]
    return x.mean(axis=(2, 3)), lambda gradient: (np.broadcast_to(gradient[:, :, None, None] / (height * width), x.shape),)

"""Mask R-CNN (He et al. 2017, arXiv 1703.06870) with a pyramid of two levels (Lin et al. 2016, arXiv 1612.03144).

Twins: runners/torch/models/tiny_mask_rcnn.py, runners/tensorflow/models/tiny_mask_rcnn.py. Same outline, same names, same order.

Boxes and what is decided of them are in the parameters' dtype. All shapes are static: an image has a fixed number of
places for instances, proposals and regions, and a mask says which are in use. What is not in use weighs nothing anywhere.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

from runners.contract.kinds.detection import LEVELS
from runners.contract.kinds.regions import anchors
from runners.jax import regions
from runners.jax.models.resnet_cifar import List, conv, norm, norm_rows, untapped

TERMS = ("rpn_class", "rpn_box", "box_class", "box", "mask")
_THREE = {"kernel": (3, 3), "padding": ((1, 1), (1, 1)), "bias": True}
_ONE = {"kernel": (1, 1), "padding": ((0, 0), (0, 0)), "bias": True}


class Rules:
    """The recipe's model block: in a dict flax would look for state."""

    def __init__(self, model):
        self.model = model


class Backbone(nnx.Module):
    """Images [batch, height, width, channel] to a map for each level, the finer first."""

    def __init__(self, *, image_shape, widths, blocks, convolution, batch_norm, numerics):
        self.stem_conv = conv(image_shape[2], widths[0], stride=2, **convolution, **numerics)
        self.stem_bn = norm(widths[0], **batch_norm, **numerics)
        convs, norms = [], []
        self.blocks = tuple(blocks)
        for n_in, n_out, count in zip(widths, widths[1:], blocks, strict=False):
            for k in range(count):
                first = k == 0
                convs.append(conv(n_in if first else n_out, n_out, stride=2 if first else 1, **convolution, **numerics))
                norms.append(norm(n_out, **batch_norm, **numerics))
        self.convs, self.norms = List(convs), List(norms)

    def __call__(self, images, tap, mask):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x, mask))
        x = tap("stem.relu", nnx.relu(x))
        layers, levels = zip(self.convs, self.norms, strict=True), []
        for stage, count in enumerate(self.blocks, start=2):
            for k in range(1, count + 1):
                convolution, batch_norm = next(layers)
                x = tap(f"stage{stage}.conv{k}", convolution(x))
                x = tap(f"stage{stage}.bn{k}", batch_norm(x, mask))
                x = tap(f"stage{stage}.relu{k}", nnx.relu(x))
            if stage in LEVELS:
                levels.append(x)
        return levels


class Pyramid(nnx.Module):
    """Two maps, the finer first, to two of equally many channels; the coarser one is added to the finer."""

    def __init__(self, *, widths, channels, numerics):
        self.laterals = List([conv(n, channels, stride=1, **_ONE, **numerics) for n in widths])
        self.outputs = List([conv(channels, channels, stride=1, **_THREE, **numerics) for _ in widths])

    def __call__(self, levels, tap):
        fine, coarse = (
            tap(f"fpn.lateral{level}", lateral(x)) for level, lateral, x in zip(LEVELS, self.laterals, levels, strict=True)
        )
        above = coarse.repeat(2, axis=1).repeat(2, axis=2)
        sums = tap("fpn.sum", fine + above), coarse
        return [tap(f"fpn.output{level}", output(x)) for level, output, x in zip(LEVELS, self.outputs, sums, strict=True)]


class ProposalHead(nnx.Module):
    """Maps to objectness [batch, anchor] and deltas [batch, anchor, 4], in the order of `contract.regions.anchors`."""

    def __init__(self, *, channels, n_shapes, numerics):
        self.conv = conv(channels, channels, stride=1, **_THREE, **numerics)
        self.objectness, self.deltas = (conv(channels, n, stride=1, **_ONE, **numerics) for n in (n_shapes, 4 * n_shapes))

    def __call__(self, levels, tap):
        wide = self.conv.kernel.dtype
        scores, moves = [], []
        for level, x in zip(LEVELS, levels, strict=True):
            x = tap(f"rpn{level}.conv", self.conv(x))
            x = tap(f"rpn{level}.relu", nnx.relu(x))
            score, move = (tap(f"rpn{level}.{part}", getattr(self, part)(x)) for part in ("objectness", "deltas"))
            scores.append(score.reshape(len(x), -1).astype(wide))
            moves.append(move.reshape(len(x), -1, 4).astype(wide))
        return tap("rpn.objectness", jnp.concatenate(scores, axis=1)), tap("rpn.deltas", jnp.concatenate(moves, axis=1))


class BoxHead(nnx.Module):
    """What lies in regions [batch, region, size, size, channel] to logits of background and classes, and deltas of each class.

    Batch norm takes the statistics of the regions in use, on all devices.
    """

    def __init__(self, *, channels, size, hidden, n_classes, convolution, batch_norm, numerics):
        self.conv = conv(channels, channels, stride=1, **convolution, **numerics)
        self.bn = norm(channels, **batch_norm, **numerics)
        self.dense = dense(size * size * channels, hidden, **numerics)
        self.classes, self.deltas = (dense(hidden, n, **numerics) for n in (n_classes + 1, 4 * n_classes))

    def __call__(self, x, used, tap):
        shape, wide = x.shape[:2], self.classes.kernel.dtype
        x = tap("box.conv", unflattened(self.conv(flattened(x)), shape))
        x = tap("box.bn", unflattened(self.bn(flattened(x), used.ravel()), shape))
        x = tap("box.relu", nnx.relu(x))
        x = tap("box.dense", self.dense(x.reshape(*shape, -1)))
        x = tap("box.hidden", nnx.relu(x))
        return tap("box.classes", self.classes(x).astype(wide)), tap("box.deltas", self.deltas(x).astype(wide))


class MaskHead(nnx.Module):
    """What lies in regions [batch, region, size, size, channel] to masks [batch, region, 2 size, 2 size, class]."""

    def __init__(self, *, channels, n_classes, convolution, batch_norm, numerics):
        self.conv1, self.conv2 = (conv(channels, channels, stride=1, **convolution, **numerics) for _ in range(2))
        self.bn1, self.bn2 = (norm(channels, **batch_norm, **numerics) for _ in range(2))
        # DIFFERS(jax): without transpose_kernel the kernel stands on its head, compared to the other frameworks.
        self.up = nnx.ConvTranspose(
            channels,
            channels,
            (2, 2),
            strides=(2, 2),
            padding="VALID",
            transpose_kernel=True,
            kernel_init=nnx.initializers.zeros_init(),
            **numerics,
        )
        self.classes = conv(channels, n_classes, stride=1, **_ONE, **numerics)

    def __call__(self, x, used, tap):
        shape, wide = x.shape[:2], self.classes.kernel.dtype
        for k, convolution, batch_norm in ((1, self.conv1, self.bn1), (2, self.conv2, self.bn2)):
            x = tap(f"mask.conv{k}", unflattened(convolution(flattened(x)), shape))
            x = tap(f"mask.bn{k}", unflattened(batch_norm(flattened(x), used.ravel()), shape))
            x = tap(f"mask.relu{k}", nnx.relu(x))
        x = tap("mask.up", unflattened(self.up(flattened(x)), shape))
        x = tap("mask.up_relu", nnx.relu(x))
        return tap("mask.classes", unflattened(self.classes(flattened(x)), shape).astype(wide))


class TinyMaskRcnn(nnx.Module):
    """Images [batch, height, width, channel], and labels in training: five losses of each image, [batch, term], after TERMS.

    Without labels: what is found, [batch, detection, number], as `contract.detections.from_rows` reads it. A row that `mask`
    leaves out only fills up a batch: it has no instance, and no region of it is in use.

    Args:
        model: the recipe's model block.
    """

    def __init__(self, model, *, numerics):
        rule = {key: model["batch_norm"][key] for key in ("epsilon", "momentum")}
        shared = {"convolution": model["convolution"], "batch_norm": rule, "numerics": numerics}
        channels, n_classes = model["channels"], model["n_classes"]
        self.backbone = Backbone(image_shape=model["image_shape"], widths=model["widths"], blocks=model["blocks"], **shared)
        widths = [model["widths"][level - 1] for level in LEVELS]
        self.pyramid = Pyramid(widths=widths, channels=channels, numerics=numerics)
        self.rpn = ProposalHead(channels=channels, n_shapes=len(model["anchors"]["ratios"]), numerics=numerics)
        size, hidden = model["pooling"]["box"], model["hidden"]
        self.box = BoxHead(channels=channels, size=size, hidden=hidden, n_classes=n_classes, **shared)
        self.mask = MaskHead(channels=channels, n_classes=n_classes, **shared)
        self.rules, self.side, self.n_classes = Rules(model), model["image_shape"][0], n_classes

    def __call__(self, images, labels=None, tap=untapped, mask=None):
        levels = self.pyramid(self.backbone(images, tap, mask), tap)
        objectness, deltas = self.rpn(levels, tap)
        of_cells = jnp.asarray(anchors(self.rules.model), deltas.dtype)
        proposals = self.proposed(jax.lax.stop_gradient(objectness), jax.lax.stop_gradient(deltas), of_cells)
        proposals = tap("proposals", proposals)
        if labels is None:
            return self.detected(levels, proposals, (objectness, deltas))
        in_batch = jnp.ones(len(images), bool) if mask is None else mask
        truth, is_there = labels["boxes"], (labels["classes"] >= 0) & in_batch[:, None]
        proposals = jnp.where((labels["is_given"] == 1)[:, None, None], labels["proposals"], proposals)
        of_class, of_box = self.proposal_losses(objectness, deltas, of_cells, truth, is_there, labels["anchor_priorities"])
        terms = of_class, of_box, *self.region_losses(levels, proposals, is_there, in_batch, labels, tap)
        return jnp.stack([tap(f"loss.{name}", term) for name, term in zip(TERMS, terms, strict=True)], axis=1)

    def proposed(self, objectness, deltas, anchors):
        """Return the proposals [batch, count, 4], the most probable first; a place that is not in use is a box without area."""
        rule, weights = self.rules.model["proposals"], self.rules.model["anchor_sampling"]["weights"]
        scores, best = regions.top_k(objectness, rule["considered"])
        boxes = regions.decode(regions.picked(deltas, best), anchors[best], weights)
        boxes = regions.clip(boxes, self.side)
        kept, used = regions.nms(boxes, scores, self.are_large(boxes), threshold=rule["overlap"], count=rule["count"])
        return jnp.where(used[..., None], regions.picked(boxes, kept), 0.0)

    def are_large(self, boxes):
        """Return which boxes [batch, n, 4] have no side that is too short, bool [batch, n]."""
        return ((boxes[..., 2:] - boxes[..., :2]) >= self.rules.model["proposals"]["least_side"]).all(axis=-1)

    def proposal_losses(self, objectness, deltas, anchors, truth, is_there, priorities):
        """Return the losses of objectness and of deltas, [batch] each."""
        rule = self.rules.model["anchor_sampling"]
        iou = regions.box_iou(anchors, truth)
        index, label = regions.match(iou, is_there, low=rule["low"], high=rule["high"], forces_best=True)
        positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
        of_class = regions.sigmoid_cross_entropy(objectness, positive.astype(objectness.dtype))
        target = regions.encode(regions.picked(truth, index), anchors, rule["weights"])
        of_box = regions.smooth_l1(deltas, target, beta=rule["beta"])
        return tuple(total(loss, used) / rule["count"] for loss, used in ((of_class, positive | negative), (of_box, positive)))

    def region_losses(self, levels, proposals, is_there, in_batch, labels, tap):
        """Return the losses of classes, boxes and masks, [batch] each."""
        rule, truth = self.rules.model["region_sampling"], labels["boxes"]
        boxes, index, positive, used = self.sampled(proposals, truth, is_there, labels["proposal_priorities"])
        used = used & in_batch[:, None]
        boxes = tap("regions", boxes)
        own = jnp.maximum(regions.picked(labels["classes"], index), 0)
        logits, deltas = self.box(self.pooled(levels, boxes, "box", tap), used, tap)
        of_class = regions.softmax_cross_entropy(logits, jnp.where(positive, own + 1, 0))
        target = regions.encode(regions.picked(truth, index), boxes, rule["weights"])
        of_box = regions.smooth_l1(of_own_class(deltas, own), target, beta=rule["beta"])
        # Positive regions stand first, and are never more than this.
        most = rule["most_positive"]
        boxes, index, own, has_mask = boxes[:, :most], index[:, :most], own[:, :most], positive[:, :most]
        masks = self.mask(self.pooled(levels, boxes, "mask", tap), has_mask, tap)
        targets = self.cropped(regions.picked(labels["masks"], index), boxes)
        of_mask = regions.sigmoid_cross_entropy(of_own_mask(masks, own), targets).mean(axis=(2, 3))
        return total(of_class, used) / rule["count"], total(of_box, positive) / rule["count"], total(of_mask, has_mask) / most

    def sampled(self, proposals, truth, is_there, priorities):
        """Return regions [batch, count, 4], the index of each one's instance, which are positive, and which are in use.

        As in Detectron2, the instances' own boxes are candidates too.
        """
        rule = self.rules.model["region_sampling"]
        candidates = jnp.concatenate([proposals, truth], axis=1)
        iou = regions.box_iou(candidates, truth)
        index, label = regions.match(iou, is_there, low=rule["low"], high=rule["high"], forces_best=False)
        label = jnp.where(jnp.concatenate([self.are_large(proposals), is_there], axis=1), label, -1)
        positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
        places, used = regions.listed(positive, negative, count=rule["count"])
        return *(regions.picked(each, places) for each in (candidates, index, positive)), used

    def pooled(self, levels, boxes, head, tap):
        """Return what lies in boxes of the pyramid, [batch, box, size, size, channel], for a head."""
        rule = self.rules.model["pooling"]
        options = {"strides": self.rules.model["strides"], "canonical": rule["canonical"], "samples": rule["samples"]}
        return tap(f"{head}.pool", regions.pooled(levels, boxes, size=rule[head], **options))

    def cropped(self, masks, boxes):
        """Return what of masks [batch, box, side, side] lies in each one's box, 0 to 1, at the size of the mask head's output."""
        rule = self.rules.model["pooling"]
        maps, boxes = flattened(masks).astype(boxes.dtype)[..., None], flattened(boxes)[:, None]
        crops = regions.roi_align(maps, boxes, stride=1, size=2 * rule["mask"], samples=rule["samples"])
        return unflattened(crops[:, 0, ..., 0], masks.shape[:2])

    def detected(self, levels, proposals, of_anchors):
        """Return class, score, box and mask of the detections, [batch, count, 6 + cells]; all NaN where an image has one.

        Args:
            of_anchors: objectness and deltas of every anchor: deltas that are not finite leave no proposal, and nothing is found.
        """
        rule, n_classes = self.rules.model["detection"], self.n_classes
        batch, n_proposals = proposals.shape[:2]
        is_large = self.are_large(proposals)
        logits, deltas = self.box(self.pooled(levels, proposals, "box", untapped), is_large, untapped)
        # One candidate for each proposal and class, classes next to each other.
        scores = jax.nn.softmax(logits, axis=-1)[..., 1:].reshape(batch, -1)
        of_class = deltas.reshape(batch, n_proposals, n_classes, 4)
        boxes = regions.decode(of_class, proposals[:, :, None], self.rules.model["region_sampling"]["weights"])
        boxes = regions.clip(boxes.reshape(batch, -1, 4), self.side)
        kinds = jnp.tile(jnp.arange(n_classes), n_proposals)
        is_probable = (scores > rule["least_score"]) & is_large.repeat(n_classes, axis=1)
        # Moved apart by class, boxes of two classes never overlap.
        apart = boxes + (kinds * 2 * self.side).astype(boxes.dtype)[:, None]
        kept, used = regions.nms(apart, scores, is_probable, threshold=rule["overlap"], count=rule["count"])
        boxes, scores, kinds = regions.picked(boxes, kept), regions.picked(scores, kept), kinds[kept]
        masks = self.mask(self.pooled(levels, boxes, "mask", untapped), used, untapped)
        cells = jax.nn.sigmoid(of_own_mask(masks, kinds)).reshape(*kinds.shape, -1)
        numbers = jnp.concatenate([kinds[..., None].astype(boxes.dtype), scores[..., None], boxes, cells], axis=-1)
        nothing = jnp.zeros_like(numbers[:1, :1]).at[..., 0].set(-1)
        numbers_of_image = jnp.concatenate([each.reshape(batch, -1) for each in (*of_anchors, logits, deltas, masks)], axis=1)
        is_finite = jnp.isfinite(numbers_of_image).all(axis=1)
        return jnp.where(is_finite[:, None, None], jnp.where(used[..., None], numbers, nothing), jnp.nan)


def dense(n_in, n_out, **numerics):
    return nnx.Linear(n_in, n_out, kernel_init=nnx.initializers.zeros_init(), **numerics)


def flattened(x):
    """Return the regions of all images [batch, region, ...] in a row."""
    return x.reshape(-1, *x.shape[2:])


def unflattened(x, shape):
    """Return regions in a row as [batch, region, ...]."""
    return x.reshape(*shape, *x.shape[1:])


def total(losses, used):
    """Return the sum of losses [batch, n] over those in use, [batch]."""
    return jnp.where(used, losses, 0.0).sum(axis=1)


def of_own_class(deltas, classes):
    """Return of deltas [batch, n, class * 4] those of each row's class [batch, n], as [batch, n, 4]."""
    by_class = deltas.reshape(*deltas.shape[:2], -1, 4)
    return jnp.take_along_axis(by_class, classes[:, :, None, None], axis=2)[:, :, 0]


def of_own_mask(masks, classes):
    """Return of masks [batch, n, height, width, class] those of each row's class [batch, n], as [batch, n, height, width]."""
    return jnp.take_along_axis(masks, classes[:, :, None, None, None], axis=4)[..., 0]


def build(model, *, shards, numerics):
    """Return the recipe's model. Raises ValueError for what these layers cannot express."""
    return TinyMaskRcnn(model, numerics=numerics)


def evaluated(model):
    """Return what images are evaluated by: the model itself, without labels."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and what the objective needs besides: nothing."""
    return (images, {**labels, **{name: labels[name].astype(images.dtype) for name in ("boxes", "proposals")}}), None


def objective(terms, expected):
    """Return the sum of the five losses of each row."""
    return terms.sum(axis=1)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter and running statistic."""
    rows = [("stem.conv.kernel", "backbone.stem_conv.kernel", "HWIO"), *norm_rows("stem.bn", "backbone.stem_bn")]
    places = [(stage, k) for stage, count in enumerate(model["blocks"], start=2) for k in range(1, count + 1)]
    for index, (stage, k) in enumerate(places):
        rows.append((f"stage{stage}.conv{k}.kernel", f"backbone.convs.{index}.kernel", "HWIO"))
        rows += norm_rows(f"stage{stage}.bn{k}", f"backbone.norms.{index}")
    for part in ("lateral", "output"):
        for index, level in enumerate(LEVELS):
            rows += _layer_rows(f"fpn.{part}{level}", f"pyramid.{part}s.{index}", "HWIO")
    for part in ("conv", "objectness", "deltas"):
        rows += _layer_rows(f"rpn.{part}", f"rpn.{part}", "HWIO")
    rows += [("box.conv.kernel", "box.conv.kernel", "HWIO"), *norm_rows("box.bn", "box.bn")]
    for part in ("dense", "classes", "deltas"):
        rows += _layer_rows(f"box.{part}", f"box.{part}", "IO")
    for k in (1, 2):
        rows += [(f"mask.conv{k}.kernel", f"mask.conv{k}.kernel", "HWIO"), *norm_rows(f"mask.bn{k}", f"mask.bn{k}")]
    return [*rows, *_layer_rows("mask.up", "mask.up", "HWIO->HWOI"), *_layer_rows("mask.classes", "mask.classes", "HWIO")]


def _layer_rows(canonical, native, layout):
    return [(f"{canonical}.kernel", f"{native}.kernel", layout), (f"{canonical}.bias", f"{native}.bias", "O")]

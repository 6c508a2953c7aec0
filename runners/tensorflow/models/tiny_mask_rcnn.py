"""Mask R-CNN (He et al. 2017, arXiv 1703.06870) with a pyramid of two levels (Lin et al. 2016, arXiv 1612.03144).

Twins: runners/torch/models/tiny_mask_rcnn.py, runners/jax/models/tiny_mask_rcnn.py. Same outline, same names, same order.

Boxes and what is decided of them are in the parameters' dtype. All shapes are static: an image has a fixed number of
places for instances, proposals and regions, and a mask says which are in use. What is not in use weighs nothing anywhere.
"""

from __future__ import annotations

import math

import tensorflow as tf
from tensorflow import keras

from runners.contract.kinds.detection import LEVELS
from runners.contract.kinds.regions import anchors
from runners.tensorflow import regions
from runners.tensorflow.models.resnet_cifar import conv, norm, norm_rows, untapped

TERMS = ("rpn_class", "rpn_box", "box_class", "box", "mask")
_THREE = {"kernel": (3, 3), "padding": ((1, 1), (1, 1)), "bias": True}
_ONE = {"kernel": (1, 1), "padding": ((0, 0), (0, 0)), "bias": True}


class RegionBatchNorm(keras.layers.BatchNormalization):
    """Batch norm of regions [n, height, width, channel]: its statistics are those of the regions in use, on all devices.

    How many are in use differs between devices, so that sums and counts are added up, not means. DIFFERS(tensorflow): given a
    mask, Keras does not synchronise, and does not say so.

    Args:
        synchronized: are there several devices.
    """

    def __init__(self, *, epsilon, momentum, synchronized):
        # DIFFERS(tensorflow): Keras's momentum is the share of the old value that stays. In low precision it would round what
        #   a layer reads; this one is given what is wide and gives it back.
        super().__init__(epsilon=epsilon, momentum=1.0 - momentum, dtype=keras.config.floatx())
        self.is_alone = not synchronized

    def call(self, inputs, used, training=None):
        if not training:
            return super().call(inputs, training=False)
        kept = tf.cast(used, inputs.dtype)
        values = tf.reduce_sum(kept)[None] * (inputs.shape[1] * inputs.shape[2])
        total = self.of_all_devices(tf.concat([tf.einsum("nhwc,n->c", inputs, kept), values], axis=0))
        count = total[-1]
        mean = total[:-1] / count
        squares = tf.einsum("nhwc,n->c", tf.square(inputs - mean), kept)
        variance = self.of_all_devices(squares) / count
        for running, found in ((self.moving_mean, mean), (self.moving_variance, variance * (count / (count - 1.0)))):
            running.assign_add((tf.stop_gradient(found) - running) * (1.0 - self.momentum))
        return tf.nn.batch_normalization(inputs, mean, variance, self.beta, self.gamma, self.epsilon)

    def of_all_devices(self, x):
        return x if self.is_alone else tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x)


class Backbone(keras.layers.Layer):
    """Images [batch, height, width, channel] to a map for each level, the finer first."""

    def __init__(self, *, image_shape, widths, blocks, convolution, batch_norm):
        super().__init__()
        self.stem_conv = conv(image_shape[2], widths[0], stride=2, **convolution)
        self.stem_bn = norm(widths[0], **batch_norm)
        self.convs, self.norms = [], []
        self.blocks = blocks
        for n_in, n_out, count in zip(widths, widths[1:], blocks, strict=False):
            for k in range(count):
                first = k == 0
                self.convs.append(conv(n_in if first else n_out, n_out, stride=2 if first else 1, **convolution))
                self.norms.append(norm(n_out, **batch_norm))

    def call(self, images, tap, training):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x, training=training))
        x = tap("stem.relu", tf.nn.relu(x))
        layers, levels = zip(self.convs, self.norms, strict=True), []
        for stage, count in enumerate(self.blocks, start=2):
            for k in range(1, count + 1):
                convolution, batch_norm = next(layers)
                x = tap(f"stage{stage}.conv{k}", convolution(x))
                x = tap(f"stage{stage}.bn{k}", batch_norm(x, training=training))
                x = tap(f"stage{stage}.relu{k}", tf.nn.relu(x))
            if stage in LEVELS:
                levels.append(x)
        return levels


class Pyramid(keras.layers.Layer):
    """Two maps, the finer first, to two of equally many channels; the coarser one is added to the finer."""

    def __init__(self, *, widths, channels):
        super().__init__()
        self.laterals = [conv(n, channels, stride=1, **_ONE) for n in widths]
        self.outputs = [conv(channels, channels, stride=1, **_THREE) for _ in widths]

    def call(self, levels, tap):
        fine, coarse = (
            tap(f"fpn.lateral{level}", lateral(x)) for level, lateral, x in zip(LEVELS, self.laterals, levels, strict=True)
        )
        above = tf.repeat(tf.repeat(coarse, 2, axis=1), 2, axis=2)
        sums = tap("fpn.sum", fine + above), coarse
        return [tap(f"fpn.output{level}", output(x)) for level, output, x in zip(LEVELS, self.outputs, sums, strict=True)]


class ProposalHead(keras.layers.Layer):
    """Maps to objectness [batch, anchor] and deltas [batch, anchor, 4], in the order of `contract.regions.anchors`."""

    def __init__(self, *, channels, n_shapes):
        super().__init__()
        self.conv = conv(channels, channels, stride=1, **_THREE)
        self.objectness, self.deltas = (conv(channels, n, stride=1, **_ONE) for n in (n_shapes, 4 * n_shapes))

    def call(self, levels, tap):
        scores, moves = [], []
        for level, x in zip(LEVELS, levels, strict=True):
            x = tap(f"rpn{level}.conv", self.conv(x))
            x = tap(f"rpn{level}.relu", tf.nn.relu(x))
            score, move = (tap(f"rpn{level}.{part}", getattr(self, part)(x)) for part in ("objectness", "deltas"))
            n_anchors = math.prod(score.shape[1:])
            scores.append(widened(tf.reshape(score, (-1, n_anchors))))
            moves.append(widened(tf.reshape(move, (-1, n_anchors, 4))))
        return tap("rpn.objectness", tf.concat(scores, axis=1)), tap("rpn.deltas", tf.concat(moves, axis=1))


class BoxHead(keras.layers.Layer):
    """What lies in regions [batch, region, size, size, channel] to logits of background and classes, and deltas of each class."""

    def __init__(self, *, channels, hidden, n_classes, convolution, batch_norm):
        super().__init__()
        self.conv = conv(channels, channels, stride=1, **convolution)
        self.bn = RegionBatchNorm(**batch_norm)
        self.dense, self.classes, self.deltas = (keras.layers.Dense(n) for n in (hidden, n_classes + 1, 4 * n_classes))

    def call(self, x, used, tap, training):
        n = x.shape[1]
        x = tap("box.conv", unflattened(self.conv(flattened(x)), n))
        normalised = self.bn(widened(flattened(x)), tf.reshape(used, (-1,)), training=training)
        x = tap("box.bn", unflattened(tf.cast(normalised, x.dtype), n))
        x = tap("box.relu", tf.nn.relu(x))
        x = tap("box.dense", self.dense(tf.reshape(x, (-1, n, math.prod(x.shape[2:])))))
        x = tap("box.hidden", tf.nn.relu(x))
        return tap("box.classes", widened(self.classes(x))), tap("box.deltas", widened(self.deltas(x)))


class MaskHead(keras.layers.Layer):
    """What lies in regions [batch, region, size, size, channel] to masks [batch, region, 2 size, 2 size, class]."""

    def __init__(self, *, channels, n_classes, convolution, batch_norm):
        super().__init__()
        self.conv1, self.conv2 = (conv(channels, channels, stride=1, **convolution) for _ in range(2))
        self.bn1, self.bn2 = (RegionBatchNorm(**batch_norm) for _ in range(2))
        self.up, self.classes = keras.layers.Conv2DTranspose(channels, 2, strides=2), conv(channels, n_classes, stride=1, **_ONE)

    def call(self, x, used, tap, training):
        n = x.shape[1]
        for k, convolution, batch_norm in ((1, self.conv1, self.bn1), (2, self.conv2, self.bn2)):
            x = tap(f"mask.conv{k}", unflattened(convolution(flattened(x)), n))
            normalised = batch_norm(widened(flattened(x)), tf.reshape(used, (-1,)), training=training)
            x = tap(f"mask.bn{k}", unflattened(tf.cast(normalised, x.dtype), n))
            x = tap(f"mask.relu{k}", tf.nn.relu(x))
        x = tap("mask.up", unflattened(self.up(flattened(x)), n))
        x = tap("mask.up_relu", tf.nn.relu(x))
        return tap("mask.classes", widened(unflattened(self.classes(flattened(x)), n)))


class TinyMaskRcnn(keras.Model):
    """Images [batch, height, width, channel], and labels in training: five losses of each image, [batch, term], after TERMS.

    Without labels: what is found, [batch, detection, number], as `contract.detections.from_rows` reads it.

    Args:
        model: the recipe's model block.
        synchronized: are there several devices.
    """

    def __init__(self, model, *, synchronized):
        # DIFFERS(tensorflow): a layer of low precision would round the boxes that it is given.
        super().__init__(dtype=keras.config.floatx())
        rule = {key: model["batch_norm"][key] for key in ("epsilon", "momentum")} | {"synchronized": synchronized}
        shared = {"convolution": model["convolution"], "batch_norm": rule}
        channels, n_classes = model["channels"], model["n_classes"]
        self.backbone = Backbone(image_shape=model["image_shape"], widths=model["widths"], blocks=model["blocks"], **shared)
        self.pyramid = Pyramid(widths=[model["widths"][level - 1] for level in LEVELS], channels=channels)
        self.rpn = ProposalHead(channels=channels, n_shapes=len(model["anchors"]["ratios"]))
        self.box = BoxHead(channels=channels, hidden=model["hidden"], n_classes=n_classes, **shared)
        self.mask = MaskHead(channels=channels, n_classes=n_classes, **shared)
        self.model, self.side, self.n_classes = model, model["image_shape"][0], n_classes

    def call(self, images, labels=None, tap=untapped, training=None):
        levels = self.pyramid(self.backbone(images, tap=tap, training=training), tap=tap)
        objectness, deltas = self.rpn(levels, tap=tap)
        of_cells = tf.constant(anchors(self.model), deltas.dtype)
        proposals = tap("proposals", self.proposed(tf.stop_gradient(objectness), tf.stop_gradient(deltas), of_cells))
        if labels is None:
            return self.detected(levels, proposals, (objectness, deltas))
        truth, is_there = labels["boxes"], labels["classes"] >= 0
        proposals = tf.where((labels["is_given"] == 1)[:, None, None], labels["proposals"], proposals)
        of_class, of_box = self.proposal_losses(objectness, deltas, of_cells, truth, is_there, labels["anchor_priorities"])
        terms = of_class, of_box, *self.region_losses(levels, proposals, is_there, labels, tap, training)
        return tf.stack([tap(f"loss.{name}", term) for name, term in zip(TERMS, terms, strict=True)], axis=1)

    def proposed(self, objectness, deltas, anchors):
        """Return the proposals [batch, count, 4], the most probable first; a place that is not in use is a box without area."""
        rule, weights = self.model["proposals"], self.model["anchor_sampling"]["weights"]
        scores, best = regions.top_k(objectness, rule["considered"])
        boxes = regions.decode(regions.picked(deltas, best), tf.gather(anchors, best), weights)
        boxes = regions.clip(boxes, self.side)
        kept, used = regions.nms(boxes, scores, self.are_large(boxes), threshold=rule["overlap"], count=rule["count"])
        return tf.where(used[..., None], regions.picked(boxes, kept), 0.0)

    def are_large(self, boxes):
        """Return which boxes [batch, n, 4] have no side that is too short, bool [batch, n]."""
        return tf.reduce_all((boxes[..., 2:] - boxes[..., :2]) >= self.model["proposals"]["least_side"], axis=-1)

    def proposal_losses(self, objectness, deltas, anchors, truth, is_there, priorities):
        """Return the losses of objectness and of deltas, [batch] each."""
        rule = self.model["anchor_sampling"]
        iou = regions.box_iou(anchors, truth)
        index, label = regions.match(iou, is_there, low=rule["low"], high=rule["high"], forces_best=True)
        positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
        of_class = regions.sigmoid_cross_entropy(objectness, tf.cast(positive, objectness.dtype))
        target = regions.encode(regions.picked(truth, index), anchors, rule["weights"])
        of_box = regions.smooth_l1(deltas, target, beta=rule["beta"])
        return tuple(total(loss, used) / rule["count"] for loss, used in ((of_class, positive | negative), (of_box, positive)))

    def region_losses(self, levels, proposals, is_there, labels, tap, training):
        """Return the losses of classes, boxes and masks, [batch] each."""
        rule, truth = self.model["region_sampling"], labels["boxes"]
        boxes, index, positive, used = self.sampled(proposals, truth, is_there, labels["proposal_priorities"])
        boxes = tap("regions", boxes)
        own = tf.maximum(regions.picked(labels["classes"], index), 0)
        logits, deltas = self.box(self.pooled(levels, boxes, "box", tap), used, tap=tap, training=training)
        of_class = regions.softmax_cross_entropy(logits, tf.where(positive, own + 1, 0))
        target = regions.encode(regions.picked(truth, index), boxes, rule["weights"])
        of_box = regions.smooth_l1(of_own_class(deltas, own), target, beta=rule["beta"])
        # Positive regions stand first, and are never more than this.
        most = rule["most_positive"]
        boxes, index, own, has_mask = boxes[:, :most], index[:, :most], own[:, :most], positive[:, :most]
        masks = self.mask(self.pooled(levels, boxes, "mask", tap), has_mask, tap=tap, training=training)
        targets = self.cropped(regions.picked(labels["masks"], index), boxes)
        of_mask = tf.reduce_mean(regions.sigmoid_cross_entropy(of_own_mask(masks, own), targets), axis=(2, 3))
        return total(of_class, used) / rule["count"], total(of_box, positive) / rule["count"], total(of_mask, has_mask) / most

    def sampled(self, proposals, truth, is_there, priorities):
        """Return regions [batch, count, 4], the index of each one's instance, which are positive, and which are in use.

        As in Detectron2, the instances' own boxes are candidates too.
        """
        rule = self.model["region_sampling"]
        candidates = tf.concat([proposals, truth], axis=1)
        iou = regions.box_iou(candidates, truth)
        index, label = regions.match(iou, is_there, low=rule["low"], high=rule["high"], forces_best=False)
        label = tf.where(tf.concat([self.are_large(proposals), is_there], axis=1), label, -1)
        positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
        places, used = regions.listed(positive, negative, count=rule["count"])
        return *(regions.picked(each, places) for each in (candidates, index, positive)), used

    def pooled(self, levels, boxes, head, tap):
        """Return what lies in boxes of the pyramid, [batch, box, size, size, channel], for a head."""
        rule = self.model["pooling"]
        options = {"strides": self.model["strides"], "canonical": rule["canonical"], "samples": rule["samples"]}
        return tap(f"{head}.pool", regions.pooled(levels, boxes, size=rule[head], **options))

    def cropped(self, masks, boxes):
        """Return what of masks [batch, box, side, side] lies in each one's box, 0 to 1, at the size of the mask head's output."""
        rule = self.model["pooling"]
        maps, alone = tf.cast(flattened(masks), boxes.dtype)[..., None], flattened(boxes)[:, None]
        crops = regions.roi_align(maps, alone, stride=1, size=2 * rule["mask"], samples=rule["samples"])
        return unflattened(crops[:, 0, ..., 0], boxes.shape[1])

    def detected(self, levels, proposals, of_anchors):
        """Return class, score, box and mask of the detections, [batch, count, 6 + cells]; all NaN where an image has one.

        Args:
            of_anchors: objectness and deltas of every anchor: deltas that are not finite leave no proposal, and nothing is found.
        """
        rule, n_classes, n_proposals = self.model["detection"], self.n_classes, proposals.shape[1]
        is_large = self.are_large(proposals)
        logits, deltas = self.box(self.pooled(levels, proposals, "box", untapped), is_large, tap=untapped, training=False)
        # One candidate for each proposal and class, classes next to each other.
        scores = tf.reshape(tf.nn.softmax(logits, axis=-1)[..., 1:], (-1, n_proposals * n_classes))
        of_class = tf.reshape(deltas, (-1, n_proposals, n_classes, 4))
        boxes = regions.decode(of_class, proposals[:, :, None], self.model["region_sampling"]["weights"])
        boxes = regions.clip(tf.reshape(boxes, (-1, n_proposals * n_classes, 4)), self.side)
        kinds = tf.tile(tf.range(n_classes), (n_proposals,))
        is_probable = (scores > rule["least_score"]) & tf.repeat(is_large, n_classes, axis=1)
        # Moved apart by class, boxes of two classes never overlap.
        apart = boxes + tf.cast(kinds * 2 * self.side, boxes.dtype)[:, None]
        kept, used = regions.nms(apart, scores, is_probable, threshold=rule["overlap"], count=rule["count"])
        boxes, scores, kinds = regions.picked(boxes, kept), regions.picked(scores, kept), tf.gather(kinds, kept)
        masks = self.mask(self.pooled(levels, boxes, "mask", untapped), used, tap=untapped, training=False)
        cells = tf.reshape(tf.sigmoid(of_own_mask(masks, kinds)), (-1, rule["count"], math.prod(masks.shape[2:4])))
        numbers = tf.concat([tf.cast(kinds, boxes.dtype)[..., None], scores[..., None], boxes, cells], axis=-1)
        nothing = -tf.one_hot(0, numbers.shape[-1], dtype=numbers.dtype)
        is_finite = tf.reduce_all(tf.stack([all_finite(each) for each in (*of_anchors, logits, deltas, masks)]), axis=0)
        return tf.where(is_finite[:, None, None], tf.where(used[..., None], numbers, nothing), math.nan)


def all_finite(x):
    """Return of which rows of x [batch, ...] every number is finite, bool [batch]."""
    return tf.reduce_all(tf.math.is_finite(x), axis=list(range(1, len(x.shape))))


def widened(x):
    """Return x in the parameters' dtype."""
    return tf.cast(x, keras.config.floatx())


def flattened(x):
    """Return the regions of all images [batch, region, ...] in a row."""
    return tf.reshape(x, (-1, *x.shape[2:]))


def unflattened(x, n):
    """Return regions in a row, n of each image, as [batch, region, ...]."""
    return tf.reshape(x, (-1, n, *x.shape[1:]))


def total(losses, used):
    """Return the sum of losses [batch, n] over those in use, [batch]."""
    return tf.reduce_sum(tf.where(used, losses, 0.0), axis=1)


def of_own_class(deltas, classes):
    """Return of deltas [batch, n, class * 4] those of each row's class [batch, n], as [batch, n, 4]."""
    by_class = tf.reshape(deltas, (-1, deltas.shape[1], deltas.shape[2] // 4, 4))
    return tf.gather(by_class, classes, axis=2, batch_dims=2)


def of_own_mask(masks, classes):
    """Return of masks [batch, n, height, width, class] those of each row's class [batch, n], as [batch, n, height, width]."""
    is_own = tf.one_hot(classes, masks.shape[-1], dtype=masks.dtype)
    return tf.reduce_sum(masks * is_own[:, :, None, None], axis=-1)


def build(model, *, shards, synchronized):
    """Return the recipe's model, with its variables."""
    built = TinyMaskRcnn(model, synchronized=synchronized)
    built(tf.zeros((1, *model["image_shape"])), training=False)
    return built


def evaluated(model):
    """Return what images are evaluated by: the model itself, without labels."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and what the objective needs besides: nothing."""
    return (images, {**labels, **{name: tf.cast(labels[name], images.dtype) for name in ("boxes", "proposals")}}), None


def objective(terms, expected):
    """Return the sum of the five losses of each row."""
    return tf.reduce_sum(terms, axis=1)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter and running statistic."""
    rows = [("stem.conv.kernel", "backbone.stem_conv.layers.-1.kernel", "HWIO->HWIO"), *norm_rows("stem.bn", "backbone.stem_bn")]
    places = [(stage, k) for stage, count in enumerate(model["blocks"], start=2) for k in range(1, count + 1)]
    for index, (stage, k) in enumerate(places):
        rows.append((f"stage{stage}.conv{k}.kernel", f"backbone.convs.{index}.layers.-1.kernel", "HWIO->HWIO"))
        rows += norm_rows(f"stage{stage}.bn{k}", f"backbone.norms.{index}")
    for part in ("lateral", "output"):
        for index, level in enumerate(LEVELS):
            rows += _layer_rows(f"fpn.{part}{level}", f"pyramid.{part}s.{index}.layers.-1", "HWIO->HWIO")
    for part in ("conv", "objectness", "deltas"):
        rows += _layer_rows(f"rpn.{part}", f"rpn.{part}.layers.-1", "HWIO->HWIO")
    rows += [("box.conv.kernel", "box.conv.layers.-1.kernel", "HWIO->HWIO"), *norm_rows("box.bn", "box.bn")]
    for part in ("dense", "classes", "deltas"):
        rows += _layer_rows(f"box.{part}", f"box.{part}", "IO->IO")
    for k in (1, 2):
        rows += [
            (f"mask.conv{k}.kernel", f"mask.conv{k}.layers.-1.kernel", "HWIO->HWIO"),
            *norm_rows(f"mask.bn{k}", f"mask.bn{k}"),
        ]
    rows += _layer_rows("mask.up", "mask.up", "HWIO->HWOI")
    return rows + _layer_rows("mask.classes", "mask.classes.layers.-1", "HWIO->HWIO")


def _layer_rows(canonical, native, layout):
    return [(f"{canonical}.kernel", f"{native}.kernel", layout), (f"{canonical}.bias", f"{native}.bias", "O->O")]

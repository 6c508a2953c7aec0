"""Mask R-CNN (He et al. 2017, arXiv 1703.06870) with a pyramid of two levels (Lin et al. 2016, arXiv 1612.03144).

Twins: runners/tensorflow/models/tiny_mask_rcnn.py, runners/jax/models/tiny_mask_rcnn.py. Same outline, same names, same order.

Boxes and what is decided of them are in the parameters' dtype. All shapes are static: an image has a fixed number of
places for instances, proposals and regions, and a mask says which are in use. What is not in use weighs nothing anywhere.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from runners.contract.kinds.detection import LEVELS
from runners.contract.kinds.regions import anchors
from runners.torch import devices, regions
from runners.torch.models.resnet_cifar import conv, norm, norm_rows, untapped

TERMS = ("rpn_class", "rpn_box", "box_class", "box", "mask")


class RegionBatchNorm(nn.Module):
    """Batch norm of regions [n, channel, height, width]: its statistics are those of the regions in use, on all devices.

    How many are in use differs between devices, so that sums and counts are added up, not means.

    Args:
        is_alone: is there one device only.
    """

    def __init__(self, n, *, epsilon, momentum, is_alone):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(n)), nn.Parameter(torch.zeros(n))
        self.register_buffer("running_mean", torch.zeros(n))
        self.register_buffer("running_var", torch.ones(n))
        self.epsilon, self.momentum, self.is_alone = epsilon, momentum, is_alone

    def forward(self, x, used):
        with torch.autocast(x.device.type, enabled=False):
            wide = x.to(self.weight.dtype)
            if not self.training:
                return self.normalised(wide, self.running_mean, self.running_var).to(x.dtype)
            kept = used.to(wide.dtype)
            values = kept.sum().reshape(1) * (x.shape[2] * x.shape[3])
            # One sum for both: a compiler may put independent ones into another order on each rank, and pair the wrong ones.
            total = self.of_all_devices(torch.cat([torch.einsum("nchw,n->c", wide, kept), values]))
            count = total[-1]
            mean = total[:-1] / count
            squares = torch.einsum("nchw,n->c", (wide - mean[:, None, None]).square(), kept)
            variance = self.of_all_devices(squares) / count
            # DIFFERS(torch): a trace does not hold no_grad. Statistics would keep what each step needed for its backward pass.
            self.running_mean.lerp_(mean.detach(), self.momentum)
            self.running_var.lerp_((variance * (count / (count - 1))).detach(), self.momentum)
            return self.normalised(wide, mean, variance).to(x.dtype)

    def normalised(self, x, mean, variance):
        scale = self.weight * torch.rsqrt(variance + self.epsilon)
        return (x - mean[:, None, None]) * scale[:, None, None] + self.bias[:, None, None]

    def of_all_devices(self, x):
        return x if self.is_alone else devices.all_reduce(x)


class Backbone(nn.Module):
    """Images [batch, channel, height, width] to a map for each level, the finer first."""

    def __init__(self, *, image_shape, widths, blocks, convolution, batch_norm):
        super().__init__()
        self.stem_conv = conv(image_shape[2], widths[0], stride=2, **convolution)
        self.stem_bn = norm(widths[0], **batch_norm)
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        self.blocks = blocks
        for n_in, n_out, count in zip(widths, widths[1:], blocks, strict=False):
            for k in range(count):
                first = k == 0
                self.convs.append(conv(n_in if first else n_out, n_out, stride=2 if first else 1, **convolution))
                self.norms.append(norm(n_out, **batch_norm))

    def forward(self, images, tap):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x))
        x = tap("stem.relu", F.relu(x))
        layers, levels = zip(self.convs, self.norms, strict=True), []
        for stage, count in enumerate(self.blocks, start=2):
            for k in range(1, count + 1):
                convolution, batch_norm = next(layers)
                x = tap(f"stage{stage}.conv{k}", convolution(x))
                x = tap(f"stage{stage}.bn{k}", batch_norm(x))
                x = tap(f"stage{stage}.relu{k}", F.relu(x))
            if stage in LEVELS:
                levels.append(x)
        return levels


class Pyramid(nn.Module):
    """Two maps, the finer first, to two of equally many channels; the coarser one is added to the finer."""

    def __init__(self, *, widths, channels):
        super().__init__()
        self.laterals = nn.ModuleList([nn.Conv2d(n, channels, 1) for n in widths])
        self.outputs = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1) for _ in widths])

    def forward(self, levels, tap):
        fine, coarse = (
            tap(f"fpn.lateral{level}", lateral(x)) for level, lateral, x in zip(LEVELS, self.laterals, levels, strict=True)
        )
        above = coarse.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
        sums = tap("fpn.sum", fine + above), coarse
        return [tap(f"fpn.output{level}", output(x)) for level, output, x in zip(LEVELS, self.outputs, sums, strict=True)]


class ProposalHead(nn.Module):
    """Maps to objectness [batch, anchor] and deltas [batch, anchor, 4], in the order of `contract.regions.anchors`."""

    def __init__(self, *, channels, n_shapes):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.objectness, self.deltas = nn.Conv2d(channels, n_shapes, 1), nn.Conv2d(channels, 4 * n_shapes, 1)

    def forward(self, levels, tap):
        wide = self.conv.weight.dtype
        scores, moves = [], []
        for level, x in zip(LEVELS, levels, strict=True):
            x = tap(f"rpn{level}.conv", self.conv(x))
            x = tap(f"rpn{level}.relu", F.relu(x))
            score, move = (tap(f"rpn{level}.{part}", getattr(self, part)(x)) for part in ("objectness", "deltas"))
            scores.append(score.permute(0, 2, 3, 1).flatten(1).to(wide))
            moves.append(move.permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4).to(wide))
        return tap("rpn.objectness", torch.cat(scores, dim=1)), tap("rpn.deltas", torch.cat(moves, dim=1))


class BoxHead(nn.Module):
    """What lies in regions [batch, region, channel, size, size] to logits of background and classes, and deltas of each class."""

    def __init__(self, *, channels, size, hidden, n_classes, convolution, batch_norm):
        super().__init__()
        self.conv = conv(channels, channels, stride=1, **convolution)
        self.bn = RegionBatchNorm(channels, **batch_norm)
        self.dense = nn.Linear(size * size * channels, hidden)
        self.classes, self.deltas = nn.Linear(hidden, n_classes + 1), nn.Linear(hidden, 4 * n_classes)

    def forward(self, x, used, tap):
        shape, wide = x.shape[:2], self.classes.weight.dtype
        x = tap("box.conv", self.conv(x.flatten(0, 1)).unflatten(0, shape))
        x = tap("box.bn", self.bn(x.flatten(0, 1), used.flatten()).unflatten(0, shape))
        x = tap("box.relu", F.relu(x))
        # Rows, columns, channels: the order of the dense kernel's rows in every framework.
        x = tap("box.dense", self.dense(x.movedim(2, -1).flatten(2)))
        x = tap("box.hidden", F.relu(x))
        return tap("box.classes", self.classes(x).to(wide)), tap("box.deltas", self.deltas(x).to(wide))


class MaskHead(nn.Module):
    """What lies in regions [batch, region, channel, size, size] to masks [batch, region, class, 2 size, 2 size]."""

    def __init__(self, *, channels, n_classes, convolution, batch_norm):
        super().__init__()
        self.conv1, self.conv2 = (conv(channels, channels, stride=1, **convolution) for _ in range(2))
        self.bn1, self.bn2 = (RegionBatchNorm(channels, **batch_norm) for _ in range(2))
        self.up, self.classes = nn.ConvTranspose2d(channels, channels, 2, stride=2), nn.Conv2d(channels, n_classes, 1)

    def forward(self, x, used, tap):
        shape, wide = x.shape[:2], self.classes.weight.dtype
        for k, convolution, batch_norm in ((1, self.conv1, self.bn1), (2, self.conv2, self.bn2)):
            x = tap(f"mask.conv{k}", convolution(x.flatten(0, 1)).unflatten(0, shape))
            x = tap(f"mask.bn{k}", batch_norm(x.flatten(0, 1), used.flatten()).unflatten(0, shape))
            x = tap(f"mask.relu{k}", F.relu(x))
        x = tap("mask.up", self.up(x.flatten(0, 1)).unflatten(0, shape))
        x = tap("mask.up_relu", F.relu(x))
        return tap("mask.classes", self.classes(x.flatten(0, 1)).unflatten(0, shape).to(wide))


class TinyMaskRcnn(nn.Module):
    """Images [batch, channel, height, width], and labels in training: five losses of each image, [batch, term], after TERMS.

    Without labels: what is found, [batch, detection, number], as `contract.detections.from_rows` reads it.

    Args:
        model: the recipe's model block.
        is_alone: is there one device only.
    """

    def __init__(self, model, *, is_alone):
        super().__init__()
        rule = {key: model["batch_norm"][key] for key in ("epsilon", "momentum")}
        shared = {"convolution": model["convolution"], "batch_norm": {**rule, "is_alone": is_alone}}
        channels, n_classes = model["channels"], model["n_classes"]
        self.backbone = Backbone(
            image_shape=model["image_shape"],
            widths=model["widths"],
            blocks=model["blocks"],
            convolution=model["convolution"],
            batch_norm=rule,
        )
        self.pyramid = Pyramid(widths=[model["widths"][level - 1] for level in LEVELS], channels=channels)
        self.rpn = ProposalHead(channels=channels, n_shapes=len(model["anchors"]["ratios"]))
        size, hidden = model["pooling"]["box"], model["hidden"]
        self.box = BoxHead(channels=channels, size=size, hidden=hidden, n_classes=n_classes, **shared)
        self.mask = MaskHead(channels=channels, n_classes=n_classes, **shared)
        self.model, self.side, self.n_classes = model, model["image_shape"][0], n_classes
        # A constant, not a buffer: it is in no state.
        self.anchors = torch.from_numpy(anchors(model))

    def forward(self, images, labels=None, tap=untapped):
        levels = self.pyramid(self.backbone(images, tap), tap)
        objectness, deltas = self.rpn(levels, tap)
        anchors = self.anchors.to(deltas)
        proposals = tap("proposals", self.proposed(objectness.detach(), deltas.detach(), anchors))
        if labels is None:
            return self.detected(levels, proposals, (objectness, deltas))
        truth, is_there = labels["boxes"], labels["classes"] >= 0
        proposals = torch.where((labels["is_given"] == 1)[:, None, None], labels["proposals"], proposals)
        of_class, of_box = self.proposal_losses(objectness, deltas, anchors, truth, is_there, labels["anchor_priorities"])
        terms = of_class, of_box, *self.region_losses(levels, proposals, is_there, labels, tap)
        return torch.stack([tap(f"loss.{name}", term) for name, term in zip(TERMS, terms, strict=True)], dim=1)

    def proposed(self, objectness, deltas, anchors):
        """Return the proposals [batch, count, 4], the most probable first; a place that is not in use is a box without area."""
        rule, weights = self.model["proposals"], self.model["anchor_sampling"]["weights"]
        scores, best = regions.top_k(objectness, rule["considered"])
        boxes = regions.decode(regions.picked(deltas, best), anchors[best], weights)
        boxes = regions.clip(boxes, self.side)
        kept, used = regions.nms(boxes, scores, self.are_large(boxes), threshold=rule["overlap"], count=rule["count"])
        return torch.where(used[..., None], regions.picked(boxes, kept), 0.0)

    def are_large(self, boxes):
        """Return which boxes [batch, n, 4] have no side that is too short, bool [batch, n]."""
        return ((boxes[..., 2:] - boxes[..., :2]) >= self.model["proposals"]["least_side"]).all(dim=-1)

    def proposal_losses(self, objectness, deltas, anchors, truth, is_there, priorities):
        """Return the losses of objectness and of deltas, [batch] each."""
        rule = self.model["anchor_sampling"]
        iou = regions.box_iou(anchors, truth)
        index, label = regions.match(iou, is_there, low=rule["low"], high=rule["high"], forces_best=True)
        positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
        of_class = regions.sigmoid_cross_entropy(objectness, positive.to(objectness.dtype))
        target = regions.encode(regions.picked(truth, index), anchors, rule["weights"])
        of_box = regions.smooth_l1(deltas, target, beta=rule["beta"])
        return tuple(total(loss, used) / rule["count"] for loss, used in ((of_class, positive | negative), (of_box, positive)))

    def region_losses(self, levels, proposals, is_there, labels, tap):
        """Return the losses of classes, boxes and masks, [batch] each."""
        rule, truth = self.model["region_sampling"], labels["boxes"]
        boxes, index, positive, used = self.sampled(proposals, truth, is_there, labels["proposal_priorities"])
        boxes = tap("regions", boxes)
        own = regions.picked(labels["classes"], index).clamp(min=0)
        logits, deltas = self.box(self.pooled(levels, boxes, "box", tap), used, tap)
        of_class = regions.softmax_cross_entropy(logits, torch.where(positive, own + 1, 0))
        target = regions.encode(regions.picked(truth, index), boxes, rule["weights"])
        of_box = regions.smooth_l1(of_own_class(deltas, own), target, beta=rule["beta"])
        # Positive regions stand first, and are never more than this.
        most = rule["most_positive"]
        boxes, index, own, has_mask = boxes[:, :most], index[:, :most], own[:, :most], positive[:, :most]
        masks = self.mask(self.pooled(levels, boxes, "mask", tap), has_mask, tap)
        targets = self.cropped(regions.picked(labels["masks"], index), boxes)
        of_mask = regions.sigmoid_cross_entropy(of_own_mask(masks, own), targets).mean(dim=(2, 3))
        return total(of_class, used) / rule["count"], total(of_box, positive) / rule["count"], total(of_mask, has_mask) / most

    def sampled(self, proposals, truth, is_there, priorities):
        """Return regions [batch, count, 4], the index of each one's instance, which are positive, and which are in use.

        As in Detectron2, the instances' own boxes are candidates too.
        """
        rule = self.model["region_sampling"]
        candidates = torch.cat([proposals, truth], dim=1)
        iou = regions.box_iou(candidates, truth)
        index, label = regions.match(iou, is_there, low=rule["low"], high=rule["high"], forces_best=False)
        label = torch.where(torch.cat([self.are_large(proposals), is_there], dim=1), label, -1)
        positive, negative = regions.sample(label, priorities, count=rule["count"], most_positive=rule["most_positive"])
        places, used = regions.listed(positive, negative, count=rule["count"])
        return *(regions.picked(each, places) for each in (candidates, index, positive)), used

    def pooled(self, levels, boxes, head, tap):
        """Return what lies in boxes of the pyramid, [batch, box, channel, size, size], for a head."""
        rule = self.model["pooling"]
        options = {"strides": self.model["strides"], "canonical": rule["canonical"], "samples": rule["samples"]}
        return tap(f"{head}.pool", regions.pooled(levels, boxes, size=rule[head], **options))

    def cropped(self, masks, boxes):
        """Return what of masks [batch, box, side, side] lies in each one's box, 0 to 1, at the size of the mask head's output."""
        rule = self.model["pooling"]
        maps, boxes = masks.to(boxes.dtype).flatten(0, 1)[:, None], boxes.flatten(0, 1)[:, None]
        crops = regions.roi_align(maps, boxes, stride=1, size=2 * rule["mask"], samples=rule["samples"])
        return crops[:, 0, 0].unflatten(0, masks.shape[:2])

    def detected(self, levels, proposals, of_anchors):
        """Return class, score, box and mask of the detections, [batch, count, 6 + cells]; all NaN where an image has one.

        Args:
            of_anchors: objectness and deltas of every anchor: deltas that are not finite leave no proposal, and nothing is found.
        """
        rule, n_classes = self.model["detection"], self.n_classes
        is_large = self.are_large(proposals)
        logits, deltas = self.box(self.pooled(levels, proposals, "box", untapped), is_large, untapped)
        # One candidate for each proposal and class, classes next to each other.
        scores = logits.softmax(dim=-1)[..., 1:].flatten(1)
        of_class = deltas.unflatten(-1, (n_classes, 4))
        boxes = regions.decode(of_class, proposals[:, :, None], self.model["region_sampling"]["weights"]).flatten(1, 2)
        boxes = regions.clip(boxes, self.side)
        kinds = torch.arange(n_classes, device=boxes.device).repeat(proposals.shape[1])
        is_probable = (scores > rule["least_score"]) & is_large.repeat_interleave(n_classes, dim=1)
        # Moved apart by class, boxes of two classes never overlap.
        apart = boxes + (kinds * 2 * self.side).to(boxes.dtype)[:, None]
        kept, used = regions.nms(apart, scores, is_probable, threshold=rule["overlap"], count=rule["count"])
        boxes, scores, kinds = regions.picked(boxes, kept), regions.picked(scores, kept), kinds[kept]
        masks = self.mask(self.pooled(levels, boxes, "mask", untapped), used, untapped)
        cells = of_own_mask(masks, kinds).sigmoid().flatten(2)
        numbers = torch.cat([kinds[..., None].to(boxes.dtype), scores[..., None], boxes, cells], dim=-1)
        nothing = torch.zeros_like(numbers[:1, :1])
        nothing[..., 0] = -1
        numbers_of_image = torch.cat([each.flatten(1) for each in (*of_anchors, logits, deltas, masks)], dim=1)
        is_finite = numbers_of_image.isfinite().all(dim=1)
        return torch.where(is_finite[:, None, None], torch.where(used[..., None], numbers, nothing), torch.nan)


def total(losses, used):
    """Return the sum of losses [batch, n] over those in use, [batch]."""
    return torch.where(used, losses, 0.0).sum(dim=1)


def of_own_class(deltas, classes):
    """Return of deltas [batch, n, class * 4] those of each row's class [batch, n], as [batch, n, 4]."""
    by_class = deltas.unflatten(-1, (-1, 4))
    return torch.gather(by_class, 2, classes[:, :, None, None].expand(-1, -1, 1, 4))[:, :, 0]


def of_own_mask(masks, classes):
    """Return of masks [batch, n, class, height, width] those of each row's class [batch, n], as [batch, n, height, width]."""
    return torch.gather(masks, 2, classes[:, :, None, None, None].expand(-1, -1, 1, *masks.shape[3:]))[:, :, 0]


def build(model, *, shards, rank):
    """Return the recipe's model. Raises ValueError for what these layers cannot express."""
    return TinyMaskRcnn(model, is_alone=len(shards) == 1)


def evaluated(model):
    """Return what images are evaluated by: the model itself, without labels."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and what the objective needs besides: nothing."""
    return (images, {**labels, **{name: labels[name].to(images.dtype) for name in ("boxes", "proposals")}}), None


def objective(terms, expected):
    """Return the mean over the rows of the sum of their five losses."""
    return terms.sum(dim=1).mean()


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter and running statistic."""
    rows = [("stem.conv.kernel", "backbone.stem_conv.weight", "HWIO->OIHW"), *norm_rows("stem.bn", "backbone.stem_bn")]
    places = [(stage, k) for stage, count in enumerate(model["blocks"], start=2) for k in range(1, count + 1)]
    for index, (stage, k) in enumerate(places):
        rows.append((f"stage{stage}.conv{k}.kernel", f"backbone.convs.{index}.weight", "HWIO->OIHW"))
        rows += norm_rows(f"stage{stage}.bn{k}", f"backbone.norms.{index}")
    for part in ("lateral", "output"):
        for index, level in enumerate(LEVELS):
            rows += _layer_rows(f"fpn.{part}{level}", f"pyramid.{part}s.{index}", "HWIO->OIHW")
    for part in ("conv", "objectness", "deltas"):
        rows += _layer_rows(f"rpn.{part}", f"rpn.{part}", "HWIO->OIHW")
    rows += [("box.conv.kernel", "box.conv.weight", "HWIO->OIHW"), *norm_rows("box.bn", "box.bn")]
    for part in ("dense", "classes", "deltas"):
        rows += _layer_rows(f"box.{part}", f"box.{part}", "IO->OI")
    for k in (1, 2):
        rows += [(f"mask.conv{k}.kernel", f"mask.conv{k}.weight", "HWIO->OIHW"), *norm_rows(f"mask.bn{k}", f"mask.bn{k}")]
    return [*rows, *_layer_rows("mask.up", "mask.up", "HWIO->IOHW"), *_layer_rows("mask.classes", "mask.classes", "HWIO->OIHW")]


def _layer_rows(canonical, native, layout):
    return [(f"{canonical}.kernel", f"{native}.weight", layout), (f"{canonical}.bias", f"{native}.bias", "O->O")]

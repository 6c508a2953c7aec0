"""Detectors: a small Mask R-CNN on images with instances, judged by average precision, which the conductor computes."""

from __future__ import annotations

from typing import Any

from runners.contract.data import instances
from runners.contract.data.region_batches import RegionBatches
from runners.contract.kinds.classification import batch_norm_across_devices
from runners.contract.kinds.detections import Detections
from runners.contract.kinds.kind import Kind, Model, Predict
from runners.contract.kinds.metrics import predictions
from runners.contract.kinds.parameters import ParameterTable

# The stages of a detector that its pyramid is made of, the finer first.
LEVELS = (3, 4)


def evaluate(predict: Predict, batches: RegionBatches, training: dict[str, Any]) -> Detections:
    """Find what is in the test images. What it is worth, the conductor says, which has COCO's figures."""
    del training
    rows, _ = predictions(predict, batches.evaluation())
    return batches.detections(rows)


def _tabulate(model: Model) -> ParameterTable:
    table, kernel, widths = ParameterTable(), tuple(model["convolution"]["kernel"]), model["widths"]
    table.convolution("stem.conv", kernel, model["image_shape"][2], widths[0])
    table.batch_norm("stem.bn", widths[0])
    for stage, (n_in, n_out, count) in enumerate(zip(widths, widths[1:], model["blocks"], strict=False), start=2):
        for k in range(1, count + 1):
            table.convolution(f"stage{stage}.conv{k}", kernel, n_in if k == 1 else n_out, n_out)
            table.batch_norm(f"stage{stage}.bn{k}", n_out)
    channels, n_shapes, n_classes = model["channels"], len(model["anchors"]["ratios"]), model["n_classes"]
    for level in LEVELS:
        table.biased_convolution(f"fpn.lateral{level}", (1, 1), widths[level - 1], channels, init="lateral")
    for level in LEVELS:
        table.biased_convolution(f"fpn.output{level}", kernel, channels, channels, init="output")
    table.biased_convolution("rpn.conv", kernel, channels, channels)
    table.biased_convolution("rpn.objectness", (1, 1), channels, n_shapes, init="objectness")
    table.biased_convolution("rpn.deltas", (1, 1), channels, 4 * n_shapes, init="deltas")
    table.convolution("box.conv", kernel, channels, channels)
    table.batch_norm("box.bn", channels)
    table.dense("box.dense", model["pooling"]["box"] ** 2 * channels, model["hidden"], init="dense")
    table.dense("box.classes", model["hidden"], n_classes + 1, init="classes")
    table.dense("box.deltas", model["hidden"], 4 * n_classes, init="deltas")
    for k in (1, 2):
        table.convolution(f"mask.conv{k}", kernel, channels, channels)
        table.batch_norm(f"mask.bn{k}", channels)
    table.biased_convolution("mask.up", (2, 2), channels, channels, init="up")
    table.biased_convolution("mask.classes", (1, 1), channels, n_classes, init="classes")
    return table


TINY_MASK_RCNN = Kind(
    tabulate=_tabulate,
    load=instances.load,
    batches=RegionBatches,
    evaluate=evaluate,
    chance=lambda training, data: 0.0,
    across_devices=batch_norm_across_devices,
    has_instances=True,
)

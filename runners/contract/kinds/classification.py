"""Classifiers: a residual network of He et al. 2015 on labelled images, judged by how many test images it gets right."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.contract.data import datasets
from runners.contract.data.batches import Batches
from runners.contract.data.datasets import DataSet
from runners.contract.kinds.kind import Kind, Model, Predict
from runners.contract.kinds.metrics import classification_totals, commonest
from runners.contract.kinds.parameters import ParameterTable


def blocks_per_stage(depth: int) -> int:
    """Return n of the 6n+2 layers (He et al. 2015, section 4.2)."""
    if depth < 8 or (depth - 2) % 6:
        raise ValueError(f"depth {depth}: allowed are 6n+2 with n of 1 or more (8, 14, 20, 32, 44, 56, 110)")
    return (depth - 2) // 6


def batch_norm_across_devices(model: Model) -> str:
    """Return what a model's batch norm does across devices."""
    return model["batch_norm"]["across_devices"]


def evaluate(predict: Predict, batches: Batches, training: dict[str, Any]) -> dict[str, float]:
    """Return the share of test images whose largest logit is the label's, and their mean cross-entropy."""
    del training
    totals = np.zeros(3)
    for images, labels, weights in batches.evaluation():
        totals += classification_totals(predict(images), labels, weights)
    correct, loss, count = totals.tolist()
    return {"test_accuracy": 100.0 * correct / count, "test_loss": loss / count}


def guessing(training: dict[str, Any], data: DataSet | None) -> float:
    """Return the accuracy, in percent, of guessing each class as often, or of always the one that most test images have."""
    n_classes = training["model"]["n_classes"]
    return 100.0 / n_classes if data is None else commonest(data.test_labels)


def _tabulate(model: Model) -> ParameterTable:
    table, kernel, n_in = ParameterTable(), tuple(model["convolution"]["kernel"]), model["widths"][0]
    table.convolution("stem.conv", kernel, model["image_shape"][2], n_in)
    table.batch_norm("stem.bn", n_in)
    for stage, n_out in enumerate(model["widths"], start=1):
        for block in range(1, blocks_per_stage(model["depth"]) + 1):
            name = f"stage{stage}.block{block}"
            table.convolution(f"{name}.conv1", kernel, n_in, n_out)
            table.batch_norm(f"{name}.bn1", n_out)
            table.convolution(f"{name}.conv2", kernel, n_out, n_out)
            table.batch_norm(f"{name}.bn2", n_out)
            n_in = n_out
    table.dense("head", n_in, model["n_classes"], init="head")
    return table


RESNET_CIFAR = Kind(
    tabulate=_tabulate,
    load=datasets.load,
    batches=Batches,
    evaluate=evaluate,
    chance=guessing,
    across_devices=batch_norm_across_devices,
)

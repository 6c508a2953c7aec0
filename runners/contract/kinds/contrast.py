"""Momentum contrast (He et al. 2020): a query encoder that is trained, and what follows it: a key encoder and a queue of keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.data import datasets, streams
from runners.contract.data.pairs import PairBatches
from runners.contract.data.textures import N_CLASSES
from runners.contract.kinds.classification import batch_norm_across_devices
from runners.contract.kinds.kind import Kind, Model, Predict
from runners.contract.kinds.metrics import commonest, nearest_neighbour_votes, predictions
from runners.contract.kinds.parameters import ParameterTable, StatisticRow, copy_of

_QUERIES_AT_ONCE = 500


def has_projection(stage: int, block: int, n_in: int, n_out: int) -> bool:
    """Does a block's shortcut need a convolution (option B of He et al. 2015), because the block halves or widens the image?"""
    return n_in != n_out or (stage > 1 and block == 1)


def evaluate(predict: Predict, batches: PairBatches, training: dict[str, Any]) -> dict[str, float]:
    """Classify test images by the nearest features of the training images, both without augmentation."""
    rule = training["evaluation"]
    bank, bank_labels = predictions(predict, batches.bank())
    features, labels = predictions(predict, batches.evaluation())
    rule = {"n_classes": int(bank_labels.max()) + 1, "k": rule["k"], "temperature": rule["temperature"]}
    n_parts = -(-len(labels) // _QUERIES_AT_ONCE)
    right = sum(
        int((nearest_neighbour_votes(some, bank, bank_labels, **rule) == expected).sum())
        for some, expected in zip(np.array_split(features, n_parts), np.array_split(labels, n_parts), strict=True)
    )
    return {"knn_accuracy": 100.0 * right / len(labels)}


def first_views(images: np.ndarray) -> np.ndarray:
    """Return the first view of each pair [batch, 2, height, width, channel]; images that are no pairs as they are."""
    return images[:, 0] if images.ndim == 5 else images


def _tabulate(model: Model) -> ParameterTable:
    """The query encoder's parameters are trained; what the key encoder and the queue hold moves with each forward pass."""
    table, kernel, n_in = ParameterTable(), tuple(model["convolution"]["kernel"]), model["widths"][0]
    table.convolution("stem.conv", kernel, model["image_shape"][2], n_in)
    table.batch_norm("stem.bn", n_in)
    for stage, (n_out, blocks) in enumerate(zip(model["widths"], model["blocks"], strict=True), start=1):
        for block in range(1, blocks + 1):
            name = f"stage{stage}.block{block}"
            table.convolution(f"{name}.conv1", kernel, n_in, n_out)
            table.batch_norm(f"{name}.bn1", n_out)
            table.convolution(f"{name}.conv2", kernel, n_out, n_out)
            table.batch_norm(f"{name}.bn2", n_out)
            if has_projection(stage, block, n_in, n_out):
                table.convolution(f"{name}.shortcut.conv", (1, 1), n_in, n_out)
                table.batch_norm(f"{name}.shortcut.bn", n_out)
            n_in = n_out
    table.dense("head", n_in, model["dimension"], init="head")
    followers = {name: StatisticRow(each.shape, copy_of(name), name) for name, each in table.parameters.items()}
    table.statistics |= {f"key.{name}": statistic for name, statistic in (followers | table.statistics).items()}
    table.statistics["queue"] = StatisticRow((model["queue"], model["dimension"]), _noise_of_norm_1(model))
    return table


def _noise_of_norm_1(model: Model):
    shape = (model["queue"], model["dimension"])

    def begin(parameters: Mapping[str, np.ndarray], seed: int) -> np.ndarray:
        noise = streams.normal(seed, "init/queue", count=math.prod(shape)).reshape(shape)
        return (noise / np.sqrt(np.square(noise).sum(axis=1, keepdims=True))).astype(np.float32)

    return begin


def _with_rows_apart(model: Model) -> Model:
    """Return the model with each row as a part of its own: any number of devices may then have any number of rows."""
    return {**model, "batch_norm": {**model["batch_norm"], "rows": 1}}


MOCO_LITE = Kind(
    tabulate=_tabulate,
    load=datasets.load,
    batches=PairBatches,
    evaluate=evaluate,
    chance=lambda training, data: 100.0 / N_CLASSES if data is None else commonest(data.test_labels),
    evaluated_images=first_views,
    across_devices=batch_norm_across_devices,
    part_rows=lambda model: model["batch_norm"]["rows"],
    for_fewer_rows=_with_rows_apart,
    begins_itself=True,
)

"""A multi-layer perceptron on small images, trained as scikit-learn trained it in 2016: its printed digits are to come out.

Weights and the order of every epoch come from numpy's RandomState, whose stream numpy keeps (NEP 19), in scikit-learn's order:
kernel and bias of each layer, then one shuffle an epoch, of what the epoch before left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from runners.contract.data import datasets
from runners.contract.data.batches import Batches
from runners.contract.data.datasets import DataSet
from runners.contract.kinds.kind import Kind, Model, Predict
from runners.contract.kinds.metrics import classification_totals
from runners.contract.kinds.parameters import ParameterTable, bound


class WholeEpochBatches(Batches):
    """Batches of whole epochs: a last batch that is not full is filled up with rows that weigh nothing.

    The labels of a training batch, each with a row for each image:

        classes: int32 [batch].
        weights: float32 [batch], 0 where a row only fills up, else rows of the batch / rows in use: their mean is 1.
        penalty: float32 [batch], the recipe's `loss.l2` / rows in use: what half of the squared kernels is multiplied by.
    """

    def __init__(
        self, dataset: DataSet, training: dict[str, Any], *, seed: int, order: Callable[[int], np.ndarray] | None = None
    ) -> None:
        count = len(dataset.train_labels)
        super().__init__(dataset, training, seed=seed, order=order or _orders(training["model"], seed, count=count))
        self._count, self._l2 = count, training["loss"]["l2"]
        self.steps_per_epoch = -(-count // self._batch_size)

    def train(self, step: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the batch of step `step`: images float32 [batch, height, width, channel], and labels in several arrays."""
        index, size = self._index(step), self._batch_size
        rows, missing = len(index), self._batch_size - len(index)
        images = np.pad(self._normalise(self._data.train_images[index]), ((0, missing), (0, 0), (0, 0), (0, 0)))
        weights = np.where(np.arange(size) < rows, size / rows, 0.0).astype(np.float32)
        classes = np.pad(self._data.train_labels[index].astype(np.int32), (0, missing))
        return images, {"classes": classes, "weights": weights, "penalty": np.full(size, self._l2 / rows, np.float32)}

    def rows(self, step: int) -> int:
        """Return how many examples step `step` trains on."""
        return min(self._batch_size, self._count - step % self.steps_per_epoch * self._batch_size)


def evaluate(predict: Predict, batches: Batches, training: dict[str, Any]) -> dict[str, float]:
    """Return the share of images, those of training, whose largest logit is the label's."""
    del training
    totals = np.zeros(3)
    for images, labels, weights in batches.evaluation():
        totals += classification_totals(predict(images), labels, weights)
    correct, _, count = totals.tolist()
    return {"train_accuracy": correct / count}


def _tabulate(model: Model) -> ParameterTable:
    table, n_in = ParameterTable(), int(np.prod(model["image_shape"]))
    table.dense("hidden", n_in, model["hidden"], init="dense")
    table.dense("output", model["hidden"], model["n_classes"], init="dense")
    return table


def _draw(model: Model, seed: int) -> dict[str, np.ndarray]:
    parameters, _ = _begin(model, seed)
    return parameters


def _begin(model: Model, seed: int) -> tuple[dict[str, np.ndarray], np.random.RandomState]:
    """Return the parameters of step 0, and the stream as it stands after them."""
    stream = np.random.RandomState(seed)
    parameters = {}
    for name, row in _tabulate(model).parameters.items():
        end = bound(model["init"][row.init], row)
        parameters[name] = stream.uniform(-end, end, row.shape).astype(np.float32)
    return parameters, stream


def _orders(model: Model, seed: int, *, count: int) -> Callable[[int], np.ndarray]:
    """Return epoch -> the order of its examples."""
    orders: list[np.ndarray] = []
    _, stream = _begin(model, seed)

    def order(epoch: int) -> np.ndarray:
        while len(orders) <= epoch:
            shuffled = np.arange(count)
            stream.shuffle(shuffled)
            orders.append(orders[-1][shuffled] if orders else shuffled)
        return orders[epoch]

    return order


DIGITS_MLP = Kind(
    tabulate=_tabulate,
    load=datasets.load,
    batches=WholeEpochBatches,
    evaluate=evaluate,
    chance=lambda training, data: math.log(training["model"]["n_classes"]),
    draw=_draw,
)

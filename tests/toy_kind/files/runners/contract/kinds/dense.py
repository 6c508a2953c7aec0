"""One dense layer on the pixels of labelled images."""

from __future__ import annotations

import math

from runners.contract.data import datasets
from runners.contract.data.batches import Batches
from runners.contract.kinds.classification import evaluate, guessing
from runners.contract.kinds.kind import Kind, Model
from runners.contract.kinds.parameters import ParameterTable


def _tabulate(model: Model) -> ParameterTable:
    table = ParameterTable()
    table.dense("head", math.prod(model["image_shape"]), model["n_classes"], init="head")
    return table


DENSE_CLASSIFIER = Kind(
    tabulate=_tabulate,
    load=datasets.load,
    batches=Batches,
    evaluate=evaluate,
    chance=guessing,
)

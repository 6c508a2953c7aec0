"""Which batches a recipe's model trains on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runners.contract.data.batches import Batches
from runners.contract.data.datasets import DataSet
from runners.contract.data.instances import InstanceSet
from runners.contract.data.pairs import PairBatches
from runners.contract.data.region_batches import RegionBatches

_KINDS = {"resnet_cifar": Batches, "moco_lite": PairBatches, "tiny_mask_rcnn": RegionBatches}


def make_batches(
    dataset: DataSet | InstanceSet, training: dict[str, Any], *, seed: int, order: Callable | None = None
) -> Batches:
    """Return the batches that a recipe's model trains on."""
    return _KINDS[training["model"]["name"]](dataset, training, seed=seed, order=order)

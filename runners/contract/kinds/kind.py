"""What a kind of recipe is: all that those who train, evaluate, judge or draw its model ask of it, in one noun.

Each kind's own module fills one in, and `table.py` says which model is of which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from runners.contract.data.batches import Batches
from runners.contract.data.datasets import DataSet
from runners.contract.data.instances import InstanceSet
from runners.contract.data.texts import TextSet
from runners.contract.kinds.detections import Detections
from runners.contract.kinds.parameters import ParameterTable, Shapes

Model = dict[str, Any]
Predict = Callable[[np.ndarray], np.ndarray]


def in_equal_measure(model: Model) -> str:
    """Return what a model without batch norm does across devices: there is nothing that could differ."""
    del model
    return "none"


def one_row(model: Model) -> int:
    """Return the rows of a part of a batch that no two devices may share, where any row may stand alone."""
    del model
    return 1


def blank_images(model: Model, rows: int) -> np.ndarray:
    """Return images of the model's size with nothing on them, float32 [rows, height, width, channel]."""
    return np.zeros((rows, *model["image_shape"]), np.float32)


def no_attention(model: Model) -> bool:
    """Return that a model has no attention whose kernel a user could choose."""
    del model
    return False


def unchanged(images: np.ndarray) -> np.ndarray:
    """Return the images of a training batch as they are."""
    return images


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of recipe. `model` is always a recipe's resolved block of that name, `training` its whole resolved content.

    tabulate: model -> names, shapes and beginnings of parameters and statistics, in forward order.
    load: (the recipe's data block, directory of official data or None) -> the data set.
    batches: what makes training and evaluation batches of it.
    evaluate: (predict, batches, training) -> metrics by name, or detections. predict: images of an evaluation batch -> what the
        model gives back for each, [batch, ...], in evaluation mode.
    chance: (training, the data set, or None where it is not at hand) -> what a model that has learned nothing gives as the
        recipe's metric.
    draw: (model, seed) -> the parameters of step 0 by canonical name, where a published result says how they were drawn. Else
        they come from the shared streams.
    blank: (model, rows) -> examples of which shape and type alone count, for programs that are made before any are there.
    evaluated_images: images of a training batch -> what evaluation takes of them; images of an evaluation batch stay as they are.
    across_devices: model -> what batch norm does across devices: sync, per_device, parts, or none of all.
    part_rows: model -> rows of a part of a batch that no two devices may share.
    for_fewer_rows: model -> the model for a batch smaller than the recipe's, on any number of devices.
    chooses_attention: model -> whether it has attention that the framework computes as a whole, by a kernel that can be chosen.
    has_instances: Whether data are images with instances, and an evaluation gives detections, which the conductor measures.
    begins_itself: Whether a native model has more to begin with than drawn parameters: its module's model has a `begin`.
    """

    tabulate: Callable[[Model], ParameterTable]
    load: Callable[[dict[str, Any], str | None], DataSet | InstanceSet | TextSet]
    batches: Callable[..., Batches]
    evaluate: Callable[[Predict, Any, dict[str, Any]], dict[str, float] | Detections]
    chance: Callable[[dict[str, Any], Any], float]
    draw: Callable[[Model, int], dict[str, np.ndarray]] | None = None
    blank: Callable[[Model, int], np.ndarray] = blank_images
    evaluated_images: Callable[[np.ndarray], np.ndarray] = unchanged
    across_devices: Callable[[Model], str] = in_equal_measure
    part_rows: Callable[[Model], int] = one_row
    for_fewer_rows: Callable[[Model], Model] = dict
    chooses_attention: Callable[[Model], bool] = no_attention
    has_instances: bool = False
    begins_itself: bool = False

    def parameter_shapes(self, model: Model) -> Shapes:
        """Return canonical parameter name -> shape, in forward order."""
        return {name: parameter.shape for name, parameter in self.tabulate(model).parameters.items()}

    def statistic_shapes(self, model: Model) -> Shapes:
        """Return canonical name -> shape of running statistics and of all else that forward passes move."""
        return {name: statistic.shape for name, statistic in self.tabulate(model).statistics.items()}

    def make_batches(
        self,
        dataset: DataSet | InstanceSet | TextSet,
        training: dict[str, Any],
        *,
        seed: int,
        order: Callable[[int], np.ndarray] | None = None,
    ) -> Batches:
        """Return the batches of a run. `order`: epoch -> index array, under native randomness."""
        return self.batches(dataset, training, seed=seed, order=order)

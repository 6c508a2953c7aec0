"""The recipe of one dense layer: model and profiles; the rest is any classifier's."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from vigil.recipes.blocks import (
    Check,
    Closed,
    ConstantInit,
    Count,
    Data,
    ImageShape,
    Name,
    NormalInit,
    Optimizers,
    PiecewiseRate,
    Profile,
    image_shape_check,
)
from vigil.recipes.classifier import AccuracyMetric, AccuracyTarget, CrossEntropy, ImageInput
from vigil.recipes.recipe import Recipe, profiles_field


class DenseInit(Closed):
    """Initial weights."""

    head_kernel: NormalInit = Field(alias="head.kernel", description="The kernel.")
    head_bias: ConstantInit = Field(alias="head.bias", description="The bias.")


class DenseClassifierModel(Closed):
    """The layer."""

    name: Literal["dense_classifier"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    n_classes: Count = Field(description="How many classes there are.")
    init: DenseInit = Field(description="Initial weights.")


class DenseProfile(Profile):
    """How much of the recipe."""

    data: Data = Field(description="The data set.")
    learning_rate: PiecewiseRate = Field(description="The learning rate by step.")


class DenseRecipe(Recipe):
    """A classifier of one layer."""

    optimizer: Optimizers
    metric: AccuracyMetric = Field(description="The number that is judged.")
    model: DenseClassifierModel = Field(description="The network.")
    loss: CrossEntropy = Field(description="What is minimised.")
    input: ImageInput = Field(description="From stored images to a batch.")
    targets: list[AccuracyTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, DenseProfile] = profiles_field("quick (the default), or others.")

    def place(self, profile: dict[str, Any], shared: dict[str, Any]) -> None:
        """No size of this model is a profile's."""

    def checks(self) -> list[Check]:
        return [image_shape_check(self.model.image_shape)]

"""A classifier's recipe: model, loss, input, metric and profiles."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from vigil.recipes.blocks import (
    BatchNormBlock,
    Check,
    Closed,
    Convolution,
    CrossEntropy,
    ImageShape,
    Init,
    LabelledData,
    Name,
    Optimizers,
    PercentMetric,
    Profile,
    Size,
    Target,
    image_shape_check,
)
from vigil.recipes.recipe import Recipe, profiles_field

DATA_CLASSES = 10
# Two stages halve it.
_LEAST_SIDE = 4


class PaddedShortcut(Closed):
    """The identity shortcut where a stage changes the shape."""

    kind: Literal["option_a"] = Field(description="Every second row and column, and channels padded with zeros.")
    channel_padding: Literal["both_sides"] = Field(description="Half of the zero channels before, half after.")


class DeviceBatchNorm(BatchNormBlock):
    """Batch normalisation over devices."""

    across_devices: Literal["sync", "per_device"] = Field(
        description="sync: statistics of the global batch. per_device: each shard its own, averaged for evaluation."
    )


class ResnetCifarModel(Closed):
    """The network, except for its depth, which is a profile's."""

    name: Literal["resnet_cifar"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    n_classes: Annotated[int, Field(ge=2)] = Field(description="How many classes there are.")
    widths: Annotated[tuple[Size, Size, Size], Field(strict=False)] = Field(description="Channels of each stage.")
    convolution: Convolution = Field(description="The convolutions.")
    shortcut: PaddedShortcut = Field(description="The shortcuts.")
    batch_norm: DeviceBatchNorm = Field(description="Batch normalisation.")
    init: Init = Field(description="Initial weights.")


class OwnNormalisation(Closed):
    """How pixels are centred and scaled, by statistics of the training set."""

    mean: Literal["per_pixel"] = Field(description="The mean that is subtracted.")
    deviation: Literal["per_channel"] = Field(description="The standard deviation that is divided by.")


class CropAndFlip(Closed):
    """Random crops and flips of training images."""

    padding: Annotated[int, Field(ge=0, le=10**5)] = Field(description="Pixels added on each side before the crop; 0 for none.")
    padding_value: Literal["mean"] = Field(description="What is added: the mean image's value, 0 after normalisation.")
    crop: Size = Field(description="Side of the random crop, in pixels: that of the image.")
    flip_probability: Annotated[float, Field(ge=0, le=1)] = Field(description="How often an image is mirrored.")


class ImageInput(Closed):
    """From stored images to a training batch."""

    normalisation: OwnNormalisation = Field(description="Centring and scaling.")
    augmentation: CropAndFlip | None = Field(description="Random crops and flips; null for none.")
    shuffle: Literal["every_epoch"] = Field(description="When the order of the images is drawn anew.")
    last_batch: Literal["drop"] = Field(description="What becomes of an epoch's last batch if it is not full.")


class AccuracyMetric(PercentMetric):
    """The number that is judged."""

    name: Literal["test_accuracy"] = Field(description="Which metric of an evaluation is judged.")


class AccuracyTarget(Target):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["test_accuracy"] = Field(description="The metric that was published.")


class ClassifierProfile(Profile):
    """How much of the recipe: smoke in seconds, quick in minutes, paper as published."""

    data: LabelledData = Field(description="The data set.")
    depth: Size = Field(description="Layers: 6n + 2.")

    def checks(self) -> list[Check]:
        return [
            *super().checks(),
            (
                self.depth >= 8 and (self.depth - 2) % 6 == 0,
                ("depth",),
                f"found {self.depth}. Allowed: 6n + 2 layers, as in 8, 14, 20.",
            ),
        ]


class ClassifierRecipe(Recipe):
    """A classifier."""

    metric: AccuracyMetric = Field(description="The number that is judged.")
    model: ResnetCifarModel = Field(description="The network.")
    loss: CrossEntropy = Field(description="What is minimised.")
    input: ImageInput = Field(description="From stored images to a batch.")
    optimizer: Optimizers
    targets: list[AccuracyTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, ClassifierProfile] = profiles_field("smoke, quick (the default), paper, or others.")

    def place(self, profile: dict[str, Any], shared: dict[str, Any]) -> None:
        shared["model"]["depth"] = profile.pop("depth")

    def checks(self) -> list[Check]:
        model = self.model
        height, width, channels = model.image_shape
        return [
            model.convolution.check(),
            *self._data_checks(),
            (
                min(height, width) >= _LEAST_SIDE and channels in (1, 3),
                ("model", "image_shape"),
                f"found {list(model.image_shape)}. Allowed: {_LEAST_SIDE} pixels or more either way, and 1 or 3 channels.",
            ),
            (
                all(after >= before and (after - before) % 2 == 0 for before, after in pairwise(model.widths)),
                ("model", "widths"),
                f"found {list(model.widths)}. Allowed: each stage as wide as the one before or an even number wider, since "
                "option A pads half of the channels before and half after.",
            ),
            *self._augmentation_checks(),
        ]

    def _data_checks(self) -> list[Check]:
        """Return the checks of what the sets here have; an imported one is held to the model when it is read."""
        if all(profile.data.checksum for profile in self.profiles.values()):
            return []
        return [
            image_shape_check(self.model.image_shape),
            (
                self.model.n_classes >= DATA_CLASSES,
                ("model", "n_classes"),
                f"found {self.model.n_classes}. Allowed: {DATA_CLASSES} or more; every data set here has {DATA_CLASSES}.",
            ),
        ]

    def _augmentation_checks(self) -> list[Check]:
        augmentation, (height, width, _) = self.input.augmentation, self.model.image_shape
        if augmentation is None:
            return []
        return [
            (
                height == width,
                ("input", "augmentation"),
                f"found random crops of images of {height} x {width}. Allowed: null, or a square model.image_shape.",
            ),
            (
                augmentation.crop == height,
                ("input", "augmentation", "crop"),
                f"found {augmentation.crop}. Allowed: {height}, the side of model.image_shape.",
            ),
            (
                augmentation.padding <= height,
                ("input", "augmentation", "padding"),
                f"found {augmentation.padding}. Allowed: at most {height}, the side of model.image_shape.",
            ),
        ]

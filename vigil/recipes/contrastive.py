"""A recipe of momentum contrast: model, loss, input, metric and profiles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from vigil.recipes.blocks import (
    BatchNormBlock,
    Check,
    Closed,
    Convolution,
    Count,
    Data,
    GivenNormalisation,
    ImageShape,
    Init,
    Name,
    Optimizers,
    PercentMetric,
    Positive,
    Profile,
    Share,
    Size,
    Target,
    image_shape_check,
)
from vigil.recipes.recipe import Recipe, profiles_field


class ProjectedShortcut(Closed):
    """The shortcut where a stage changes the shape."""

    kind: Literal["option_b"] = Field(description="A 1x1 convolution of the block's stride, without a bias, and batch norm.")


class BatchNormOfParts(BatchNormBlock):
    """Batch normalisation of parts of a batch, as of devices that do not talk to each other."""

    across_devices: Literal["parts"] = Field(
        description="parts: each part of the global batch has its own statistics, whichever device it is on."
    )


class MocoLiteModel(Closed):
    """Query encoder, key encoder and queue, except for their sizes, which are a profile's."""

    name: Literal["moco_lite"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    convolution: Convolution = Field(description="The convolutions, but for the shortcuts'.")
    shortcut: ProjectedShortcut = Field(description="The shortcuts.")
    batch_norm: BatchNormOfParts = Field(description="Batch normalisation.")
    shuffle: Literal["keys"] = Field(description="What changes places before it is encoded, so that parts of a batch differ.")
    key_momentum: Share = Field(description="key = key_momentum * key + (1 - key_momentum) * query, before keys are encoded.")
    temperature: Positive = Field(description="What similarities are divided by.")
    init: Init = Field(description="Initial weights; the key encoder begins as a copy, the queue as noise of norm 1.")


class InfoNce(Closed):
    """What is minimised: cross-entropy of a query's own key among the queue (van den Oord et al. 2018, arXiv 1807.03748)."""

    name: Literal["info_nce"] = Field(description="Which loss.")
    reduction: Literal["mean"] = Field(description="The mean over the global batch, whatever the shards.")


class Crop(Closed):
    """A random part of the image, enlarged to its size; how large a part is a profile's."""

    ratio: Annotated[tuple[Positive, Positive], Field(strict=False)] = Field(description="Width to height, from and to.")


class Jitter(Closed):
    """Random changes of colour, in random order."""

    probability: Share = Field(description="How often an image is changed.")
    brightness: Share = Field(description="Factors are drawn from 1 - this to 1 + this.")
    contrast: Share = Field(description="Factors are drawn from 1 - this to 1 + this.")
    saturation: Share = Field(description="Factors are drawn from 1 - this to 1 + this.")
    hue: Annotated[float, Field(ge=0, le=0.5)] = Field(description="Part of a full turn, either way.")


class Views(Closed):
    """How a view is made of an image."""

    crop: Crop = Field(description="A random part, enlarged.")
    flip_probability: Share = Field(description="How often a view is mirrored.")
    jitter: Jitter = Field(description="Changes of colour.")
    grayscale_probability: Share = Field(description="How often a view loses its colours.")


class PairInput(Closed):
    """From stored images to a training batch of two views."""

    normalisation: GivenNormalisation = Field(description="Centring and scaling.")
    augmentation: Views = Field(description="How each of the two views is made.")
    shuffle: Literal["every_epoch"] = Field(description="When the order of the images is drawn anew.")
    last_batch: Literal["drop"] = Field(description="What becomes of an epoch's last batch if it is not full.")


class Neighbours(Closed):
    """How features are judged: the k nearest training images vote (Wu et al. 2018, arXiv 1805.01978)."""

    k: Size = Field(description="How many vote.")
    temperature: Positive = Field(description="A vote weighs exp(similarity / temperature).")


class NeighbourMetric(PercentMetric):
    """The number that is judged."""

    name: Literal["knn_accuracy"] = Field(description="Which metric of an evaluation is judged.")


class NeighbourTarget(Target):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["knn_accuracy"] = Field(description="The metric that was published.")


class ContrastiveProfile(Profile):
    """How much of the recipe: smoke in seconds, quick in minutes, paper as published."""

    data: Data = Field(description="The data set.")
    widths: Annotated[tuple[Size, ...], Field(strict=False, min_length=1)] = Field(description="Channels of each stage.")
    blocks: Annotated[tuple[Size, ...], Field(strict=False, min_length=1)] = Field(description="Blocks of each stage.")
    dimension: Size = Field(description="Numbers in a feature.")
    queue: Count = Field(description="Keys that are kept.")
    crop_area: Annotated[tuple[Positive, Positive], Field(strict=False)] = Field(
        description="From and to which part of an image."
    )
    rows: Annotated[int, Field(ge=2)] = Field(description="Rows of a part of a batch, whose statistics batch norm takes.")
    evaluation: Neighbours = Field(description="How features are judged.")

    def checks(self) -> list[Check]:
        return [
            *super().checks(),
            (
                len(self.blocks) == len(self.widths),
                ("blocks",),
                f"found {len(self.blocks)} stages. Allowed: {len(self.widths)}, as many as widths.",
            ),
            (
                self.batch_size % self.rows == 0,
                ("rows",),
                f"found {self.rows}. Allowed: a divisor of batch_size, {self.batch_size}.",
            ),
            (
                self.crop_area[0] <= self.crop_area[1] <= 1,
                ("crop_area",),
                f"found {list(self.crop_area)}. Allowed: the smaller first, at most 1.",
            ),
            (
                self.queue >= self.batch_size,
                ("queue",),
                f"found {self.queue}. Allowed: batch_size, {self.batch_size}, or more.",
            ),
            (
                self.evaluation.k <= self.data.n_train,
                ("evaluation", "k"),
                f"found {self.evaluation.k}. Allowed: at most data.n_train, {self.data.n_train}.",
            ),
        ]


class ContrastiveRecipe(Recipe):
    """An encoder that learns without labels."""

    metric: NeighbourMetric = Field(description="The number that is judged.")
    model: MocoLiteModel = Field(description="The network.")
    loss: InfoNce = Field(description="What is minimised.")
    input: PairInput = Field(description="From stored images to a batch.")
    optimizer: Optimizers
    targets: list[NeighbourTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, ContrastiveProfile] = profiles_field("smoke, quick (the default), paper, or others.")

    def place(self, profile: dict[str, Any], shared: dict[str, Any]) -> None:
        shared["model"] |= {name: profile.pop(name) for name in ("widths", "blocks", "dimension", "queue")}
        shared["model"]["batch_norm"]["rows"] = profile.pop("rows")
        shared["input"]["augmentation"]["crop"]["area"] = profile.pop("crop_area")

    def checks(self) -> list[Check]:
        crop = self.input.augmentation.crop
        return [
            self.model.convolution.check(),
            image_shape_check(self.model.image_shape),
            (
                crop.ratio[0] <= crop.ratio[1],
                ("input", "augmentation", "crop", "ratio"),
                f"found {list(crop.ratio)}. Allowed: the smaller first.",
            ),
        ]

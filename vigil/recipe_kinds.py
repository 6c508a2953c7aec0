"""The kinds of recipe, one for each kind of training: what its model, loss, input and profiles may say."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from vigil.errors import UsageError, nearest
from vigil.recipe_blocks import (
    BatchNorm,
    Closed,
    Convolution,
    CosineRate,
    Count,
    DetectorInit,
    Init,
    InstanceData,
    Name,
    Optimizer,
    PercentMetric,
    PiecewiseRate,
    Positive,
    Profile,
    Target,
    Text,
    Zero,
)
from vigil.recipe_checks import inconsistencies

DEFAULT_PROFILE = "quick"
ImageShape = Annotated[tuple[Count, Count, Count], Field(strict=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class Recipe(Closed):
    """What is trained, what was published of it, and how much of it each profile does."""

    name: Name = Field(description="The name in commands, tables and file names.")
    version: Count = Field(description="Raised when a number can move; results of two versions are not compared.")
    description: Text = Field(description="One line for `vigil recipes`.")
    optimizer: Optimizer = Field(description="The update rule.")

    @model_validator(mode="after")
    def _check_across_keys(self) -> Recipe:
        errors = [
            InitErrorDetails(type=PydanticCustomError("inconsistent", "{text}", {"text": text}), loc=location, input=None)
            for location, text in inconsistencies(self)
        ]
        if errors:
            raise ValidationError.from_exception_data("Recipe", errors)
        return self

    def profile(self, name: str = DEFAULT_PROFILE) -> Profile:
        """Return a profile by name.

        Raises:
            UsageError: This recipe has no such profile.
        """
        if name not in self.profiles:
            allowed = ", ".join(self.profiles)
            raise UsageError(f"profile: found {name!r}. Allowed for recipe {self.name}: {allowed}.{nearest(name, self.profiles)}")
        return self.profiles[name]


class PaddedShortcut(Closed):
    """The identity shortcut where a stage changes the shape."""

    kind: Literal["option_a"] = Field(description="Every second row and column, and channels padded with zeros.")
    channel_padding: Literal["both_sides"] = Field(description="Half of the zero channels before, half after.")


class DeviceBatchNorm(BatchNorm):
    """Batch normalisation over devices."""

    across_devices: Literal["sync", "per_device"] = Field(
        description="sync: statistics of the global batch. per_device: each shard its own, averaged for evaluation."
    )


class ResnetCifar(Closed):
    """The network, except for its depth, which is a profile's."""

    name: Literal["resnet_cifar"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    n_classes: Annotated[int, Field(ge=2)] = Field(description="How many classes there are.")
    widths: Annotated[tuple[Count, Count, Count], Field(strict=False)] = Field(description="Channels of each stage.")
    convolution: Convolution = Field(description="The convolutions.")
    shortcut: PaddedShortcut = Field(description="The shortcuts.")
    batch_norm: DeviceBatchNorm = Field(description="Batch normalisation.")
    init: Init = Field(description="Initial weights.")


class CrossEntropy(Closed):
    """What is minimised."""

    name: Literal["softmax_cross_entropy"] = Field(description="Which loss.")
    reduction: Literal["mean"] = Field(description="The mean over the global batch, whatever the shards.")
    label_smoothing: Zero = Field(description="How much of the label is spread over all classes.")


class OwnNormalisation(Closed):
    """How pixels are centred and scaled, by statistics of the training set."""

    mean: Literal["per_pixel"] = Field(description="The mean that is subtracted.")
    deviation: Literal["per_channel"] = Field(description="The standard deviation that is divided by.")


class CropAndFlip(Closed):
    """Random crops and flips of training images."""

    padding: Annotated[int, Field(ge=0)] = Field(description="Pixels added on each side before the crop; 0 for none.")
    padding_value: Literal["mean"] = Field(description="What is added: the mean image's value, 0 after normalisation.")
    crop: Count = Field(description="Side of the random crop, in pixels: that of the image.")
    flip_probability: Annotated[float, Field(ge=0, le=1)] = Field(description="How often an image is mirrored.")


class ImageInput(Closed):
    """From stored images to a training batch."""

    normalisation: OwnNormalisation = Field(description="Centring and scaling.")
    augmentation: CropAndFlip = Field(description="Random crops and flips.")
    shuffle: Literal["every_epoch"] = Field(description="When the order of the images is drawn anew.")
    last_batch: Literal["drop"] = Field(description="What becomes of an epoch's last batch if it is not full.")


class AccuracyMetric(PercentMetric):
    """The number that is judged."""

    name: Literal["test_accuracy"] = Field(description="Which metric of an evaluation is judged.")


class AccuracyTarget(Target):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["test_accuracy"] = Field(description="The metric that was published.")


class ClassificationProfile(Profile):
    """How much of the recipe: smoke in seconds, quick in minutes, paper as published."""

    depth: Count = Field(description="Layers: 6n + 2.")
    learning_rate: PiecewiseRate = Field(description="The learning rate by step.")


class ClassificationRecipe(Recipe):
    """A classifier."""

    metric: AccuracyMetric = Field(description="The number that is judged.")
    model: ResnetCifar = Field(description="The network.")
    loss: CrossEntropy = Field(description="What is minimised.")
    input: ImageInput = Field(description="From stored images to a batch.")
    targets: list[AccuracyTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, ClassificationProfile] = Field(
        min_length=1,
        description="smoke, quick (the default), paper, or others.",
        json_schema_extra={"additionalProperties": False},
    )

    def resolve(self, profile_name: str = DEFAULT_PROFILE) -> dict[str, object]:
        """Return all that is trained under a profile, as nested JSON values with nothing left to a default."""
        profile = self.profile(profile_name).model_dump(mode="json", exclude={"description"})
        shared = self.model_dump(mode="json", by_alias=True, include={"metric", "model", "loss", "input", "optimizer"})
        shared["model"]["depth"] = profile.pop("depth")
        shared["optimizer"]["weight_decay"] = profile.pop("weight_decay")
        return {**shared, **profile}


class ProjectedShortcut(Closed):
    """The shortcut where a stage changes the shape."""

    kind: Literal["option_b"] = Field(description="A 1x1 convolution of the block's stride, without a bias, and batch norm.")


class SplitBatchNorm(BatchNorm):
    """Batch normalisation of parts of a batch, as of devices that do not talk to each other."""

    across_devices: Literal["parts"] = Field(
        description="parts: each part of the global batch has its own statistics, whichever device it is on."
    )


class MocoLite(Closed):
    """Query encoder, key encoder and queue, except for their sizes, which are a profile's."""

    name: Literal["moco_lite"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    convolution: Convolution = Field(description="The convolutions, but for the shortcuts'.")
    shortcut: ProjectedShortcut = Field(description="The shortcuts.")
    batch_norm: SplitBatchNorm = Field(description="Batch normalisation.")
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


class GivenNormalisation(Closed):
    """How pixels from 0 to 1 are centred and scaled, channel by channel."""

    mean: Annotated[tuple[Share, Share, Share], Field(strict=False)] = Field(description="What is subtracted.")
    deviation: Annotated[tuple[Positive, Positive, Positive], Field(strict=False)] = Field(description="What is divided by.")


class PairInput(Closed):
    """From stored images to a training batch of two views."""

    normalisation: GivenNormalisation = Field(description="Centring and scaling.")
    augmentation: Views = Field(description="How each of the two views is made.")
    shuffle: Literal["every_epoch"] = Field(description="When the order of the images is drawn anew.")
    last_batch: Literal["drop"] = Field(description="What becomes of an epoch's last batch if it is not full.")


class Neighbours(Closed):
    """How features are judged: the k nearest training images vote (Wu et al. 2018, arXiv 1805.01978)."""

    k: Count = Field(description="How many vote.")
    temperature: Positive = Field(description="A vote weighs exp(similarity / temperature).")


class NeighbourMetric(PercentMetric):
    """The number that is judged."""

    name: Literal["knn_accuracy"] = Field(description="Which metric of an evaluation is judged.")


class NeighbourTarget(Target):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["knn_accuracy"] = Field(description="The metric that was published.")


class ContrastProfile(Profile):
    """How much of the recipe: smoke in seconds, quick in minutes, paper as published."""

    widths: Annotated[tuple[Count, ...], Field(strict=False, min_length=1)] = Field(description="Channels of each stage.")
    blocks: Annotated[tuple[Count, ...], Field(strict=False, min_length=1)] = Field(description="Blocks of each stage.")
    dimension: Count = Field(description="Numbers in a feature.")
    queue: Count = Field(description="Keys that are kept.")
    crop_area: Annotated[tuple[Positive, Positive], Field(strict=False)] = Field(
        description="From and to which part of an image."
    )
    rows: Annotated[int, Field(ge=2)] = Field(description="Rows of a part of a batch, whose statistics batch norm takes.")
    evaluation: Neighbours = Field(description="How features are judged.")
    learning_rate: PiecewiseRate | CosineRate = Field(description="The learning rate by step.", discriminator="kind")


class ContrastRecipe(Recipe):
    """An encoder that learns without labels."""

    metric: NeighbourMetric = Field(description="The number that is judged.")
    model: MocoLite = Field(description="The network.")
    loss: InfoNce = Field(description="What is minimised.")
    input: PairInput = Field(description="From stored images to a batch.")
    targets: list[NeighbourTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, ContrastProfile] = Field(
        min_length=1,
        description="smoke, quick (the default), paper, or others.",
        json_schema_extra={"additionalProperties": False},
    )

    def resolve(self, profile_name: str = DEFAULT_PROFILE) -> dict[str, object]:
        """Return all that is trained under a profile, as nested JSON values with nothing left to a default."""
        profile = self.profile(profile_name).model_dump(mode="json", exclude={"description"})
        shared = self.model_dump(mode="json", by_alias=True, include={"metric", "model", "loss", "input", "optimizer"})
        shared["model"] |= {name: profile.pop(name) for name in ("widths", "blocks", "dimension", "queue")}
        shared["model"]["batch_norm"]["rows"] = profile.pop("rows")
        shared["input"]["augmentation"]["crop"]["area"] = profile.pop("crop_area")
        shared["optimizer"]["weight_decay"] = profile.pop("weight_decay")
        return {**shared, **profile}


class SynchronisedBatchNorm(BatchNorm):
    """Batch normalisation over the global batch; in the heads, over its regions that are in use."""

    across_devices: Literal["sync"] = Field(description="sync: statistics of the global batch, each value counted once.")


class Anchors(Closed):
    """The boxes that proposals are made from; one scale a level, around the centre of each of its cells."""

    scales: Annotated[tuple[Positive, Positive], Field(strict=False)] = Field(description="Square roots of areas, in pixels.")
    ratios: Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)] = Field(description="Height over width.")


class Sampling(Closed):
    """Which anchors or proposals a step learns from, and how it learns their boxes."""

    low: Share = Field(description="Below this overlap with every instance: background.")
    high: Share = Field(description="From this overlap on: an instance's. Between the two: left out.")
    count: Count = Field(description="How many are drawn of an image; its loss is divided by this, however many there are.")
    most_positive: Count = Field(description="How many of them may be instances'.")
    weights: Annotated[tuple[Positive, Positive, Positive, Positive], Field(strict=False)] = Field(
        description="What deltas are multiplied by: of x, y, width, height."
    )
    beta: Positive = Field(description="Below this distance the loss of a delta is a square, above it a line.")


class Proposals(Closed):
    """From anchors to proposals."""

    considered: Count = Field(description="How many anchors of an image, the most probable ones, are decoded.")
    least_side: Positive = Field(description="A box with a shorter side, in pixels, is dropped.")
    overlap: Share = Field(description="Of two boxes that overlap more, the less probable is dropped.")
    count: Count = Field(description="How many are kept of an image.")


class Pooling(Closed):
    """How what lies in a box is cut out of the pyramid (He et al. 2017, arXiv 1703.06870, section 3)."""

    canonical: Positive = Field(description="From a box of so many pixels squared on, the coarser of the two levels is read.")
    samples: Count = Field(description="Bilinear samples of a bin, in each direction.")
    box: Count = Field(description="Rows and columns of bins for classes and boxes.")
    mask: Count = Field(description="Rows and columns of bins for masks, which have twice as many.")


class Detection(Closed):
    """What is reported of an image."""

    least_score: Share = Field(description="A box is reported above this probability of its class.")
    overlap: Share = Field(description="Of two boxes of a class that overlap more, the less probable is dropped.")
    count: Count = Field(description="How many are reported of an image at most.")


class TinyMaskRcnn(Closed):
    """Backbone, pyramid of two levels, proposals and heads, except for their widths, which are a profile's."""

    name: Literal["tiny_mask_rcnn"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    n_classes: Count = Field(description="How many classes there are, without the background.")
    strides: Annotated[tuple[Literal[8], Literal[16]], Field(strict=False)] = Field(
        description="Pixels of the image per cell of each level: the stem and each stage halve the image."
    )
    anchors: Anchors = Field(description="The boxes that proposals are made from.")
    convolution: Convolution = Field(description="The convolutions that batch norm follows.")
    batch_norm: SynchronisedBatchNorm = Field(description="Batch normalisation.")
    anchor_sampling: Sampling = Field(description="How proposals are learned.")
    proposals: Proposals = Field(description="From anchors to proposals.")
    region_sampling: Sampling = Field(description="How classes, boxes and masks are learned.")
    pooling: Pooling = Field(description="From a box to its features.")
    detection: Detection = Field(description="What is reported of an image.")
    init: DetectorInit = Field(description="Initial weights.")


class MaskRcnnLoss(Closed):
    """What is minimised: the sum of five terms, two of the proposals and three of the heads."""

    name: Literal["mask_rcnn"] = Field(description="Which loss.")
    reduction: Literal["mean"] = Field(description="The mean over the images of the global batch, whatever the shards.")


class Flip(Closed):
    """Mirrored images, boxes and masks."""

    flip_probability: Share = Field(description="How often an image is mirrored.")


class InstanceInput(Closed):
    """From stored images to a training batch."""

    normalisation: GivenNormalisation = Field(description="Centring and scaling.")
    augmentation: Flip = Field(description="Random changes.")
    shuffle: Literal["every_epoch"] = Field(description="When the order of the images is drawn anew.")
    last_batch: Literal["drop"] = Field(description="What becomes of an epoch's last batch if it is not full.")


class MaskMetric(PercentMetric):
    """The number that is judged: COCO's average precision of masks, over ten overlaps."""

    name: Literal["mask_ap"] = Field(description="Which metric of an evaluation is judged.")


class MaskTarget(Target):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["mask_ap"] = Field(description="The metric that was published.")


class DetectionProfile(Profile):
    """How much of the recipe: smoke in seconds, quick in minutes, standard in an hour."""

    data: InstanceData = Field(description="The data set.")
    widths: Annotated[tuple[Count, Count, Count, Count], Field(strict=False)] = Field(
        description="Channels of the stem and of each of the three stages."
    )
    blocks: Annotated[tuple[Count, Count, Count], Field(strict=False)] = Field(description="Convolutions of each stage.")
    channels: Count = Field(description="Channels of the pyramid and of the heads' convolutions.")
    hidden: Count = Field(description="Numbers between the two dense layers of the box head.")
    learning_rate: PiecewiseRate | CosineRate = Field(description="The learning rate by step.", discriminator="kind")


class DetectionRecipe(Recipe):
    """A detector of instances with their masks."""

    metric: MaskMetric = Field(description="The number that is judged.")
    model: TinyMaskRcnn = Field(description="The network.")
    loss: MaskRcnnLoss = Field(description="What is minimised.")
    input: InstanceInput = Field(description="From stored images to a batch.")
    targets: list[MaskTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, DetectionProfile] = Field(
        min_length=1,
        description="smoke, quick (the default), standard, or others.",
        json_schema_extra={"additionalProperties": False},
    )

    def resolve(self, profile_name: str = DEFAULT_PROFILE) -> dict[str, object]:
        """Return all that is trained under a profile, as nested JSON values with nothing left to a default."""
        profile = self.profile(profile_name).model_dump(mode="json", exclude={"description"})
        shared = self.model_dump(mode="json", by_alias=True, include={"metric", "model", "loss", "input", "optimizer"})
        shared["model"] |= {name: profile.pop(name) for name in ("widths", "blocks", "channels", "hidden")}
        shared["optimizer"]["weight_decay"] = profile.pop("weight_decay")
        return {**shared, **profile}


RECIPES = {"resnet_cifar": ClassificationRecipe, "moco_lite": ContrastRecipe, "tiny_mask_rcnn": DetectionRecipe}

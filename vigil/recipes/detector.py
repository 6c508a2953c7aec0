"""A detector's recipe: model, loss, input, metric and profiles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from runners.contract.data import scenes
from runners.contract.data.instances import EMBEDDED
from vigil.recipes.blocks import (
    BatchNormBlock,
    Check,
    Closed,
    Convolution,
    DetectorInit,
    GivenNormalisation,
    ImageShape,
    InstanceData,
    Name,
    Optimizers,
    PercentMetric,
    Positive,
    Profile,
    Share,
    Size,
    Target,
)
from vigil.recipes.recipe import Recipe, profiles_field


class SynchronisedBatchNorm(BatchNormBlock):
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
    count: Size = Field(description="How many are drawn of an image; its loss is divided by this, however many there are.")
    most_positive: Size = Field(description="How many of them may be instances'.")
    weights: Annotated[tuple[Positive, Positive, Positive, Positive], Field(strict=False)] = Field(
        description="What deltas are multiplied by: of x, y, width, height."
    )
    beta: Positive = Field(description="Below this distance the loss of a delta is a square, above it a line.")


class Proposals(Closed):
    """From anchors to proposals."""

    considered: Size = Field(description="How many anchors of an image, the most probable ones, are decoded.")
    least_side: Positive = Field(description="A box with a shorter side, in pixels, is dropped.")
    overlap: Share = Field(description="Of two boxes that overlap more, the less probable is dropped.")
    count: Size = Field(description="How many are kept of an image.")


class Pooling(Closed):
    """How what lies in a box is cut out of the pyramid (He et al. 2017, arXiv 1703.06870, section 3)."""

    canonical: Positive = Field(description="From a box of so many pixels squared on, the coarser of the two levels is read.")
    samples: Size = Field(description="Bilinear samples of a bin, in each direction.")
    box: Size = Field(description="Rows and columns of bins for classes and boxes.")
    mask: Size = Field(description="Rows and columns of bins for masks, which have twice as many.")


class Detection(Closed):
    """What is reported of an image."""

    least_score: Share = Field(description="A box is reported above this probability of its class.")
    overlap: Share = Field(description="Of two boxes of a class that overlap more, the less probable is dropped.")
    count: Size = Field(description="How many are reported of an image at most.")


class TinyMaskRcnnModel(Closed):
    """Backbone, pyramid of two levels, proposals and heads, except for their widths, which are a profile's."""

    name: Literal["tiny_mask_rcnn"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    n_classes: Size = Field(description="How many classes there are, without the background.")
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


class DetectorProfile(Profile):
    """How much of the recipe: smoke in seconds, quick in minutes, standard in an hour."""

    data: InstanceData = Field(description="The data set.")
    widths: Annotated[tuple[Size, Size, Size, Size], Field(strict=False)] = Field(
        description="Channels of the stem and of each of the three stages."
    )
    blocks: Annotated[tuple[Size, Size, Size], Field(strict=False)] = Field(description="Convolutions of each stage.")
    channels: Size = Field(description="Channels of the pyramid and of the heads' convolutions.")
    hidden: Size = Field(description="Numbers between the two dense layers of the box head.")


class DetectorRecipe(Recipe):
    """A detector of instances with their masks."""

    metric: MaskMetric = Field(description="The number that is judged.")
    model: TinyMaskRcnnModel = Field(description="The network.")
    loss: MaskRcnnLoss = Field(description="What is minimised.")
    input: InstanceInput = Field(description="From stored images to a batch.")
    optimizer: Optimizers
    targets: list[MaskTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, DetectorProfile] = profiles_field("smoke, quick (the default), standard, or others.")

    def place(self, profile: dict[str, Any], shared: dict[str, Any]) -> None:
        shared["model"] |= {name: profile.pop(name) for name in ("widths", "blocks", "channels", "hidden")}

    def checks(self) -> list[Check]:
        model = self.model
        height, width, channels = model.image_shape
        n_anchors = sum((height // stride) * (width // stride) for stride in model.strides) * len(model.anchors.ratios)
        checks: list[Check] = [
            model.convolution.check(),
            (
                height == width and height % model.strides[-1] == 0 and channels == 3,
                ("model", "image_shape"),
                f"found {list(model.image_shape)}. Allowed: a square of a multiple of {model.strides[-1]} pixels, with 3 "
                "channels.",
            ),
            (
                model.proposals.count <= model.proposals.considered <= n_anchors,
                ("model", "proposals", "considered"),
                f"found {model.proposals.considered}. Allowed: from proposals.count, {model.proposals.count}, to the number of "
                f"anchors, {n_anchors}.",
            ),
            (
                model.region_sampling.count <= model.proposals.count,
                ("model", "region_sampling", "count"),
                f"found {model.region_sampling.count}. Allowed: at most proposals.count, {model.proposals.count}.",
            ),
            (
                model.detection.count <= model.proposals.count * model.n_classes,
                ("model", "detection", "count"),
                f"found {model.detection.count}. Allowed: at most one a proposal and class.",
            ),
        ]
        for name in ("anchor_sampling", "region_sampling"):
            rule = getattr(model, name)
            checks += [
                (rule.low <= rule.high, ("model", name, "low"), f"found {rule.low}. Allowed: at most high, {rule.high}."),
                (
                    rule.most_positive <= rule.count,
                    ("model", name, "most_positive"),
                    f"found {rule.most_positive}. Allowed: at most count, {rule.count}.",
                ),
            ]
        for name, profile in self.profiles.items():
            if profile.data.name == EMBEDDED:
                checks += [
                    (
                        height == scenes.SIDE,
                        ("model", "image_shape"),
                        f"found {list(model.image_shape)}. Allowed: [{scenes.SIDE}, {scenes.SIDE}, 3], the scenes of "
                        f"profile {name}.",
                    ),
                    (
                        model.n_classes == len(scenes.CLASSES),
                        ("model", "n_classes"),
                        f"found {model.n_classes}. Allowed: {len(scenes.CLASSES)}, those of the scenes of profile {name}.",
                    ),
                ]
        return checks

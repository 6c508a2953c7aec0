"""A recipe of a multi-layer perceptron on small images: model, loss, input, metric and profiles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from runners.contract.data import digits
from vigil.recipes.blocks import (
    Check,
    Closed,
    DigitsData,
    Exact,
    ImageShape,
    LossMetric,
    Name,
    No,
    NotNegative,
    Profile,
    Size,
    Target,
    UniformInit,
    Zero,
)
from vigil.recipes.recipe import Recipe, profiles_field


class DenseInit(Closed):
    """Initial weights, drawn from numpy's RandomState: kernel, then bias of each layer."""

    dense_kernel: UniformInit = Field(alias="dense.kernel", description="Every kernel.")
    dense_bias: UniformInit = Field(alias="dense.bias", description="Every bias.")


class DigitsMlpModel(Closed):
    """The network."""

    name: Literal["digits_mlp"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: ImageShape = Field(description="Height, width and channels of an image.")
    n_classes: Annotated[int, Field(ge=2)] = Field(description="How many classes there are.")
    hidden: Size = Field(description="Units of the hidden layer, which are rectified.")
    init: DenseInit = Field(description="Initial weights.")


class PenalisedCrossEntropy(Closed):
    """What is minimised."""

    name: Literal["softmax_cross_entropy"] = Field(description="Which loss.")
    reduction: Literal["mean"] = Field(description="The mean over the global batch, whatever the shards.")
    label_smoothing: Zero = Field(description="How much of the label is spread over all classes.")
    l2: NotNegative = Field(
        description="What half of the sum of squared kernels, over the rows of the batch, is multiplied by and added."
    )


class MinMax(Closed):
    """How pixels are scaled: from 0 at the least to 1 at the most of the training set; one that never changes is 0."""

    minimum: Literal["per_pixel"] = Field(description="What becomes 0.")
    maximum: Literal["per_pixel"] = Field(description="What becomes 1.")


class WholeInput(Closed):
    """From stored images to a training batch."""

    normalisation: MinMax = Field(description="Scaling.")
    augmentation: None = Field(description="null: images are trained on as they are.")
    shuffle: Literal["every_epoch"] = Field(description="When the order of the images is drawn anew.")
    last_batch: Literal["keep"] = Field(description="What becomes of an epoch's last batch if it is not full: it counts less.")


class SgdOfProfiles(Closed):
    """SGD, except for momentum, weight decay and learning rate, which are a profile's."""

    name: Literal["sgd"] = Field(description="Which optimizer.")
    dampening: Zero = Field(description="How much of the gradient is kept out of the buffer.")
    learning_rate_in_momentum: No = Field(description="false: parameter -= learning_rate * buffer.")
    weight_decay_form: Literal["coupled"] = Field(description="coupled: gradient + weight_decay * parameter, before momentum.")
    weight_decay_on: Literal["all"] = Field(description="Which parameters decay.")


class TrainLossMetric(LossMetric):
    """The number that is judged."""

    name: Literal["train_loss"] = Field(description="The mean loss of the last epoch's steps, each example counted once.")


class PerceptronTarget(Target):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["train_loss", "train_accuracy"] = Field(description="The metric that was published.")
    exact: Exact | None = Field(default=None, description="Where it is to come out digit for digit.")


class PerceptronProfile(Profile):
    """How much of the recipe, and which rule of momentum."""

    data: DigitsData = Field(description="The data set.")
    momentum: Annotated[float, Field(ge=0, lt=1)] = Field(description="buffer = momentum * buffer + gradient.")
    nesterov: bool = Field(description="Whether the step is gradient + momentum * buffer; else it is the buffer.")

    def checks(self) -> list[Check]:
        epoch = -(-self.data.n_train // self.batch_size)
        return [
            *super().checks(),
            *(
                (
                    found % epoch == 0,
                    (name,),
                    f"found {found}. Allowed: whole epochs of {epoch} steps, whose losses the metric is made of.",
                )
                for name, found in (
                    ("steps", self.steps),
                    ("evaluate_every_steps", self.evaluate_every_steps),
                    ("checkpoint_every_steps", self.checkpoint_every_steps),
                )
            ),
            (
                self.evaluate_every_steps == epoch,
                ("evaluate_every_steps",),
                f"found {self.evaluate_every_steps}. Allowed: {epoch}, one epoch: the metric is the mean loss of the last.",
            ),
            (
                self.momentum > 0 or not self.nesterov,
                ("nesterov",),
                "found true beside a momentum of 0. Allowed: false, there is no buffer to look ahead of.",
            ),
        ]


class PerceptronRecipe(Recipe):
    """A multi-layer perceptron."""

    metric: TrainLossMetric = Field(description="The number that is judged.")
    model: DigitsMlpModel = Field(description="The network.")
    loss: PenalisedCrossEntropy = Field(description="What is minimised.")
    input: WholeInput = Field(description="From stored images to a batch.")
    optimizer: SgdOfProfiles = Field(description="The update rule.")
    targets: list[PerceptronTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, PerceptronProfile] = profiles_field("smoke, quick (the default), or others.")

    def place(self, profile: dict[str, Any], shared: dict[str, Any]) -> None:
        shared["optimizer"] |= {name: profile.pop(name) for name in ("momentum", "nesterov")}

    def checks(self) -> list[Check]:
        return [
            (
                self.model.image_shape == digits.IMAGE_SHAPE,
                ("model", "image_shape"),
                f"found {list(self.model.image_shape)}. Allowed: {list(digits.IMAGE_SHAPE)}, the images of digits.",
            ),
            (
                self.model.n_classes == digits.CLASSES,
                ("model", "n_classes"),
                f"found {self.model.n_classes}. Allowed: {digits.CLASSES}, the classes of digits.",
            ),
        ]

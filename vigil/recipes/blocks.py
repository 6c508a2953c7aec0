"""The blocks that recipes of every kind are made of, and what must hold between the keys of each.

Every number on which frameworks disagree has a key and no default. Where Vigil has one convention, as for momentum, the
key admits that one value: it is written out for the reader, and a recipe that needs another is refused, not bent.
A check is whether it holds, where in the block, and what to say if it does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from runners.contract.data import digits, generated, scenes, tiny_shakespeare
from runners.contract.data.instances import EMBEDDED
from vigil.recipes.yaml_file import Location

Problem = tuple[Location, str]
Check = tuple[bool, Location, str]

LARGEST_SIZES = {
    "cifar10": (50000, 10000),
    "generated": (generated.MAXIMUM["train"], generated.MAXIMUM["test"]),
    "textures": (generated.MAXIMUM["train"], generated.MAXIMUM["test"]),  # made in the same chunks
    "scenes": (scenes.MAXIMUM["train"], scenes.MAXIMUM["test"]),
    "digits": (digits.COUNT, digits.COUNT),
}
# Names of sets that are here, or that another command makes: an import may take none of them.
OWN_DATA = ("cifar10", "digits", "generated", "scenes", "textures", tiny_shakespeare.NAME)
DATA_IMAGE_SHAPE = (32, 32, 3)


def _refuse_false(value: bool) -> bool:
    if not value:
        raise PydanticCustomError("literal_error", "only true")
    return value


def _refuse_true(value: bool) -> bool:
    if value:
        raise PydanticCustomError("literal_error", "only false")
    return value


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
Text = Annotated[str, Field(min_length=1)]
# Beyond these, the least and the greatest that anybody trains with, a recipe is a mistake, or takes a machine's memory.
Count = Annotated[int, Field(ge=1, le=10**9)]
Size = Annotated[int, Field(ge=1, le=10**5)]
Positive = Annotated[float, Field(ge=1e-37, le=1e6)]  # what is less is 0 in fp32
NotNegative = Annotated[float, Field(ge=0, le=1e6)]
Zero = Annotated[float, Field(ge=0, le=0)]
# Not Literal[False], which takes a 0 for it.
No = Annotated[bool, AfterValidator(_refuse_true), WithJsonSchema({"const": False, "type": "boolean"})]
Yes = Annotated[bool, AfterValidator(_refuse_false), WithJsonSchema({"const": True, "type": "boolean"})]
# YAML has lists only; strictness about list against tuple would refuse every one of them.
ImageShape = Annotated[tuple[Size, Size, Size], Field(strict=False)]
Share = Annotated[float, Field(ge=0, le=1)]
NaturalPair = Annotated[tuple[Annotated[int, Field(ge=0, le=10**5)], Annotated[int, Field(ge=0, le=10**5)]], Field(strict=False)]


class Closed(BaseModel):
    """A block that refuses unknown keys, text for numbers, and change."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def broken(checks: Iterable[Check]) -> list[Problem]:
    """Return the checks that do not hold."""
    return [(location, message) for holds, location, message in checks if not holds]


class JudgedMetric(Closed):
    """The number that is judged."""

    name: str
    unit: str
    direction: str
    selection: Literal["last"] = Field(description="Which evaluation counts: the last, never the best on the test set.")


class PercentMetric(JudgedMetric):
    """The number that is judged."""

    unit: Literal["percent"] = Field(description="The unit of the metric.")
    direction: Literal["higher"] = Field(description="Which direction is better; a band is two-sided all the same.")


class LossMetric(JudgedMetric):
    """The number that is judged."""

    unit: Literal["nats"] = Field(description="The unit of the metric.")
    direction: Literal["lower"] = Field(description="Which direction is better; a band is two-sided all the same.")


class CrossEntropy(Closed):
    """What is minimised."""

    name: Literal["softmax_cross_entropy"] = Field(description="Which loss.")
    reduction: Literal["mean"] = Field(description="The mean over the global batch, whatever the shards.")
    label_smoothing: Zero = Field(description="How much of the label is spread over all classes.")


class Convolution(Closed):
    """The 3x3 convolutions of the stem and of the blocks."""

    kernel: Annotated[tuple[Size, Size], Field(strict=False)] = Field(description="Height and width of the kernel.")
    padding: Annotated[tuple[NaturalPair, NaturalPair], Field(strict=False)] = Field(
        description="Zeros before and after, for height and for width: numbers, since `same` differs with a stride."
    )
    bias: No = Field(description="Whether convolutions have a bias; batch norm follows each of them.")

    def check(self) -> Check:
        """Return the check that a stride of 1 keeps the size; its location is the recipe's."""
        return (
            [sum(pad) for pad in self.padding] == [size - 1 for size in self.kernel],
            ("model", "convolution", "padding"),
            f"found {[list(pad) for pad in self.padding]}. Allowed: kernel - 1 in total for each dimension, so that a "
            f"stride of 1 keeps the size (kernel {list(self.kernel)}).",
        )


class BatchNormBlock(Closed):
    """Batch normalisation, with the conventions on which frameworks differ."""

    epsilon: Positive = Field(description="Added to the variance before the square root.")
    momentum: Annotated[float, Field(gt=0, le=1)] = Field(
        description="running = (1 - momentum) * running + momentum * batch; Keras and Flax call 1 - momentum momentum."
    )
    running_variance: Literal["unbiased"] = Field(description="The batch variance that is accumulated: n / (n - 1).")


class NormalInit(Closed):
    """Draws from a normal distribution with variance `variance` / fan-in or fan-out."""

    distribution: Literal["normal"] = Field(description="The distribution.")
    mean: Zero = Field(description="Its mean.")
    variance: Positive = Field(description="Its variance times the fan: 2 is He et al.")
    per: Literal["fan_in", "fan_out"] = Field(description="What the variance is divided by.")


class DeviationInit(Closed):
    """Draws from a normal distribution of one deviation, whatever the size of a layer."""

    distribution: Literal["normal"] = Field(description="The distribution.")
    mean: Zero = Field(description="Its mean.")
    deviation: Positive = Field(description="Its standard deviation.")


class ConstantInit(Closed):
    """One value everywhere."""

    distribution: Literal["constant"] = Field(description="The distribution.")
    value: Annotated[float, Field(ge=-1e6, le=1e6)] = Field(description="The value.")


class UniformInit(Closed):
    """Draws from a uniform distribution around 0, whose end is sqrt(`numerator` / (fan in + fan out)) of the layer."""

    distribution: Literal["uniform"] = Field(description="The distribution.")
    numerator: Positive = Field(description="6 is Glorot and Bengio.")
    per: Literal["fan_sum"] = Field(description="What the numerator is divided by: inputs plus outputs of the layer.")


class Init(Closed):
    """Initial weights, by kind of parameter."""

    convolution_kernel: NormalInit = Field(alias="convolution.kernel", description="Every convolution kernel.")
    head_kernel: NormalInit = Field(alias="head.kernel", description="The kernel of the last layer.")
    head_bias: ConstantInit = Field(alias="head.bias", description="The bias of the last layer.")
    batch_norm_scale: ConstantInit = Field(alias="batch_norm.scale", description="The scale of each batch norm.")
    batch_norm_bias: ConstantInit = Field(alias="batch_norm.bias", description="The bias of each batch norm.")


class DetectorInit(Closed):
    """Initial weights of a detector, by kind of parameter."""

    convolution_kernel: NormalInit = Field(alias="convolution.kernel", description="Every 3x3 kernel but the pyramid's outputs.")
    convolution_bias: ConstantInit = Field(alias="convolution.bias", description="The bias of the proposals' convolution.")
    batch_norm_scale: ConstantInit = Field(alias="batch_norm.scale", description="The scale of each batch norm.")
    batch_norm_bias: ConstantInit = Field(alias="batch_norm.bias", description="The bias of each batch norm.")
    lateral_kernel: NormalInit = Field(alias="lateral.kernel", description="The pyramid's 1x1 kernels.")
    lateral_bias: ConstantInit = Field(alias="lateral.bias", description="Their bias.")
    output_kernel: NormalInit = Field(alias="output.kernel", description="The pyramid's 3x3 kernels.")
    output_bias: ConstantInit = Field(alias="output.bias", description="Their bias.")
    objectness_kernel: NormalInit = Field(alias="objectness.kernel", description="The kernel that scores anchors.")
    objectness_bias: ConstantInit = Field(alias="objectness.bias", description="Its bias.")
    deltas_kernel: NormalInit = Field(alias="deltas.kernel", description="The kernels that move anchors and proposals.")
    deltas_bias: ConstantInit = Field(alias="deltas.bias", description="Their bias.")
    dense_kernel: NormalInit = Field(alias="dense.kernel", description="The first dense layer of the box head.")
    dense_bias: ConstantInit = Field(alias="dense.bias", description="Its bias.")
    classes_kernel: NormalInit = Field(alias="classes.kernel", description="The last layers of classes and of masks.")
    classes_bias: ConstantInit = Field(alias="classes.bias", description="Their bias.")
    up_kernel: NormalInit = Field(alias="up.kernel", description="The transposed convolution.")
    up_bias: ConstantInit = Field(alias="up.bias", description="Its bias.")


class Clipping(Closed):
    """Gradients that are together longer than a threshold are shortened to it (Pascanu et al. 2013, arXiv 1211.5063)."""

    norm: Literal["global"] = Field(description="Of what the norm is taken: of all gradients as one vector.")
    threshold: Positive = Field(description="The longest that gradients may be: gradient * threshold / (norm + epsilon).")
    epsilon: NotNegative = Field(description="Added to the norm: 1e-6 in PyTorch, 0 in optax and Keras.")


CLIPPING = Field(default=None, description="How gradients are shortened; left out: not at all.")


class Rule(Closed):
    """An update rule."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Recipes that do not clip keep the hash under which their references were measured.
        return {key: value for key, value in serialise(self).items() if key != "clipping" or value is not None}


class SgdRule(Rule):
    """SGD with momentum, except for weight decay and learning rate, which are a profile's."""

    name: Literal["sgd"] = Field(description="Which optimizer.")
    momentum: Annotated[float, Field(ge=0, lt=1)] = Field(description="buffer = momentum * buffer + gradient.")
    dampening: Zero = Field(description="How much of the gradient is kept out of the buffer.")
    nesterov: bool = Field(description="Whether the step is gradient + momentum * buffer; else it is the buffer.")
    learning_rate_in_momentum: No = Field(
        description="false: parameter -= learning_rate * buffer. Differs from true once the learning rate changes."
    )
    weight_decay_form: Literal["coupled"] = Field(description="coupled: gradient + weight_decay * parameter, before momentum.")
    weight_decay_on: Literal["all", "matrices"] = Field(description="Which parameters decay: all, or those of two axes or more.")
    clipping: Clipping | None = CLIPPING

    @model_validator(mode="after")
    def _has_a_buffer_to_look_ahead_of(self) -> SgdRule:
        if self.nesterov and not self.momentum:
            raise PydanticCustomError("inconsistent", "found nesterov true beside a momentum of 0. Allowed: false.")
        return self


class AdamWRule(Rule):
    """AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101)."""

    name: Literal["adamw"] = Field(description="Which optimizer.")
    beta_1: Annotated[float, Field(ge=0, lt=1)] = Field(description="m = beta_1 * m + (1 - beta_1) * gradient.")
    beta_2: Annotated[float, Field(ge=0, lt=1)] = Field(description="v = beta_2 * v + (1 - beta_2) * gradient ** 2.")
    epsilon: Positive = Field(description="Added to the root of v; frameworks disagree on the default.")
    epsilon_beside: Literal["corrected", "uncorrected"] = Field(
        description="Which root epsilon is added to: that of v over 1 - beta_2 ** steps, or, as Keras has it, of v itself."
    )
    bias_correction: Yes = Field(description="Whether m and v are divided by 1 - beta ** steps.")
    weight_decay_form: Literal["decoupled"] = Field(
        description="decoupled: parameter -= learning_rate * weight_decay * parameter."
    )
    weight_decay_on: Literal["all", "matrices"] = Field(description="Which parameters decay: all, or those of two axes or more.")
    clipping: Clipping | None = CLIPPING


Optimizers = Annotated[SgdRule | AdamWRule, Field(discriminator="name", description="The update rule.")]


class Exact(Closed):
    """That a published value is to come out digit for digit, where nothing but rounding can differ."""

    seed: Annotated[int, Field(ge=0, lt=2**31)] = Field(description="The seed that it was published for.")
    within: Positive = Field(description="How far off is the same: half of the last printed digit.")
    precisions: Annotated[tuple[Literal["fp32", "fp64"], ...], Field(strict=False, min_length=1)] = Field(
        description="The precisions whose rounding stays within that, measured; others are judged by the band."
    )


class Target(Closed):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    value: Annotated[float, Field(ge=-1e9, le=1e9)] = Field(description="The value, in the recipe's unit and direction.")
    published_as: Text = Field(description="The value as its source words it.")
    source: Text = Field(description="Author, year, title, table.")
    link: Annotated[str, Field(pattern=r"^https?://\S+$")] = Field(description="Where the source can be read.")
    selection: Literal["last", "best"] = Field(description="Which evaluation was published.")
    protocol: Text = Field(description="How the source trained.")
    profile: Name = Field(description="The profile that follows the protocol.")
    metric: Text = Field(description="The metric that was published.")


class Data(Closed):
    """Which images, and how many of them."""

    name: Literal["generated", "textures", "cifar10"] = Field(
        description="generated, textures: embedded and offline. cifar10: the official set."
    )
    n_train: Count = Field(description="How many training images.")
    n_test: Count = Field(description="How many test images.")


class ImportedData(Closed):
    """Which data, by name, and by checksum unless they are here. known: the names that have none."""

    known: ClassVar[tuple[str, ...]]

    name: Name
    checksum: str | None = None

    @model_validator(mode="after")
    def _is_pinned(self) -> ImportedData:
        if (self.name in self.known) != (self.checksum is None):
            raise PydanticCustomError(
                "inconsistent",
                'found name "{name}" {how} a checksum. Allowed: {known} without one, an imported set with the one that the '
                "import printed",
                {"name": self.name, "how": "with" if self.checksum else "without", "known": ", ".join(self.known)},
            )
        return self


class OwnData(ImportedData):
    """Which data, of those here and of those that `vigil data import` makes."""

    checksum: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = Field(
        default=None, description="Of an imported set, as the import prints it: which data the name means."
    )

    @model_serializer(mode="wrap")
    def _without_nothing(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Recipes of sets that have none keep the hash under which their references were measured.
        return {key: value for key, value in serialise(self).items() if key != "checksum" or value is not None}


class LabelledData(OwnData):
    """Which labelled images, and how many of them."""

    known = ("generated", "textures", "cifar10")

    name: Name = Field(
        description="generated, textures: embedded and offline. cifar10: the official set. Others: made by `vigil data import`."
    )
    n_train: Count = Field(description="How many training images, the first ones.")
    n_test: Count = Field(description="How many test images, the first ones.")


class DigitsData(Closed):
    """How many handwritten digits; a test is on the images of training, as published."""

    name: Literal["digits"] = Field(description="digits: in the repository.")
    n_train: Count = Field(description="How many training images, the first ones.")
    n_test: Count = Field(description="How many of them are evaluated, the first ones.")


class TextData(OwnData):
    """Which text, and how much of it."""

    known = (tiny_shakespeare.NAME,)

    name: Name = Field(
        description="tiny_shakespeare: in the repository; nine tenths are trained on. Others: made by `vigil data import`."
    )
    n_train: Count = Field(description="At how many places of the training text an example may begin, the first ones.")
    n_test: Count = Field(description="Into how many examples the test text is cut, the first ones, side by side.")


class InstanceData(ImportedData):
    """Which images with instances, and how many of them."""

    known = (EMBEDDED,)

    name: Name = Field(description="scenes: embedded and offline. Any other: made by `vigil coco import`.")
    checksum: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = Field(
        default=None, description="Of an imported set, as the import prints it: which images and annotations the name means."
    )
    n_train: Count = Field(description="How many training images, the first ones.")
    n_test: Count = Field(description="How many test images, the first ones.")


class PiecewiseRate(Closed):
    """A learning rate that is constant between boundaries."""

    kind: Literal["piecewise"] = Field(description="The form of the schedule.")
    boundaries: Annotated[tuple[Count, ...], Field(strict=False)] = Field(
        description="Numbers of steps done at which the next value takes over."
    )
    values: Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)] = Field(
        description="One value more than there are boundaries."
    )

    def checks(self, steps: int) -> list[Check]:
        """Return what must hold of a schedule for so many steps; locations are the schedule's."""
        return [
            (
                all(before < after for before, after in pairwise((0, *self.boundaries, steps))),
                ("boundaries",),
                f"found {list(self.boundaries)}. Allowed: increasing numbers of steps below steps, {steps}.",
            ),
            (
                len(self.values) == len(self.boundaries) + 1,
                ("values",),
                f"found {len(self.values)} values. Allowed: {len(self.boundaries) + 1}, one more than boundaries.",
            ),
        ]


class CosineRate(Closed):
    """A rate that falls along half a cosine to zero, in stairs (Loshchilov and Hutter 2017, arXiv 1608.03983)."""

    kind: Literal["cosine"] = Field(description="The form of the schedule.")
    base: Positive = Field(description="The rate that it falls from.")
    stairs: Count = Field(
        description="How many values there are: rate k is base * (1 + cos(pi * k / stairs)) / 2, the first k is 1."
    )
    steps_per_stair: Count = Field(description="Steps at each value: those of an epoch, where the rate changes once an epoch.")

    def checks(self, steps: int) -> list[Check]:
        """Return what must hold of a schedule for so many steps; locations are the schedule's."""
        last = self.stairs * self.steps_per_stair
        return [
            (
                steps <= last,
                ("stairs",),
                f"found {self.stairs}. Allowed: so many that stairs * steps_per_stair, {last}, is at least steps, {steps}.",
            )
        ]


class WarmUpCosineRate(Closed):
    """A rate that rises in a line and falls along half a cosine to its least (Loshchilov and Hutter 2017, arXiv 1608.03983)."""

    kind: Literal["warm_up_cosine"] = Field(description="The form of the schedule.")
    base: Positive = Field(description="The rate that it rises to and falls from.")
    least: Positive = Field(description="The rate that it falls to.")
    warm_up_steps: Count = Field(description="Steps of the rise: the rate of step s, from 0 on, is base * (s + 1) / (this + 1).")
    steps: Count = Field(description="The step at which the least is reached.")

    def checks(self, steps: int) -> list[Check]:
        """Return what must hold of a schedule for so many steps; locations are the schedule's."""
        del steps
        return [
            (
                self.least <= self.base,
                ("least",),
                f"found {self.least}. Allowed: at most base, {self.base}.",
            ),
            (
                self.warm_up_steps < self.steps,
                ("warm_up_steps",),
                f"found {self.warm_up_steps}. Allowed: fewer than steps, {self.steps}.",
            ),
        ]


class GivenNormalisation(Closed):
    """How pixels from 0 to 1 are centred and scaled, channel by channel."""

    mean: Annotated[tuple[Share, Share, Share], Field(strict=False)] = Field(description="What is subtracted.")
    deviation: Annotated[tuple[Positive, Positive, Positive], Field(strict=False)] = Field(description="What is divided by.")


class Profile(Closed):
    """How much of a recipe: smoke in seconds, quick in minutes, paper as published."""

    description: Text = Field(description="One line for `vigil recipes`.")
    data: Data | LabelledData | DigitsData | TextData | InstanceData = Field(description="The data set.")
    batch_size: Annotated[int, Field(ge=2, le=10**6)] = Field(description="Images in a global training batch, over all devices.")
    evaluation_batch_size: Count = Field(description="Images in a global evaluation batch; divides n_test.")
    steps: Count = Field(description="Training steps.")
    weight_decay: NotNegative = Field(description="The weight decay.")
    evaluate_every_steps: Count = Field(description="Steps between evaluations; the last step is always evaluated.")
    checkpoint_every_steps: Count = Field(description="Steps between checkpoints.")
    learning_rate: PiecewiseRate | CosineRate | WarmUpCosineRate = Field(
        description="The learning rate by step.", discriminator="kind"
    )

    def checks(self) -> list[Check]:
        """Return what must hold of sizes, of how often things are done, and of the learning rate; locations are the profile's."""
        data, steps = self.data, self.steps
        most_train, most_test = LARGEST_SIZES.get(data.name, (data.n_train, data.n_test))
        return [
            (data.n_train <= most_train, ("data", "n_train"), f"found {data.n_train}. Allowed: at most {most_train}."),
            (data.n_test <= most_test, ("data", "n_test"), f"found {data.n_test}. Allowed: at most {most_test}."),
            (
                self.batch_size <= data.n_train,
                ("batch_size",),
                f"found {self.batch_size}. Allowed: at most data.n_train, {data.n_train}.",
            ),
            (
                data.n_test % self.evaluation_batch_size == 0,
                ("evaluation_batch_size",),
                f"found {self.evaluation_batch_size}. Allowed: a divisor of data.n_test, {data.n_test}, so that every "
                "evaluation batch has one shape.",
            ),
            (
                self.evaluate_every_steps <= steps,
                ("evaluate_every_steps",),
                f"found {self.evaluate_every_steps}. Allowed: at most steps, {steps}.",
            ),
            (
                self.checkpoint_every_steps <= steps,
                ("checkpoint_every_steps",),
                f"found {self.checkpoint_every_steps}. Allowed: at most steps, {steps}.",
            ),
            *((holds, ("learning_rate", *location), text) for holds, location, text in self.learning_rate.checks(steps)),
        ]


def image_shape_check(image_shape: tuple[int, int, int]) -> Check:
    """Return the check that a model takes the images that the labelled data sets have; its location is the recipe's."""
    return (
        image_shape == DATA_IMAGE_SHAPE,
        ("model", "image_shape"),
        f"found {list(image_shape)}. Allowed: {list(DATA_IMAGE_SHAPE)}, the images of every data set here.",
    )

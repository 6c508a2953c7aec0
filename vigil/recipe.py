"""What a recipe may say: the closed schema, its cross-checks, profiles and the hash of what is trained.

Every number on which frameworks disagree has a key and no default. Where Vigil has one convention, as for momentum, the
key admits that one value: it is written out for the reader, and a recipe that needs another is refused, not bent.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from vigil.errors import RecipeError, UsageError, nearest
from vigil.paths import project_root
from vigil.recipe_checks import inconsistencies
from vigil.recipe_file import explain, read_document

DEFAULT_PROFILE = "quick"
NOT_HASHED = ("checkpoint_every_steps",)  # a checkpoint copies the state and cannot move a number


def _refuse_true(value: bool) -> bool:
    if value:
        raise PydanticCustomError("literal_error", "only false")
    return value


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0)]
Zero = Annotated[float, Field(ge=0, le=0)]
# Not Literal[False], which takes a 0 for it.
No = Annotated[bool, AfterValidator(_refuse_true), WithJsonSchema({"const": False, "type": "boolean"})]
# YAML has lists only; strictness about list against tuple would refuse every one of them.
NaturalPair = Annotated[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]], Field(strict=False)]


class Closed(BaseModel):
    """A block that refuses unknown keys, text for numbers, and change."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Metric(Closed):
    """The number that is judged."""

    name: Literal["test_accuracy"] = Field(description="Which metric of an evaluation is judged.")
    unit: Literal["percent"] = Field(description="The unit of the metric.")
    direction: Literal["higher"] = Field(description="Which direction is better; a band is two-sided all the same.")
    selection: Literal["last"] = Field(description="Which evaluation counts: the last, never the best on the test set.")


class Convolution(Closed):
    """The 3x3 convolutions of the stem and of the blocks."""

    kernel: Annotated[tuple[Count, Count], Field(strict=False)] = Field(description="Height and width of the kernel.")
    padding: Annotated[tuple[NaturalPair, NaturalPair], Field(strict=False)] = Field(
        description="Zeros before and after, for height and for width: numbers, since `same` differs with a stride."
    )
    bias: No = Field(description="Whether convolutions have a bias; batch norm follows each of them.")


class Shortcut(Closed):
    """The identity shortcut where a stage changes the shape."""

    kind: Literal["option_a"] = Field(description="Every second row and column, and channels padded with zeros.")
    channel_padding: Literal["both_sides"] = Field(description="Half of the zero channels before, half after.")


class BatchNorm(Closed):
    """Batch normalisation, with the conventions on which frameworks differ."""

    epsilon: Positive = Field(description="Added to the variance before the square root.")
    momentum: Annotated[float, Field(gt=0, le=1)] = Field(
        description="running = (1 - momentum) * running + momentum * batch; Keras and Flax call 1 - momentum momentum."
    )
    running_variance: Literal["unbiased"] = Field(description="The batch variance that is accumulated: n / (n - 1).")
    across_devices: Literal["sync", "per_device"] = Field(
        description="sync: statistics of the global batch. per_device: each shard its own, averaged for evaluation."
    )


class NormalInit(Closed):
    """Draws from a normal distribution with variance `variance` / fan-in."""

    distribution: Literal["normal"] = Field(description="The distribution.")
    mean: Zero = Field(description="Its mean.")
    variance: Positive = Field(description="Its variance times the fan-in: 2 is He et al.")
    per: Literal["fan_in"] = Field(description="What the variance is divided by.")


class ConstantInit(Closed):
    """One value everywhere."""

    distribution: Literal["constant"] = Field(description="The distribution.")
    value: float = Field(description="The value.")


class Init(Closed):
    """Initial weights, by kind of parameter."""

    convolution_kernel: NormalInit = Field(alias="convolution.kernel", description="Every convolution kernel.")
    head_kernel: NormalInit = Field(alias="head.kernel", description="The kernel of the classifier.")
    head_bias: ConstantInit = Field(alias="head.bias", description="The bias of the classifier.")
    batch_norm_scale: ConstantInit = Field(alias="batch_norm.scale", description="The scale of each batch norm.")
    batch_norm_bias: ConstantInit = Field(alias="batch_norm.bias", description="The bias of each batch norm.")


class Model(Closed):
    """The network, except for its depth, which is a profile's."""

    name: Literal["resnet_cifar"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    image_shape: Annotated[tuple[Count, Count, Count], Field(strict=False)] = Field(
        description="Height, width and channels of an image."
    )
    n_classes: Annotated[int, Field(ge=2)] = Field(description="How many classes there are.")
    widths: Annotated[tuple[Count, Count, Count], Field(strict=False)] = Field(description="Channels of each stage.")
    convolution: Convolution = Field(description="The convolutions.")
    shortcut: Shortcut = Field(description="The shortcuts.")
    batch_norm: BatchNorm = Field(description="Batch normalisation.")
    init: Init = Field(description="Initial weights.")


class Loss(Closed):
    """What is minimised."""

    name: Literal["softmax_cross_entropy"] = Field(description="Which loss.")
    reduction: Literal["mean"] = Field(description="The mean over the global batch, whatever the shards.")
    label_smoothing: Zero = Field(description="How much of the label is spread over all classes.")


class Normalisation(Closed):
    """How pixels are centred and scaled, by statistics of the training set."""

    mean: Literal["per_pixel"] = Field(description="The mean that is subtracted.")
    deviation: Literal["per_channel"] = Field(description="The standard deviation that is divided by.")


class Augmentation(Closed):
    """Random crops and flips of training images."""

    padding: Annotated[int, Field(ge=0)] = Field(description="Pixels added on each side before the crop; 0 for none.")
    padding_value: Literal["mean"] = Field(description="What is added: the mean image's value, 0 after normalisation.")
    crop: Count = Field(description="Side of the random crop, in pixels: that of the image.")
    flip_probability: Annotated[float, Field(ge=0, le=1)] = Field(description="How often an image is mirrored.")


class Input(Closed):
    """From stored images to a training batch."""

    normalisation: Normalisation = Field(description="Centring and scaling.")
    augmentation: Augmentation = Field(description="Random crops and flips.")
    shuffle: Literal["every_epoch"] = Field(description="When the order of the images is drawn anew.")
    last_batch: Literal["drop"] = Field(description="What becomes of an epoch's last batch if it is not full.")


class Optimizer(Closed):
    """The update rule, except for weight decay and learning rate, which are a profile's."""

    name: Literal["sgd"] = Field(description="Which optimizer.")
    momentum: Annotated[float, Field(ge=0, lt=1)] = Field(description="buffer = momentum * buffer + gradient.")
    dampening: Zero = Field(description="How much of the gradient is kept out of the buffer.")
    nesterov: No = Field(description="Whether the gradient is taken after the momentum step.")
    learning_rate_in_momentum: No = Field(
        description="false: parameter -= learning_rate * buffer. Differs from true once the learning rate changes."
    )
    weight_decay_form: Literal["coupled"] = Field(description="coupled: gradient + weight_decay * parameter, before momentum.")
    weight_decay_on: Literal["all"] = Field(description="Which parameters decay.")


class Target(Closed):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["test_accuracy"] = Field(description="The metric that was published.")
    value: float = Field(description="The published value, in the recipe's unit and direction.")
    published_as: Text = Field(description="The value as its source words it.")
    source: Text = Field(description="Author, year, title, table.")
    link: Annotated[str, Field(pattern=r"^https?://\S+$")] = Field(description="Where the source can be read.")
    selection: Literal["last", "best"] = Field(description="Which evaluation was published.")
    protocol: Text = Field(description="How the source trained.")
    profile: Name = Field(description="The profile that follows the protocol.")


class Data(Closed):
    """Which images, and how many of them."""

    name: Literal["generated", "cifar10"] = Field(description="generated: embedded and offline. cifar10: the official set.")
    n_train: Count = Field(description="How many training images.")
    n_test: Count = Field(description="How many test images.")


class LearningRate(Closed):
    """A learning rate that is constant between boundaries."""

    kind: Literal["piecewise"] = Field(description="The form of the schedule.")
    boundaries: Annotated[tuple[Count, ...], Field(strict=False)] = Field(
        description="Numbers of steps done at which the next value takes over."
    )
    values: Annotated[tuple[Positive, ...], Field(strict=False, min_length=1)] = Field(
        description="One value more than there are boundaries."
    )


class Profile(Closed):
    """How much of the recipe: smoke in seconds, quick in minutes, paper as published."""

    description: Text = Field(description="One line for `vigil recipes`.")
    depth: Count = Field(description="Layers: 6n + 2.")
    data: Data = Field(description="The data set.")
    batch_size: Annotated[int, Field(ge=2)] = Field(description="Images in a global training batch, over all devices.")
    evaluation_batch_size: Count = Field(description="Images in a global evaluation batch; divides n_test.")
    steps: Count = Field(description="Training steps.")
    learning_rate: LearningRate = Field(description="The learning rate by step.")
    weight_decay: Annotated[float, Field(ge=0)] = Field(description="The weight decay.")
    evaluate_every_steps: Count = Field(description="Steps between evaluations; the last step is always evaluated.")
    checkpoint_every_steps: Count = Field(description="Steps between checkpoints.")


class Recipe(Closed):
    """What is trained, what was published of it, and how much of it each profile does."""

    name: Name = Field(description="The name in commands, tables and file names.")
    version: Count = Field(description="Raised when a number can move; results of two versions are not compared.")
    description: Text = Field(description="One line for `vigil recipes`.")
    metric: Metric = Field(description="The number that is judged.")
    model: Model = Field(description="The network.")
    loss: Loss = Field(description="What is minimised.")
    input: Input = Field(description="From stored images to a batch.")
    optimizer: Optimizer = Field(description="The update rule.")
    targets: list[Target] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, Profile] = Field(
        min_length=1,
        description="smoke, quick (the default), paper, or others.",
        json_schema_extra={"additionalProperties": False},
    )

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

    def resolve(self, profile_name: str = DEFAULT_PROFILE) -> dict[str, object]:
        """Return all that is trained under a profile, as nested JSON values with nothing left to a default."""
        profile = self.profile(profile_name).model_dump(mode="json", exclude={"description"})
        shared = self.model_dump(mode="json", by_alias=True, include={"metric", "model", "loss", "input", "optimizer"})
        shared["model"]["depth"] = profile.pop("depth")
        shared["optimizer"]["weight_decay"] = profile.pop("weight_decay")
        return {**shared, **profile}


def recipe_hash(resolved: dict[str, object]) -> str:
    """Return 12 hexadecimal digits of the SHA-256 of what is trained, whatever its key order and checkpoint cadence."""
    hashed = {key: value for key, value in resolved.items() if key not in NOT_HASHED}
    canonical = json.dumps(hashed, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def recipe_json_schema() -> dict[str, object]:
    """Return the JSON Schema of a recipe, for editors. The checks across keys are `vigil check`'s alone."""
    schema = Recipe.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Vigil recipe"}


def recipe_schema_text() -> str:
    """Return recipes/recipe.schema.json as it is committed."""
    return json.dumps(recipe_json_schema(), indent=2) + "\n"


def recipe_names() -> list[str]:
    """Return the names of the recipes in recipes/."""
    return sorted(path.stem for path in (project_root() / "recipes").glob("*.yaml"))


def load_recipe(name_or_path: str) -> Recipe:
    """Return a recipe by its name in recipes/, or from a file anywhere (a name with a separator, or ending in .yaml).

    Raises:
        UsageError: There is no such recipe.
        RecipeError: The file is broken; one line for each mistake.
    """
    shown_name, path = _recipe_path(name_or_path)
    try:
        content = path.read_bytes()
    except OSError as error:
        names = ", ".join(recipe_names())
        raise UsageError(f"{shown_name}: cannot be read ({error.strerror}). Allowed: a file, or {names}.") from error
    document = read_document(content, shown_name)
    try:
        return Recipe.model_validate(document.content, by_alias=True)
    except ValidationError as error:
        raise RecipeError(explain(document, error.errors(), recipe_json_schema())) from error


def _recipe_path(name_or_path: str) -> tuple[str, Path]:
    if name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path or "\\" in name_or_path:
        return name_or_path, Path(name_or_path).expanduser()
    names = recipe_names()
    if name_or_path not in names:
        found = repr(name_or_path) if name_or_path else "nothing"
        raise UsageError(
            f"recipe: found {found}. Allowed: {', '.join(names)}, or the path of a .yaml file.{nearest(name_or_path, names)}"
        )
    return f"recipes/{name_or_path}.yaml", project_root() / "recipes" / f"{name_or_path}.yaml"

"""A language model's recipe: model, loss, input, metric and profiles."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from runners.contract.data import tiny_shakespeare
from runners.contract.kinds import language
from vigil.recipes.blocks import (
    AdamWRule,
    Check,
    Closed,
    ConstantInit,
    CrossEntropy,
    DeviationInit,
    LossMetric,
    Name,
    No,
    Positive,
    Profile,
    Size,
    Target,
    TextData,
    Yes,
)
from vigil.recipes.recipe import Recipe, profiles_field


class GptInit(Closed):
    """Initial weights, by kind of parameter."""

    embedding: DeviationInit = Field(description="The embeddings of tokens and of positions.")
    dense_kernel: DeviationInit = Field(alias="dense.kernel", description="Every kernel that does not end at a shortcut.")
    projection_kernel: DeviationInit = Field(alias="projection.kernel", description="The kernels that end at a shortcut.")
    layer_norm_scale: ConstantInit = Field(alias="layer_norm.scale", description="The scale of each layer norm.")


class LayerNormBlock(Closed):
    """Layer normalisation (Ba et al. 2016, arXiv 1607.06450)."""

    epsilon: Positive = Field(description="Added to the variance before the square root.")
    place: Literal["before"] = Field(description="Where: before attention and perceptron, and after the last block.")


class CharGptModel(Closed):
    """The network, except for its dropout, which is a profile's."""

    name: Literal["char_gpt"] = Field(description="Which model: runners/<framework>/models/<name>.py.")
    vocabulary: Annotated[int, Field(ge=2)] = Field(description="How many tokens there are.")
    block: Annotated[int, Field(ge=2)] = Field(description="Tokens of an example: how far back the model sees.")
    width: Size = Field(description="Numbers that each token is embedded in.")
    layers: Size = Field(description="How many blocks of attention and perceptron there are.")
    heads: Size = Field(description="Heads of an attention, a divisor of width.")
    hidden: Size = Field(description="Units of a perceptron's hidden layer.")
    bias: No = Field(description="Whether dense layers and norms have a bias.")
    activation: Literal["gelu"] = Field(description="Of the hidden layer: x times the normal distribution function of x.")
    tied_embeddings: Yes = Field(description="Whether the last layer's kernel is the embedding of tokens.")
    layer_norm: LayerNormBlock = Field(description="Layer normalisation.")
    init: GptInit = Field(description="Initial weights.")


class TextInput(Closed):
    """From a text to a training batch."""

    shuffle: Literal["with_replacement"] = Field(description="How it is drawn where examples begin.")


class ValidationLossMetric(LossMetric):
    """The number that is judged."""

    name: Literal["val_loss"] = Field(description="The mean loss over the validation text's tokens.")


class LanguageTarget(Target):
    """A published value; shown beside a measured one, and judged only under the profile of its protocol."""

    metric: Literal["val_loss"] = Field(description="The metric that was published.")
    standard_error: Positive | None = Field(
        default=None, description="Of a published value that is of a sample of the text: `python -m benchmarks.small_tests`."
    )


class LanguageProfile(Profile):
    """How much of the recipe."""

    data: TextData = Field(description="The data set.")
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(
        description="How much is dropped of embeddings, of attention and of what both layers of a block add."
    )


class LanguageRecipe(Recipe):
    """A language model."""

    metric: ValidationLossMetric = Field(description="The number that is judged.")
    model: CharGptModel = Field(description="The network.")
    loss: CrossEntropy = Field(description="What is minimised.")
    input: TextInput = Field(description="From a text to a batch.")
    optimizer: AdamWRule = Field(description="The update rule.")
    targets: list[LanguageTarget] = Field(description="Published values; an empty list if there are none.")
    profiles: dict[Name, LanguageProfile] = profiles_field("smoke, quick (the default), or others.")

    def place(self, profile: dict[str, Any], shared: dict[str, Any]) -> None:
        shared["model"]["dropout"] = profile.pop("dropout")

    def checks(self) -> list[Check]:
        model = self.model
        # An imported text is held to the model when it is read.
        here = {name: profile.data for name, profile in self.profiles.items() if not profile.data.checksum}
        return [
            (
                model.vocabulary == tiny_shakespeare.VOCABULARY or not here,
                ("model", "vocabulary"),
                f"found {model.vocabulary}. Allowed: {tiny_shakespeare.VOCABULARY}, the characters of tiny_shakespeare.",
            ),
            (
                model.width % model.heads == 0,
                ("model", "heads"),
                f"found {model.heads}. Allowed: a divisor of width, {model.width}.",
            ),
            *(check for name, data in here.items() for check in self._size_checks(name, data)),
        ]

    def _size_checks(self, profile: str, data: TextData) -> list[Check]:
        """Return the checks that the text holds as many stretches of a block's length as a profile asks for."""
        places = language.places(tiny_shakespeare.TRAINED, self.model.block)
        stretches = language.stretches(tiny_shakespeare.COUNT - tiny_shakespeare.TRAINED, self.model.block)
        return [
            (found <= most, ("profiles", profile, "data", name), f"found {found}. Allowed: at most {most}.")
            for name, found, most in (("n_train", data.n_train, places), ("n_test", data.n_test, stretches))
        ]

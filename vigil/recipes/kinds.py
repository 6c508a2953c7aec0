"""The one table of recipes' schemas: the name of a recipe's model -> what such a recipe may say."""

from __future__ import annotations

from vigil.recipes.classifier import ClassifierRecipe
from vigil.recipes.contrastive import ContrastiveRecipe
from vigil.recipes.detector import DetectorRecipe
from vigil.recipes.language import LanguageRecipe
from vigil.recipes.perceptron import PerceptronRecipe
from vigil.recipes.recipe import Recipe

RECIPES: dict[str, type[Recipe]] = {
    "resnet_cifar": ClassifierRecipe,
    "moco_lite": ContrastiveRecipe,
    "tiny_mask_rcnn": DetectorRecipe,
    "digits_mlp": PerceptronRecipe,
    "char_gpt": LanguageRecipe,
}

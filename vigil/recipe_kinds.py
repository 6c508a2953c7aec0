"""The kinds of recipe, one for each kind of training, by the name of the model."""

from __future__ import annotations

from vigil.recipe_classification import ClassificationRecipe
from vigil.recipe_contrast import ContrastRecipe
from vigil.recipe_detection import DetectionRecipe

RECIPES = {"resnet_cifar": ClassificationRecipe, "moco_lite": ContrastRecipe, "tiny_mask_rcnn": DetectionRecipe}

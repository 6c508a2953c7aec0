"""The kinds of recipe, one for each kind of training, by the name of the model."""

from __future__ import annotations

from vigil.recipes.classification import ClassificationRecipe
from vigil.recipes.contrast import ContrastRecipe
from vigil.recipes.detection import DetectionRecipe

RECIPES = {"resnet_cifar": ClassificationRecipe, "moco_lite": ContrastRecipe, "tiny_mask_rcnn": DetectionRecipe}

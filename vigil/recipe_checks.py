"""What must hold between the keys of a recipe, each of them allowed by itself.

A list of conditions in three groups: the model, the published targets, and each profile. Pure functions of a recipe.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from vigil.errors import nearest
from vigil.recipe_file import Location

if TYPE_CHECKING:
    from vigil.recipe import Profile, Recipe

Problem = tuple[Location, str]

LARGEST_SIZES = {"cifar10": (50000, 10000)}
DATA_IMAGE_SHAPE = (32, 32, 3)
DATA_CLASSES = 10


def inconsistencies(recipe: Recipe) -> list[Problem]:
    """Return every location whose value contradicts another, with what was found there and what is allowed."""
    problems = _model_problems(recipe) + _target_problems(recipe)
    for name, profile in recipe.profiles.items():
        problems += [(("profiles", name, *location), text) for location, text in _profile_problems(profile)]
    return problems


def _model_problems(recipe: Recipe) -> list[Problem]:
    model, augmentation = recipe.model, recipe.input.augmentation
    padding, kernel = model.convolution.padding, model.convolution.kernel
    side = model.image_shape[0]
    checks = [
        (
            model.image_shape == DATA_IMAGE_SHAPE,
            ("model", "image_shape"),
            f"found {list(model.image_shape)}. Allowed: {list(DATA_IMAGE_SHAPE)}, the images of every data set here.",
        ),
        (
            model.n_classes >= DATA_CLASSES,
            ("model", "n_classes"),
            f"found {model.n_classes}. Allowed: {DATA_CLASSES} or more; every data set here has {DATA_CLASSES}.",
        ),
        (
            all(after >= before and (after - before) % 2 == 0 for before, after in pairwise(model.widths)),
            ("model", "widths"),
            f"found {list(model.widths)}. Allowed: each stage as wide as the one before or an even number wider, since "
            "option A pads half of the channels before and half after.",
        ),
        (
            [sum(pad) for pad in padding] == [size - 1 for size in kernel],
            ("model", "convolution", "padding"),
            f"found {[list(pad) for pad in padding]}. Allowed: kernel - 1 in total for each dimension, so that a "
            f"stride of 1 keeps the size (kernel {list(kernel)}).",
        ),
        (
            augmentation.crop == side,
            ("input", "augmentation", "crop"),
            f"found {augmentation.crop}. Allowed: {side}, the side of model.image_shape.",
        ),
        (
            augmentation.padding <= side,
            ("input", "augmentation", "padding"),
            f"found {augmentation.padding}. Allowed: at most {side}, the side of model.image_shape.",
        ),
    ]
    return [(location, message) for holds, location, message in checks if not holds]


def _target_problems(recipe: Recipe) -> list[Problem]:
    return [
        (
            ("targets", index, "profile"),
            f'found "{target.profile}". Allowed: a profile of this recipe, {" or ".join(recipe.profiles)}.'
            f"{nearest(target.profile, recipe.profiles)}",
        )
        for index, target in enumerate(recipe.targets)
        if target.profile not in recipe.profiles
    ]


def _profile_problems(profile: Profile) -> list[Problem]:
    data, schedule = profile.data, profile.learning_rate
    boundaries, steps = schedule.boundaries, profile.steps
    most_train, most_test = LARGEST_SIZES.get(data.name, (data.n_train, data.n_test))
    checks = [
        (
            profile.depth >= 8 and (profile.depth - 2) % 6 == 0,
            ("depth",),
            f"found {profile.depth}. Allowed: 6n + 2 layers, as in 8, 14, 20.",
        ),
        (data.n_train <= most_train, ("data", "n_train"), f"found {data.n_train}. Allowed: at most {most_train}."),
        (data.n_test <= most_test, ("data", "n_test"), f"found {data.n_test}. Allowed: at most {most_test}."),
        (
            profile.batch_size <= data.n_train,
            ("batch_size",),
            f"found {profile.batch_size}. Allowed: at most data.n_train, {data.n_train}.",
        ),
        (
            data.n_test % profile.evaluation_batch_size == 0,
            ("evaluation_batch_size",),
            f"found {profile.evaluation_batch_size}. Allowed: a divisor of data.n_test, {data.n_test}, so that every "
            "evaluation batch has one shape.",
        ),
        (
            all(before < after for before, after in pairwise((0, *boundaries, steps))),
            ("learning_rate", "boundaries"),
            f"found {list(boundaries)}. Allowed: increasing numbers of steps below steps, {steps}.",
        ),
        (
            len(schedule.values) == len(boundaries) + 1,
            ("learning_rate", "values"),
            f"found {len(schedule.values)} values. Allowed: {len(boundaries) + 1}, one more than boundaries.",
        ),
        (
            profile.evaluate_every_steps <= steps,
            ("evaluate_every_steps",),
            f"found {profile.evaluate_every_steps}. Allowed: at most steps, {steps}.",
        ),
        (
            profile.checkpoint_every_steps <= steps,
            ("checkpoint_every_steps",),
            f"found {profile.checkpoint_every_steps}. Allowed: at most steps, {steps}.",
        ),
    ]
    return [(location, message) for holds, location, message in checks if not holds]

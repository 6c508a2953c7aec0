"""What must hold between the keys of a recipe, each of them allowed by itself.

Lists of conditions: of every model and of each kind of it, of the published targets, and of each profile. Pure functions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from runners.contract import generated, scenes
from runners.contract.instances import EMBEDDED
from vigil.errors import nearest
from vigil.recipes.file import Location

if TYPE_CHECKING:
    from vigil.recipes.base import Recipe
    from vigil.recipes.blocks import Profile
    from vigil.recipes.classification import ClassificationRecipe
    from vigil.recipes.contrast import ContrastRecipe
    from vigil.recipes.detection import DetectionRecipe

Problem = tuple[Location, str]
Check = tuple[bool, Location, str]

LARGEST_SIZES = {
    "cifar10": (50000, 10000),
    "generated": (generated.MAXIMUM["train"], generated.MAXIMUM["test"]),
    "textures": (generated.MAXIMUM["train"], generated.MAXIMUM["test"]),  # made in the same chunks
    "scenes": (scenes.MAXIMUM["train"], scenes.MAXIMUM["test"]),
}
DATA_IMAGE_SHAPE = (32, 32, 3)
DATA_CLASSES = 10


def inconsistencies(recipe: Recipe) -> list[Problem]:
    """Return every location whose value contradicts another, with what was found there and what is allowed."""
    of_kind, of_profile = _OF_KIND[recipe.model.name]
    problems = _false([*_model_checks(recipe), *of_kind(recipe)]) + _target_problems(recipe)
    for name, profile in recipe.profiles.items():
        found = _false([*_profile_checks(profile), *_schedule_checks(profile), *of_profile(profile)])
        problems += [(("profiles", name, *location), text) for location, text in found]
    return problems


def _false(checks: list[Check]) -> list[Problem]:
    return [(location, message) for holds, location, message in checks if not holds]


def _model_checks(recipe: Recipe) -> list[Check]:
    model = recipe.model
    padding, kernel = model.convolution.padding, model.convolution.kernel
    return [
        (
            [sum(pad) for pad in padding] == [size - 1 for size in kernel],
            ("model", "convolution", "padding"),
            f"found {[list(pad) for pad in padding]}. Allowed: kernel - 1 in total for each dimension, so that a "
            f"stride of 1 keeps the size (kernel {list(kernel)}).",
        ),
    ]


def _shape_check(model) -> Check:
    return (
        model.image_shape == DATA_IMAGE_SHAPE,
        ("model", "image_shape"),
        f"found {list(model.image_shape)}. Allowed: {list(DATA_IMAGE_SHAPE)}, the images of every data set here.",
    )


def _classification_checks(recipe: ClassificationRecipe) -> list[Check]:
    model, augmentation = recipe.model, recipe.input.augmentation
    side = model.image_shape[0]
    return [
        _shape_check(model),
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


def _contrast_checks(recipe: ContrastRecipe) -> list[Check]:
    crop = recipe.input.augmentation.crop
    return [
        _shape_check(recipe.model),
        (
            crop.ratio[0] <= crop.ratio[1],
            ("input", "augmentation", "crop", "ratio"),
            f"found {list(crop.ratio)}. Allowed: the smaller first.",
        ),
    ]


def _detection_checks(recipe: DetectionRecipe) -> list[Check]:
    model = recipe.model
    height, width, channels = model.image_shape
    n_anchors = sum((height // stride) * (width // stride) for stride in model.strides) * len(model.anchors.ratios)
    checks = [
        (
            height == width and height % model.strides[-1] == 0 and channels == 3,
            ("model", "image_shape"),
            f"found {list(model.image_shape)}. Allowed: a square of a multiple of {model.strides[-1]} pixels, with 3 channels.",
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
    for name, profile in recipe.profiles.items():
        if profile.data.name == EMBEDDED:
            checks += [
                (
                    height == scenes.SIDE,
                    ("model", "image_shape"),
                    f"found {list(model.image_shape)}. Allowed: [{scenes.SIDE}, {scenes.SIDE}, 3], the scenes of profile {name}.",
                ),
                (
                    model.n_classes == len(scenes.CLASSES),
                    ("model", "n_classes"),
                    f"found {model.n_classes}. Allowed: {len(scenes.CLASSES)}, those of the scenes of profile {name}.",
                ),
            ]
    return checks


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


def _profile_checks(profile: Profile) -> list[Check]:
    data, steps = profile.data, profile.steps
    most_train, most_test = LARGEST_SIZES.get(data.name, (data.n_train, data.n_test))
    return [
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


def _schedule_checks(profile: Profile) -> list[Check]:
    schedule, steps = profile.learning_rate, profile.steps
    if schedule.kind == "cosine":
        last = schedule.stairs * schedule.steps_per_stair
        return [
            (
                steps <= last,
                ("learning_rate", "stairs"),
                f"found {schedule.stairs}. Allowed: so many that stairs * steps_per_stair, {last}, is at least steps, {steps}.",
            )
        ]
    boundaries = schedule.boundaries
    return [
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
    ]


def _classification_profile_checks(profile) -> list[Check]:
    return [
        (
            profile.depth >= 8 and (profile.depth - 2) % 6 == 0,
            ("depth",),
            f"found {profile.depth}. Allowed: 6n + 2 layers, as in 8, 14, 20.",
        )
    ]


def _contrast_profile_checks(profile) -> list[Check]:
    return [
        (
            len(profile.blocks) == len(profile.widths),
            ("blocks",),
            f"found {len(profile.blocks)} stages. Allowed: {len(profile.widths)}, as many as widths.",
        ),
        (
            profile.batch_size % profile.rows == 0,
            ("rows",),
            f"found {profile.rows}. Allowed: a divisor of batch_size, {profile.batch_size}.",
        ),
        (
            profile.crop_area[0] <= profile.crop_area[1] <= 1,
            ("crop_area",),
            f"found {list(profile.crop_area)}. Allowed: the smaller first, at most 1.",
        ),
        (
            profile.queue >= profile.batch_size,
            ("queue",),
            f"found {profile.queue}. Allowed: batch_size, {profile.batch_size}, or more.",
        ),
        (
            profile.evaluation.k <= profile.data.n_train,
            ("evaluation", "k"),
            f"found {profile.evaluation.k}. Allowed: at most data.n_train, {profile.data.n_train}.",
        ),
    ]


def _no_checks(profile) -> list[Check]:
    return []


_OF_KIND = {
    "resnet_cifar": (_classification_checks, _classification_profile_checks),
    "moco_lite": (_contrast_checks, _contrast_profile_checks),
    "tiny_mask_rcnn": (_detection_checks, _no_checks),
}

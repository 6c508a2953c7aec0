"""What must hold between the keys of any recipe, each of them allowed by itself; a kind adds its own.

A check is whether it holds, where in the recipe, and what to say if it does not. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from runners.contract.data import generated, scenes
from vigil.errors import nearest
from vigil.recipes.blocks import Convolution, Profile, Target
from vigil.recipes.file import Location

Problem = tuple[Location, str]
Check = tuple[bool, Location, str]

LARGEST_SIZES = {
    "cifar10": (50000, 10000),
    "generated": (generated.MAXIMUM["train"], generated.MAXIMUM["test"]),
    "textures": (generated.MAXIMUM["train"], generated.MAXIMUM["test"]),  # made in the same chunks
    "scenes": (scenes.MAXIMUM["train"], scenes.MAXIMUM["test"]),
}
DATA_IMAGE_SHAPE = (32, 32, 3)


def broken(checks: Iterable[Check]) -> list[Problem]:
    """Return the checks that do not hold."""
    return [(location, message) for holds, location, message in checks if not holds]


def convolution_check(convolution: Convolution) -> Check:
    """Return the check that a stride of 1 keeps the size."""
    padding, kernel = convolution.padding, convolution.kernel
    return (
        [sum(pad) for pad in padding] == [size - 1 for size in kernel],
        ("model", "convolution", "padding"),
        f"found {[list(pad) for pad in padding]}. Allowed: kernel - 1 in total for each dimension, so that a "
        f"stride of 1 keeps the size (kernel {list(kernel)}).",
    )


def image_shape_check(image_shape: tuple[int, int, int]) -> Check:
    """Return the check that a model takes the images that the labelled data sets have."""
    return (
        image_shape == DATA_IMAGE_SHAPE,
        ("model", "image_shape"),
        f"found {list(image_shape)}. Allowed: {list(DATA_IMAGE_SHAPE)}, the images of every data set here.",
    )


def target_checks(targets: Sequence[Target], profiles: Collection[str]) -> list[Check]:
    """Return the checks that published values belong to profiles that there are."""
    return [
        (
            target.profile in profiles,
            ("targets", index, "profile"),
            f'found "{target.profile}". Allowed: a profile of this recipe, {" or ".join(profiles)}.'
            f"{nearest(target.profile, profiles)}",
        )
        for index, target in enumerate(targets)
    ]


def profile_checks(profile: Profile) -> list[Check]:
    """Return the checks of sizes, of how often things are done, and of the learning rate; locations are the profile's."""
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
        *_schedule_checks(profile),
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

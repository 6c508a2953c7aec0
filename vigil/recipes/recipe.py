"""A recipe: its head, its blocks, its profiles by name, and what must hold between them, whatever its kind."""

from __future__ import annotations

import shlex
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from vigil.errors import UsageError, nearest
from vigil.recipes.blocks import Check, Closed, Count, JudgedMetric, Name, Problem, Profile, Target, Text, broken

DEFAULT_PROFILE = "quick"


class Recipe(Closed):
    """What is trained, what was published of it, and how much of it each profile does."""

    name: Name = Field(description="The name in commands, tables and file names.")
    version: Count = Field(description="Raised when a number can move; results of two versions are not compared.")
    description: Text = Field(description="One line for `vigil recipes`.")
    metric: JudgedMetric
    model: Closed
    loss: Closed
    input: Closed
    optimizer: Closed
    targets: Sequence[Target]
    profiles: Mapping[str, Profile]
    _source: str | None = PrivateAttr(default=None)

    @property
    def source(self) -> str | None:
        """The path of a user's own recipe file, as it was given; None for one in recipes/."""
        return self._source

    @property
    def as_asked(self) -> str:
        """What names the recipe in a command."""
        return in_command(self.name, self._source)

    @model_validator(mode="after")
    def _check_across_keys(self) -> Recipe:
        errors = [
            InitErrorDetails(type=PydanticCustomError("inconsistent", "{text}", {"text": text}), loc=location, input=None)
            for location, text in self._problems()
        ]
        if errors:
            raise ValidationError.from_exception_data("Recipe", errors)
        return self

    def _problems(self) -> list[Problem]:
        problems = broken([*self.checks(), *self._target_checks()])
        for name, profile in self.profiles.items():
            problems += [(("profiles", name, *location), text) for location, text in broken(profile.checks())]
        return problems

    def _target_checks(self) -> list[Check]:
        """Return the checks that published values belong to profiles that there are."""
        return [
            (
                target.profile in self.profiles,
                ("targets", index, "profile"),
                f'found "{target.profile}". Allowed: a profile of this recipe, {" or ".join(self.profiles)}.'
                f"{nearest(target.profile, self.profiles)}",
            )
            for index, target in enumerate(self.targets)
        ]

    def profile(self, name: str = DEFAULT_PROFILE) -> Profile:
        """Return a profile by name.

        Raises:
            UsageError: This recipe has no such profile.
        """
        if name not in self.profiles:
            allowed = ", ".join(self.profiles)
            raise UsageError(f"profile: found {name!r}. Allowed for recipe {self.name}: {allowed}.{nearest(name, self.profiles)}")
        return self.profiles[name]

    def resolve(self, profile_name: str = DEFAULT_PROFILE) -> dict[str, Any]:
        """Return all that is trained under a profile, as nested JSON values with nothing left to a default."""
        profile = self.profile(profile_name).model_dump(mode="json", exclude={"description"})
        shared = self.model_dump(mode="json", by_alias=True, include={"metric", "model", "loss", "input", "optimizer"})
        shared["optimizer"]["weight_decay"] = profile.pop("weight_decay")
        self.place(profile, shared)
        return {**shared, **profile}

    @abstractmethod
    def checks(self) -> list[Check]:
        """Return what must hold between the keys of this kind of recipe, each of them allowed by itself."""

    @abstractmethod
    def place(self, profile: dict[str, Any], shared: dict[str, Any]) -> None:
        """Move a profile's sizes to the blocks that they belong to: which and where is a kind's own."""


def profiles_field(names: str) -> Any:
    """Return the field of a kind's profiles, by name. `names`: which there are, for an editor."""
    return Field(min_length=1, description=names, json_schema_extra={"additionalProperties": False})


def in_command(name: str, source: str | None) -> str:
    """Return what names a recipe in a command: its name, or the file of one of a user's own, from here where it lies below."""
    if source is None:
        return shlex.quote(name)
    path, here = Path(source), Path.cwd()
    if path.is_absolute() and path.is_relative_to(here):
        return shlex.quote(f"./{path.relative_to(here)}")
    return shlex.quote(source)

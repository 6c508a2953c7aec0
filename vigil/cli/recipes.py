"""`vigil recipes`: what can be reproduced, under which profiles, and the published values."""

from __future__ import annotations

import argparse

from vigil.errors import UsageError
from vigil.recipes.loading import DEFAULT_PROFILE, Recipe, load_recipe, recipe_names


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("recipes", help="list the recipes, their profiles and published targets")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print every recipe; one that cannot be read is reported after the others."""
    problems = []
    for name in recipe_names():
        try:
            print("\n".join(_lines(load_recipe(name))))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return 0


def _lines(recipe: Recipe) -> list[str]:
    width = max(map(len, recipe.profiles))
    lines = [f"{recipe.name}  version {recipe.version}  {recipe.description}"]
    for name, profile in recipe.profiles.items():
        default = " (default)" if name == DEFAULT_PROFILE else ""
        lines.append(f"  {name:{width}}  {profile.description}{default}")
        lines += [
            f"  {'':{width}}  published: {target.metric} {target.value:g}{_unit(recipe, target.metric)} ({target.source})"
            for target in recipe.targets
            if target.profile == name
        ]
    return lines


def _unit(recipe: Recipe, metric: str) -> str:
    return f" {recipe.metric.unit}" if metric == recipe.metric.name else ""

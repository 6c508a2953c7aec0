"""`vigil recipes`: what can be reproduced, under which profiles, and the published values."""

from __future__ import annotations

import argparse

from reports.tables import Block, print_blocks
from vigil.cli import options
from vigil.cli.answers import ListedProfile, ListedRecipe, RecipesAnswer
from vigil.errors import EXIT_REPRODUCED, EXIT_USAGE, UsageError
from vigil.recipes.loading import DEFAULT_PROFILE, Recipe, identity_of, load_recipe, recipe_names
from vigil.runs.plan import targets_of


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("recipes", help="list the recipes, their profiles and published targets")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print every recipe; one that cannot be read is reported after the others."""
    found, problems = [], []
    for name in recipe_names():
        try:
            recipe = load_recipe(name)
        except UsageError as error:
            problems.append(str(error))
            continue
        print_blocks([_block(recipe)])
        found.append(_listed(recipe))
    code = EXIT_USAGE if problems else EXIT_REPRODUCED
    options.write_json(arguments, RecipesAnswer(exit_code=code, recipes=found, problems=problems))
    if problems:
        raise UsageError("\n".join(problems))
    return 0


def _block(recipe: Recipe) -> Block:
    lines = []
    for name, profile in recipe.profiles.items():
        default = " (default)" if name == DEFAULT_PROFILE else ""
        published = [
            f"published: {target.metric} {target.value:g}{_unit(recipe, target.metric)} ({target.source})"
            for target in recipe.targets
            if target.profile == name
        ]
        lines.append((name, "\n".join([f"{profile.description}{default}", *published])))
    return Block(f"{recipe.name}  version {recipe.version}  {recipe.description}", lines)


def _listed(recipe: Recipe) -> ListedRecipe:
    profiles = [
        ListedProfile(
            name=name,
            description=profile.description,
            hash=identity_of(recipe, name).hash,
            is_default=name == DEFAULT_PROFILE,
        )
        for name, profile in recipe.profiles.items()
    ]
    return ListedRecipe(
        name=recipe.name,
        version=recipe.version,
        description=recipe.description,
        metric=recipe.metric.name,
        unit=recipe.metric.unit,
        profiles=profiles,
        targets=targets_of(recipe),
    )


def _unit(recipe: Recipe, metric: str) -> str:
    return f" {recipe.metric.unit}" if metric == recipe.metric.name else ""

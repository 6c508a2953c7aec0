"""`vigil check FILE...`: is a recipe right, and under which hash would its results be kept?"""

from __future__ import annotations

import argparse

from vigil.errors import UsageError
from vigil.recipes.loading import load_recipe, recipe_hash


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("check", help="validate recipe files")
    parser.add_argument("recipes", nargs="+", metavar="FILE", help="a recipe file, or the name of a recipe in recipes/")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each recipe that is right; raise all mistakes of the others together."""
    problems = []
    for name_or_path in arguments.recipes:
        try:
            recipe = load_recipe(name_or_path)
        except UsageError as error:
            problems.append(str(error))
            continue
        hashes = ", ".join(f"{profile} {recipe_hash(recipe.resolve(profile))}" for profile in recipe.profiles)
        print(f"ok  {name_or_path}: {recipe.name} version {recipe.version} ({hashes})")
    if problems:
        raise UsageError("\n".join(problems))
    return 0

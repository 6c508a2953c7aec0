"""`vigil check FILE...`: is a recipe right, and under which hash would its results be kept?"""

from __future__ import annotations

import argparse

from vigil.cli import options
from vigil.cli.answers import CheckAnswer, CheckedRecipe
from vigil.errors import EXIT_REPRODUCED, EXIT_USAGE, UsageError
from vigil.recipes.loading import load_recipe, recipe_hash


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("check", help="validate recipe files")
    parser.add_argument("recipes", nargs="+", metavar="FILE", help="a recipe file, or the name of a recipe in recipes/")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one line for each recipe that is right; raise all mistakes of the others together."""
    checked, problems = [], []
    for name_or_path in arguments.recipes:
        try:
            recipe = load_recipe(name_or_path)
        except UsageError as error:
            problems.append(str(error))
            checked.append(CheckedRecipe(asked=name_or_path, name=None, version=None, hashes=None, problem=str(error)))
            continue
        hashes = {profile: recipe_hash(recipe.resolve(profile)) for profile in recipe.profiles}
        shown = ", ".join(f"{profile} {digest}" for profile, digest in hashes.items())
        print(f"ok  {name_or_path}: {recipe.name} version {recipe.version} ({shown})")
        facts = {"name": recipe.name, "version": recipe.version, "hashes": hashes}
        checked.append(CheckedRecipe(asked=name_or_path, problem=None, **facts))
    code = EXIT_USAGE if problems else EXIT_REPRODUCED
    options.write_json(arguments, CheckAnswer(exit_code=code, recipes=checked))
    if problems:
        raise UsageError("\n".join(problems))
    return code

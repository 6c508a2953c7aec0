"""`vigil schema`: the JSON Schema of a recipe, for an editor's completion and marks."""

from __future__ import annotations

import argparse

from vigil.recipes.loading import recipe_schema_text


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser("schema", help="print the JSON Schema of a recipe (recipes/recipe.schema.json)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    print(recipe_schema_text(), end="")
    return 0

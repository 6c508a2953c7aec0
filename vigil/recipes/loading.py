"""Recipes by name: loading, the hash of what is trained, and the JSON Schema for editors."""

from __future__ import annotations

import errno
import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from vigil.documents.identity import Identity
from vigil.errors import RecipeError, UsageError, nearest
from vigil.paths import expanded, project_root
from vigil.recipes.kinds import RECIPES
from vigil.recipes.recipe import DEFAULT_PROFILE, Recipe
from vigil.recipes.yaml_file import YamlFile, explain, read_document, shown

__all__ = ["DEFAULT_PROFILE", "Recipe", "identity_of", "load_recipe", "recipe_hash", "recipe_names", "recipe_schema_text"]
LARGEST_BYTES = 100_000  # the parser takes ten seconds for a megabyte
NOT_HASHED = ("checkpoint_every_steps",)  # a checkpoint copies the state and cannot move a number


def recipe_hash(resolved: dict[str, object]) -> str:
    """Return 12 hexadecimal digits of the SHA-256 of what is trained, whatever its key order and checkpoint cadence."""
    hashed = {key: value for key, value in resolved.items() if key not in NOT_HASHED}
    canonical = json.dumps(hashed, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def identity_of(recipe: Recipe, profile: str) -> Identity:
    """Return which recipe a number of this profile belongs to. Raises UsageError when the recipe has no such profile."""
    digest = recipe_hash(recipe.resolve(profile))
    return Identity(name=recipe.name, version=recipe.version, hash=digest, profile=profile)


def recipe_json_schema() -> dict[str, object]:
    """Return the JSON Schema of recipes, for editors: one for each model. The checks across keys are `vigil check`'s alone."""
    kinds: list[dict[str, object]] = []
    definitions: dict[str, object] = {}
    for model, kind in RECIPES.items():
        schema = kind.model_json_schema(by_alias=True)
        definitions |= schema.pop("$defs")
        is_this = {"properties": {"model": {"properties": {"name": {"const": model}}}}}
        kinds.append({"if": is_this, "then": schema})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Vigil recipe",
        "allOf": kinds,
        "$defs": definitions,
    }


def recipe_schema_text() -> str:
    """Return recipes/recipe.schema.json as it is committed."""
    return json.dumps(recipe_json_schema(), indent=2) + "\n"


def recipe_names() -> list[str]:
    """Return the names of the recipes in recipes/."""
    return sorted(path.stem for path in (project_root() / "recipes").glob("*.yaml"))


def load_recipe(name_or_path: str) -> Recipe:
    """Return a recipe by its name in recipes/, or from a file anywhere (a name with a separator, or ending in .yaml).

    Raises:
        UsageError: There is no such recipe.
        RecipeError: The file is broken; one line for each mistake.
    """
    shown_name, path = _recipe_path(name_or_path)
    try:
        content = _content(path)
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        names = ", ".join(recipe_names())
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{shown_name}: cannot be read ({why}). Allowed: a file, or {names}.") from error
    if len(content) > LARGEST_BYTES:
        raise RecipeError(f"{shown_name}: found a file of more than {LARGEST_BYTES:,} bytes. Allowed: a recipe: some thousands.")
    document = read_document(content, shown_name)
    kind = _kind(document)
    try:
        recipe = kind.model_validate(document.content, by_alias=True)
    except ValidationError as error:
        raise RecipeError(explain(document, error.errors(), kind.model_json_schema(by_alias=True))) from error
    recipe._source = name_or_path if path.resolve().parent != project_root() / "recipes" else None
    return recipe


def _content(path: Path) -> bytes:
    """Return the bytes of a regular file, and of a long one no more than show that it is. Raises OSError, ValueError."""
    if path.exists() and not path.is_dir() and not path.is_file():  # a pipe would be waited for, a device never ends
        raise OSError(errno.EINVAL, "a pipe or a device, which is no file")
    with open(path, "rb") as file:
        return file.read(LARGEST_BYTES + 1)


def _kind(document: YamlFile) -> type[Recipe]:
    """Return the kind of recipe that the document's model makes it. Raises RecipeError for a model that is not known."""
    location = ("model", "name")
    model = document.content.get("model") if isinstance(document.content, dict) else None
    name = model.get("name") if isinstance(model, dict) else None
    if name is None:
        return next(iter(RECIPES.values()))  # whose schema says what is missing
    if not isinstance(name, str) or name not in RECIPES:  # a list is in no dict: it cannot even be looked up
        raise RecipeError(
            f"{document.name}:{document.line(location)}: model.name: found {shown(name)}. Allowed: {' or '.join(RECIPES)}."
            f"{nearest(name, RECIPES)}"
        )
    return RECIPES[name]


def _recipe_path(name_or_path: str) -> tuple[str, Path]:
    if name_or_path.endswith((".yaml", ".yml")) or "/" in name_or_path or "\\" in name_or_path:
        return name_or_path, expanded(name_or_path)
    names = recipe_names()
    if name_or_path not in names:
        found = repr(name_or_path) if name_or_path else "nothing"
        raise UsageError(
            f"recipe: found {found}. Allowed: {', '.join(names)}, or the path of a .yaml file.{nearest(name_or_path, names)}"
        )
    return f"recipes/{name_or_path}.yaml", project_root() / "recipes" / f"{name_or_path}.yaml"

"""Fixtures of the recipes' tests: a recipe with one thing changed, and what is said of it."""

from __future__ import annotations

import pytest

from tests.vigil.recipes.tiny import TEXT
from vigil.errors import RecipeError
from vigil.recipes.loading import load_recipe


@pytest.fixture
def write(tmp_path):
    """Give a function that writes the recipe with some text replaced, and returns its path."""

    def write_recipe(*replacements: tuple[str, str]) -> str:
        text = TEXT
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "tiny.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write_recipe


@pytest.fixture
def message(write):
    """Give a function that returns the error of a recipe with a mistake, without the path of the file."""

    def error_message(*replacements: tuple[str, str]) -> str:
        path = write(*replacements)
        with pytest.raises(RecipeError) as raised:
            load_recipe(path)
        assert raised.value.exit_code == 2
        return str(raised.value).replace(path, "tiny.yaml")

    return error_message

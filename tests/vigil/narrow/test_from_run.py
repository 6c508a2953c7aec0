"""From a run of a recipe of a user's own: what is asked of its file, and where its tape lies."""

from __future__ import annotations

import sys

import pytest

from tests.reports.documents import a_regression
from vigil.errors import CannotRun
from vigil.narrow import from_run
from vigil.narrow.from_run import alarm_of, script_of_alarm
from vigil.paths import project_root
from vigil.recipes.loading import identity_of, load_recipe
from vigil.verify.golden import load_golden, path_of


def test_a_recipe_of_ones_own_is_found_by_its_file(tmp_path, monkeypatch) -> None:
    """Its name is in no folder of Vigil's; its tape lies beside it, and is what it lacks here."""
    file = tmp_path / "my_recipe.yaml"
    text = (project_root() / "recipes" / "digits_mlp.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("name: digits_mlp", "name: my_recipe", 1), encoding="utf-8")
    document = a_regression()
    recipe = document.recipe.model_copy(update={"name": "my_recipe", "profile": "quick"})
    (tmp_path / "run").mkdir()
    document.replace(recipe=recipe, source=str(file)).write(tmp_path / "run")
    monkeypatch.setattr(from_run, "ensure_data", lambda training, **options: None)
    with pytest.raises(CannotRun, match=rf"{tmp_path}.*no golden tape for recipe my_recipe"):
        script_of_alarm(alarm_of(tmp_path / "run"), tmp_path, python=sys.executable, tell=lambda text: None)


def test_a_tape_knows_the_file_of_its_recipe() -> None:
    """From there the document of a verification has it."""
    identity = identity_of(load_recipe("digits_mlp"), "quick")
    tape = load_golden(path_of("digits_mlp", "quick"), recipe=identity, data_directory=None, source="my_recipe.yaml")
    assert tape.source == "my_recipe.yaml"

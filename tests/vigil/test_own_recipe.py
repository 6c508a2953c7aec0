"""A recipe of a user's own: its references lie beside it, and every command that is printed for it runs."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from tests.vigil.reference_rows import make_rows
from vigil.cli.main import build_parser, main
from vigil.drift.reference_samples import rows_in
from vigil.paths import project_root, reference_directory
from vigil.recipes.loading import identity_of, load_recipe
from vigil.recipes.recipe import in_command
from vigil.references.samples import append_rows
from vigil.runs.carry_out import read_invocation
from vigil.verify.golden import path_of
from vigil.verify.limits import load_limits

# Verb, recipe and profile: what follows in a sentence is not a part of the command.
_COMMAND = re.compile(r"vigil (?:golden|verify|power|reproduce|reference (?:add|show)) (?:'[^']*'|[^\s`;]+)(?: --profile \w+)?")


@pytest.fixture
def own(tmp_path, monkeypatch) -> str:
    """Return the path of an own recipe as it is given: a copy of resnet_cifar under another name, in a folder with a space."""
    folder = tmp_path / "my recipes"
    folder.mkdir()
    text = (project_root() / "recipes" / "resnet_cifar.yaml").read_text(encoding="utf-8")
    (folder / "mine.yaml").write_text(text.replace("\nname: resnet_cifar\n", "\nname: mine\n", 1), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIGIL_REFERENCE_DIR", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    return "./my recipes/mine.yaml"


def assert_commands_run(text: str, *, at_least: int) -> None:
    """Raise unless every command in the text is one that the parser takes, of a recipe that can be loaded."""
    commands = _COMMAND.findall(" ".join(text.split()))
    assert len(commands) >= at_least, text
    for command in commands:
        parsed, unknown = build_parser().parse_known_args(shlex.split(command)[1:])
        assert unknown == [], command
        assert load_recipe(parsed.recipe).name == "mine", command


def test_references_lie_beside_an_own_recipe_or_where_a_variable_says(own, tmp_path, monkeypatch):
    """A recipe in recipes/, by name or by path, keeps those of the checkout."""
    beside = tmp_path / "my recipes" / "reference_results"
    assert reference_directory(load_recipe(own).source) == beside
    assert path_of("mine", "quick", source=own) == beside / "mine" / "verify" / "golden-quick.npz"
    for name in ("resnet_cifar", str(project_root() / "recipes" / "resnet_cifar.yaml")):
        assert reference_directory(load_recipe(name).source) == project_root() / "reference_results"
    monkeypatch.setenv("VIGIL_REFERENCE_DIR", str(tmp_path / "elsewhere"))
    assert reference_directory(own) == tmp_path / "elsewhere"
    assert reference_directory() == project_root() / "reference_results"


def test_an_own_recipe_without_clean_rows_is_held_to_the_limits_of_its_kind(own):
    """They are borrowed, and said to be, also where the recipe has the name of the one that it borrows from."""
    for name in ("mine", "resnet_cifar"):
        limits = load_limits(name, model="resnet_cifar", source=own)
        assert (limits.borrowed_from, limits.rows > 1000) == ("resnet_cifar", True)
    assert load_limits("resnet_cifar", model="resnet_cifar").borrowed_from is None


def test_a_batch_too_small_for_a_golden_tape_is_refused_at_once(own, capsys):
    """Its least cases would have more rows than the batch, and the first framework that voted would end in an error."""
    path = Path(own)
    path.write_text(path.read_text(encoding="utf-8").replace("batch_size: 32", "batch_size: 2"), encoding="utf-8")
    assert main(["golden", own]) == 2
    assert "batch_size: found 2. Allowed for a golden tape: 4 or more" in capsys.readouterr().err


def test_power_knows_rows_beside_the_recipe(own, capsys):
    """Rows in the checkout's folder of that name would be another recipe's."""
    recipe = load_recipe(own)
    assert main(["power", own]) == 4
    rows = make_rows(8, recipe=identity_of(recipe, "quick"))
    append_rows(reference_directory(recipe.source), rows)
    assert main(["power", own]) == 0
    assert "reference runs of 8 seeds" in " ".join(capsys.readouterr().out.split())
    assert main(["reference", "show", own]) == 0
    # Drift and report know the name alone.
    assert len(rows_in(reference_directory(), reference_directory(own))("mine")) == len(rows)
    assert rows_in(reference_directory())("mine") == ()


def test_commands_that_power_and_verify_print_run(own, capsys):
    """With the path as it was given, quoted for a shell, and what measuring costs."""
    assert main(["power", own, "--profile", "paper"]) == 4
    said = capsys.readouterr().out
    assert_commands_run(said, at_least=2)
    assert "10 runs of 64,000 steps on each framework" in " ".join(said.split())
    assert main(["verify", own, "--framework", "torch"]) == 3
    said = capsys.readouterr().err
    assert_commands_run(said, at_least=1)
    assert "vigil golden './my recipes/mine.yaml' --profile quick" in said


def test_commands_that_reproduce_prints_run_and_resume_knows_the_folder(own, scripted, places, capsys):
    """The invocation keeps where the recipe lies: verdict and verification name commands that run."""
    scripted({0: 80.0})
    assert main(["reproduce", own, "--framework", "torch", "--profile", "smoke"]) == 4
    assert_commands_run(capsys.readouterr().out, at_least=2)
    (directory,) = places.iterdir()
    assert read_invocation(directory).source == str(Path(own).resolve())


def test_a_path_in_a_command_is_from_here_where_it_lies_below(own, tmp_path):
    """A whole path stays whole elsewhere; one without a folder keeps what makes it a path."""
    assert in_command("mine", str(tmp_path / "mine")) == "./mine"
    assert in_command("mine", "/elsewhere/mine.yaml") == "/elsewhere/mine.yaml"
    assert in_command("mine", None) == "mine"

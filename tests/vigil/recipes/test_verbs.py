"""`vigil check`, `vigil recipes` and `vigil schema`."""

from __future__ import annotations

import argparse
import json

import pytest

from vigil.cli import check, recipes, schema
from vigil.errors import UsageError
from vigil.recipes.loading import load_recipe, recipe_hash


def parse(verb, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    verb.add_parser(parser.add_subparsers())
    return parser.parse_args([verb.__name__.rsplit(".", 1)[1], *words])


def test_check_prints_a_hash_for_each_profile(write, capsys):
    """A valid recipe is one line, with the hash under which results would be kept."""
    path = write()
    arguments = parse(check, path, "resnet_cifar")
    assert arguments.run(arguments) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"ok  {path}: tiny version 1 (quick {recipe_hash(load_recipe(path).resolve('quick'))}, paper ")
    assert second.startswith("ok  resnet_cifar: resnet_cifar version ")


def test_check_goes_on_after_a_broken_recipe(write, capsys):
    """A broken file is exit 2, and the others are checked all the same."""
    arguments = parse(check, write(("depth: 8", "depth: 9")), "resnet_cifar")
    with pytest.raises(UsageError, match="found 9"):
        arguments.run(arguments)
    assert capsys.readouterr().out.startswith("ok  resnet_cifar")


def test_recipes_lists_profiles_and_targets(capsys):
    """The list names each profile, the default one, and the published value beside its profile."""
    arguments = parse(recipes)
    assert arguments.run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("char_gpt  version ")
    of_digits = [line.strip() for line in lines if "0.18" in line]
    assert of_digits[0].startswith("published: train_loss 0.042898 nats (")
    assert of_digits[1].startswith("published: train_accuracy 0.993879 (")  # a share, and no nats
    assert any(line.startswith("    quick") and line.endswith("(default)") for line in lines)
    own = next(index for index, line in enumerate(lines) if line.startswith("resnet_cifar  version "))
    paper = next(index for index, line in enumerate(lines) if index > own and line.startswith("    paper"))
    assert "published: test_accuracy 91.25 percent (He et al. 2015" in lines[paper + 1]


def test_the_list_of_recipes_is_read_at_80_columns(capsys, monkeypatch):
    """No line is wider, and a description goes on below itself."""
    monkeypatch.setenv("COLUMNS", "80")
    arguments = parse(recipes)
    assert arguments.run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    title = next(index for index, line in enumerate(lines) if line.startswith("resnet_cifar  version "))
    assert lines[title + 1].startswith("    ")


def test_schema_prints_json(capsys):
    """`vigil schema` prints the JSON Schema and nothing else."""
    arguments = parse(schema)
    assert arguments.run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Vigil recipe"

"""`--json`: which verbs have it, what is on standard output, and that the page lists the keys that are written."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator

import pytest

from tests.test_docs import ROOT, below, made_of, outline, outlines, parts_of
from tests.vigil.json_answer import answer_of
from vigil.cli import answers
from vigil.cli.answers import Answer, CheckAnswer, CheckedRecipe, PowerAnswer, RecipesAnswer
from vigil.cli.main import build_parser, main
from vigil.recipes.loading import load_recipe, recipe_hash, recipe_names

PAGE = ROOT / "docs" / "json.md"
WITHOUT = {"schema", "dashboard", "init"}
# They write the document that they keep.
KEPT = {"reproduce", "resume", "verify", "audit", "narrow", "compare", "determinism", "trace", "preflight", "replay"}


def verbs(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield each verb, of one with actions each action, by the words that are typed."""
    for word, inner in below(parser).items():
        if below(inner):
            yield from verbs(inner, f"{name} {word}".strip())
        else:
            yield f"{name} {word}".strip(), inner


def kinds() -> list[type[Answer]]:
    """Return the types of answers, in the order of their module."""
    return [each for each in vars(answers).values() if isinstance(each, type) and issubclass(each, Answer) and each is not Answer]


def test_every_verb_answers_as_json_but_three():
    """One option with one meaning; what prints JSON anyway, what writes a file and what serves until Ctrl-C have none."""
    having = {name for name, parser in verbs(build_parser()) if "--json" in parser._option_string_actions}
    assert having == {name for name, _ in verbs(build_parser())} - WITHOUT
    assert having - KEPT == {kind.model_fields["verb"].default for kind in kinds()} - KEPT


def test_the_page_has_every_verb_and_the_keys_of_every_answer():
    """The table names each verb; below it stand the keys, in the order of the files."""
    page = PAGE.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([a-z ]+)`", page, re.MULTILINE))
    assert listed == {name for name, _ in verbs(build_parser())}
    elsewhere = outlines()  # on the page of the architecture
    keys = "\n".join(text for part in made_of(kinds()) if (text := outline(part)) not in elsewhere)
    assert f"```\n{keys}\n```" in page, f"docs/json.md: the keys are now\n{keys}"


def test_the_keys_of_a_page_go_down_to_those_inside():
    """Parts of the answer's own module stand in place, those of others are found to be listed by themselves."""
    assert "recipes [{asked, name, version, hashes, problem}]" in outline(CheckAnswer)
    assert [part.__name__ for part in parts_of(answers.ShowAnswer)] == ["SampleGroup"]


def test_a_key_that_the_page_does_not_list_is_caught():
    """An answer that gets one more, inside a part too, is no longer what the page says."""

    class Checked(CheckedRecipe):
        __module__ = CheckedRecipe.__module__
        seconds: float

    class More(CheckAnswer):
        __module__, __qualname__ = CheckAnswer.__module__, "CheckAnswer"
        recipes: tuple[Checked, ...]

    page = PAGE.read_text(encoding="utf-8")
    assert outline(CheckAnswer) in page
    assert outline(More).replace("More", "CheckAnswer") not in page
    assert "problem, seconds}]" in outline(More)


def test_what_is_printed_goes_to_standard_error_and_the_file_has_the_same(tmp_path, capsys):
    """With `-` standard output is one document; with a file it is what it always was."""
    main(["recipes"])
    shown = capsys.readouterr().out
    file = tmp_path / "recipes.json"
    assert main(["recipes", "--json", str(file)]) == 0
    assert capsys.readouterr().out == shown
    assert main(["recipes", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert captured.out == file.read_text(encoding="utf-8")
    assert captured.err == shown


def test_recipes_are_listed_with_hashes_and_targets(capsys):
    """All of them, each with what a script would ask for next."""
    found = answer_of(capsys, RecipesAnswer, "recipes")
    assert [each.name for each in found.recipes] == recipe_names()
    [one] = (each for each in found.recipes if each.name == "resnet_cifar")
    assert {each.name: each.hash for each in one.profiles}["quick"] == recipe_hash(load_recipe("resnet_cifar").resolve("quick"))
    assert [each.name for each in one.profiles if each.is_default] == ["quick"]
    assert one.targets[0].profile == "paper"


def test_a_wrong_recipe_has_its_problem_in_the_answer(capsys, tmp_path):
    """The message and exit code 2 stay; the answer says which of several it was."""
    found = answer_of(capsys, CheckAnswer, "check", "digits_mlp", str(tmp_path / "gone.yaml"))
    good, bad = found.recipes
    assert (good.problem, set(good.hashes or {})) == (None, set(load_recipe("digits_mlp").profiles))
    assert (bad.name, "cannot be read" in (bad.problem or ""), found.exit_code) == (None, True, 2)


def test_power_is_told_in_numbers(capsys):
    """What so many runs see, what compare would do, and how many an effect needs; without a reference the reason."""
    found = answer_of(capsys, PowerAnswer, "power", "resnet_cifar", "--seeds", "1,8", "--effect", "1.5")
    one, eight = found.sees
    assert (one.runs, one.between_releases, eight.compare_pairs) == (1, None, True)
    assert one.against_reference > eight.against_reference > 0.0
    assert found.needed.effect == 1.5
    assert found.needed.paired is not None
    empty = answer_of(capsys, PowerAnswer, "power", "resnet_cifar", "--profile", "paper")
    assert (empty.exit_code, empty.sees, empty.needed) == (4, (), None)
    assert "there are no reference samples" in (empty.reason or "")


@pytest.mark.parametrize("verb", [["recipes"], ["matrix", "resnet_cifar"], ["env", "list"], ["nightly"]])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(capsys, monkeypatch, tmp_path, verb):
    """Exit code 2 and a line."""
    monkeypatch.chdir(tmp_path)
    assert main([*verb, "--json", "gone/x.json"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert "--json: found gone/x.json, and there is no directory gone" in captured.err


def test_a_document_carries_its_version_and_digest(capsys):
    """So does a file of its own: who reads it later knows what it is."""
    assert main(["env", "list", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["verb"], found["exit_code"], len(found["sha256"])) == (1, "env list", 0, 64)

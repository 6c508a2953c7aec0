"""Reading a recipe's YAML: what is refused as such, and where a mistake is said to be."""

from __future__ import annotations

import pytest

from tests.vigil.recipes.tiny import TEXT
from vigil.errors import RecipeError
from vigil.recipes.loading import load_recipe


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: tiny", "name: [tiny", "2:8: not a recipe's YAML: while parsing a flow sequence, expected"),
        ("version: 1", "\tversion: 1", "2:1: not a recipe's YAML"),
        ("version: 1", "version: 1\nversion: 2", "3:1: not a recipe's YAML: found the key 'version' a second time"),
        ("momentum: 0.9\n", "momentum: 0.9\n  momentum: 0.9\n", "the first is on line 27"),
        ("version: 1", "version: *one", "2:10: not a recipe's YAML: found an alias"),
        ("version: 1", "<<: {version: 1}", "2:1: not a recipe's YAML: found the key <<"),
        ("version: 1", "yes: 1", "2:1: not a recipe's YAML: found the key yes"),
        ("version: 1", "version: 2026-13-45", "2:10: not a recipe's YAML: found a value that YAML cannot read"),
        ("version: 1", "version: !!python/name:os.system", "2:10: not a recipe's YAML"),
        ("version: 1", "version: \x01", "2:10: found a character that YAML does not allow"),
        ("version: 1", "version: 1\n---\nname: two", "not a recipe's YAML: expected a single document"),
        (TEXT, "", "1:1: found an empty file."),
        (TEXT, "- 1", "1: (the whole file): found [1] (a list). Allowed: a block with the keys name, version"),
        (TEXT, "[" * 5000, "1:1: found lists or blocks nested too deep"),
        ("momentum: 0.9", "momentum: !!set {a}", "27:13: not a recipe's YAML: found the tag tag:yaml.org,2002:set"),
        ("[4, 8, 16]", "!!set {a, b, c}", "9:11: not a recipe's YAML: found the tag"),
        ("version: 1", 'version: !!int ""', "2:10: not a recipe's YAML: found the tag tag:yaml.org,2002:int"),
        ("version: 1", "version: !!bool maybe", "found the tag tag:yaml.org,2002:bool; write the plain value instead"),
        ("version: 1", "version: 010", "2:10: not a recipe's YAML: found 010, which YAML reads as 8; write the decimal number"),
        ("steps: 40", "steps: 1:30", "found 1:30, which YAML reads as 90"),
        ("steps: 40", "steps: -0x1F", "found -0x1F, which YAML reads as -31"),
        ("momentum: 0.9", "momentum: 0:0.9", "found 0:0.9, which YAML reads as 0.9"),
    ],
)
def test_what_is_not_plain_yaml_is_pointed_at(message, old, new, expected):
    """What is not YAML, and what YAML would settle silently, is refused with line and column."""
    found = message((old, new))
    assert found.startswith("tiny.yaml:")
    assert expected in found


@pytest.mark.parametrize("text", ["0", "0.05", "00.5", "1_000", "64000"])
def test_a_decimal_number_is_a_number(write, text):
    """Only other bases are refused: zero, leading zeros of a fraction and grouped digits are what they say."""
    recipe = load_recipe(write(("weight_decay: 1.0e-3", f"weight_decay: {text}")))
    assert recipe.profile("quick").weight_decay == float(text)


def test_each_mistake_has_a_line_of_its_own(message):
    """Several mistakes are reported together, one line each."""
    found = message(("momentum: 0.9", "momentum: 0.9x"), ("depth: 8", "depth: eight"), ("crop: 32", "crop: 32.5"))
    assert [line.split(":")[1] for line in found.splitlines()] == ["22", "27", "45"]


def test_text_that_is_not_utf_8_is_located(tmp_path):
    """A file in another encoding is an error at its first wrong byte."""
    path = tmp_path / "tiny.yaml"
    path.write_bytes(TEXT.encode().replace(b"tests.", b"t\xebsts."))
    with pytest.raises(RecipeError, match=r"tiny.yaml:3:28: found a byte that is not UTF-8"):
        load_recipe(str(path))

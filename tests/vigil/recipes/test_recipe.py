"""The recipe schema: what it refuses, how it says so, and what its hash stands for."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from vigil.cli import check, recipes, schema
from vigil.errors import RecipeError, UsageError
from vigil.paths import project_root
from vigil.recipes.loading import Recipe, load_recipe, recipe_hash, recipe_schema_text

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "recipes" / "resnet_cifar.yaml"

# A recipe of its own, so that tuning the shipped one moves no line number here.
TEXT = """\
name: tiny
version: 1
description: A recipe for tests.
metric: {name: test_accuracy, unit: percent, direction: higher, selection: last}
model:
  name: resnet_cifar
  image_shape: [32, 32, 3]
  n_classes: 10
  widths: [4, 8, 16]
  convolution: {kernel: [3, 3], padding: [[1, 1], [1, 1]], bias: false}
  shortcut: {kind: option_a, channel_padding: both_sides}
  batch_norm: {epsilon: 1.0e-5, momentum: 0.1, running_variance: unbiased, across_devices: sync}
  init:
    convolution.kernel: {distribution: normal, mean: 0.0, variance: 2.0, per: fan_in}
    head.kernel: {distribution: normal, mean: 0.0, variance: 2.0, per: fan_in}
    head.bias: {distribution: constant, value: 0.0}
    batch_norm.scale: {distribution: constant, value: 1.0}
    batch_norm.bias: {distribution: constant, value: 0.0}
loss: {name: softmax_cross_entropy, reduction: mean, label_smoothing: 0.0}
input:
  normalisation: {mean: per_pixel, deviation: per_channel}
  augmentation: {padding: 4, padding_value: mean, crop: 32, flip_probability: 0.5}
  shuffle: every_epoch
  last_batch: drop
optimizer:
  name: sgd
  momentum: 0.9
  dampening: 0.0
  nesterov: false
  learning_rate_in_momentum: false
  weight_decay_form: coupled
  weight_decay_on: all
targets:
  - metric: test_accuracy
    value: 91.25
    published_as: 8.75 % test error
    source: A paper
    link: https://example.org/paper
    selection: last
    protocol: As here.
    profile: paper
profiles:
  quick:
    description: A verdict.
    depth: 8
    data: {name: generated, n_train: 200, n_test: 100}
    batch_size: 50
    evaluation_batch_size: 25
    steps: 40
    learning_rate: {kind: piecewise, boundaries: [20, 30], values: [0.1, 0.01, 0.001]}
    weight_decay: 1.0e-3
    evaluate_every_steps: 10
    checkpoint_every_steps: 10
  paper:
    description: As published.
    depth: 20
    data: {name: cifar10, n_train: 50000, n_test: 10000}
    batch_size: 128
    evaluation_batch_size: 1000
    steps: 64000
    learning_rate: {kind: piecewise, boundaries: [], values: [0.1]}
    weight_decay: 0
    evaluate_every_steps: 390
    checkpoint_every_steps: 390
"""


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


def test_every_shipped_recipe_is_valid():
    """Each file in recipes/ loads by its name, and its name is the one inside."""
    for path in (ROOT / "recipes").glob("*.yaml"):
        assert load_recipe(path.stem).name == path.stem


def test_a_recipe_loads_from_any_path(write):
    """A file outside recipes/ is given by its path, and an integer may stand for a float."""
    recipe = load_recipe(write())
    assert recipe.name == "tiny"
    assert recipe.profile("paper").weight_decay == 0.0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "momentum: 0.9",
            "momentum: 0.9x",
            '27: optimizer.momentum: found "0.9x" (text). Allowed: a number of 0 or more',
        ),
        ("momentum: 0.9", "momentum: 1.0", "found 1.0 (a number). Allowed: a number of 0 or more and below 1."),
        ("momentum: 0.9", "momentum: .nan", "27: optimizer.momentum: found nan"),
        ("momentum: 0.9", "momentum:", "27: optimizer.momentum: found nothing."),
        ("flip_probability: 0.5", "flip_probability: 5", "found 5 (a whole number). Allowed: a number from 0 to 1."),
        ("epsilon: 1.0e-5", "epsilon: 1e-5", "YAML reads 1e-5 as text: write 1.0e-5."),
        ("epsilon: 1.0e-5", "epsilon: 1.0e5", "YAML reads 1.0e5 as text: write 1.0e+5."),
        (
            "  momentum: 0.9",
            "  momentun: 0.9",
            "27: optimizer.momentun: found an unknown key. Allowed: name, momentum,",
        ),
        ("  momentum: 0.9", "  momentun: 0.9", "Did you mean momentum?"),
        ("  nesterov: false\n", "", "25: optimizer.nesterov: missing, and there are no defaults. Allowed: false."),
        ("nesterov: false", "nesterov: 0", "found 0 (a whole number). Allowed: false."),
        ("nesterov: false", "nesterov: true", "found true. Allowed: false."),
        ("dampening: 0.0", "dampening: 0.1", "found 0.1 (a number). Allowed: a number, 0 only."),
        ("across_devices: sync", "across_devices: synch", "Allowed: sync or per_device. Did you mean sync?"),
        ("version: 1", "version: 1.0", "2: version: found 1.0 (a number). Allowed: a whole number of 1 or more."),
        ("version: 1", "version: true", "2: version: found true."),
        ("name: tiny", "name: Tiny", '1: name: found "Tiny" (text). Allowed: text that matches'),
        ("[4, 8, 16]", "[4, 8]", "9: model.widths: found [4, 8] (a list). Allowed: a list of 3 items"),
        ("[4, 8, 16]", "[4, 8, 1.5]", "9: model.widths.2: found 1.5"),
        ("variance: 2.0", "variance: -2", "14: model.init.convolution.kernel.variance: found -2"),
        ("https://", "ftp://", "38: targets.0.link: found"),
        ("  quick:", "  Quick:", '43: profiles.Quick: found the key "Quick"'),
        # Between keys
        ("[4, 8, 16]", "[4, 7, 16]", "9: model.widths: found [4, 7, 16]. Allowed: each stage as wide"),
        ("[4, 8, 16]", "[8, 4, 16]", "9: model.widths: found [8, 4, 16]. Allowed: each stage as wide"),
        ("[32, 32, 3]", "[28, 28, 1]", "7: model.image_shape: found [28, 28, 1]. Allowed: [32, 32, 3]"),
        ("n_classes: 10", "n_classes: 5", "8: model.n_classes: found 5. Allowed: 10 or more"),
        (
            "[[1, 1], [1, 1]]",
            "[[1, 1], [0, 1]]",
            "10: model.convolution.padding: found [[1, 1], [0, 1]]. Allowed: kernel - 1",
        ),
        ("crop: 32", "crop: 28", "22: input.augmentation.crop: found 28. Allowed: 32"),
        ("padding: 4", "padding: 33", "22: input.augmentation.padding: found 33. Allowed: at most 32"),
        ("profile: paper", "profile: papre", '41: targets.0.profile: found "papre". Allowed: a profile of this recipe'),
        ("profile: paper", "profile: papre", "Did you mean paper?"),
        ("depth: 8", "depth: 9", "45: profiles.quick.depth: found 9. Allowed: 6n + 2 layers, as in 8, 14, 20."),
        ("depth: 8", "depth: 2", "45: profiles.quick.depth: found 2."),
        ("n_train: 50000", "n_train: 50001", "57: profiles.paper.data.n_train: found 50001. Allowed: at most 50000."),
        ("n_test: 10000", "n_test: 11000", "57: profiles.paper.data.n_test: found 11000. Allowed: at most 10000."),
        (
            "batch_size: 50",
            "batch_size: 201",
            "47: profiles.quick.batch_size: found 201. Allowed: at most data.n_train",
        ),
        ("batch_size: 25", "batch_size: 30", "48: profiles.quick.evaluation_batch_size: found 30. Allowed: a divisor"),
        ("[20, 30]", "[30, 20]", "50: profiles.quick.learning_rate.boundaries: found [30, 20]. Allowed: increasing"),
        ("[20, 30]", "[20, 40]", "50: profiles.quick.learning_rate.boundaries: found [20, 40]. Allowed: increasing"),
        ("[20, 30]", "[20, 20]", "50: profiles.quick.learning_rate.boundaries: found [20, 20]. Allowed: increasing"),
        ("[0.1, 0.01, 0.001]", "[0.1, 0.01]", "50: profiles.quick.learning_rate.values: found 2 values. Allowed: 3"),
        ("evaluate_every_steps: 10", "evaluate_every_steps: 41", "52: profiles.quick.evaluate_every_steps: found 41."),
        (
            "checkpoint_every_steps: 10",
            "checkpoint_every_steps: 41",
            "53: profiles.quick.checkpoint_every_steps: found",
        ),
        # Not YAML, or YAML that says two things
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
    ],
)
def test_a_mistake_is_pointed_at(message, old, new, expected):
    """Each mistake is refused with file, line, key, what was found and what is allowed."""
    found = message((old, new))
    assert found.startswith("tiny.yaml:")
    assert expected in found


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


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("resnet_cifr", "Did you mean resnet_cifar?"),
        ("", "recipe: found nothing. Allowed: moco_lite, resnet_cifar"),
        ("missing/tiny.yaml", "missing/tiny.yaml: cannot be read (No such file or directory)."),
        ("./", "cannot be read (Is a directory)."),
    ],
)
def test_an_unknown_recipe_is_a_usage_error(name, says):
    """A name or path that leads to no recipe is exit 2 with the names there are."""
    with pytest.raises(UsageError) as raised:
        load_recipe(name)
    assert says in str(raised.value)
    assert "resnet_cifar" in str(raised.value)


def test_an_unknown_profile_is_a_usage_error(write):
    """A profile that the recipe lacks is refused with the nearest one."""
    recipe = load_recipe(write())
    with pytest.raises(UsageError, match=r"found 'qick'. Allowed for recipe tiny: quick, paper. Did you mean quick\?"):
        recipe.profile("qick")


def test_resolved_content_is_plain_and_whole(write):
    """What a runner gets is JSON, with a profile's depth and weight decay in their places."""
    resolved = load_recipe(write()).resolve("quick")
    assert json.loads(json.dumps(resolved)) == resolved
    assert set(resolved) == {
        *("metric", "model", "loss", "input", "optimizer", "learning_rate", "data", "batch_size"),
        *("evaluation_batch_size", "steps", "evaluate_every_steps", "checkpoint_every_steps"),
    }
    assert resolved["model"]["depth"] == 8
    assert resolved["model"]["init"]["batch_norm.scale"] == {"distribution": "constant", "value": 1.0}
    assert resolved["optimizer"]["weight_decay"] == 1e-3
    assert resolved["learning_rate"] == {"kind": "piecewise", "boundaries": [20, 30], "values": [0.1, 0.01, 0.001]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: tiny", "# a comment\nname: tiny"),
        ("description: A verdict.", "description: Another one."),
        ("value: 91.25", "value: 92"),
        ("version: 1", "version: 2"),
        ("checkpoint_every_steps: 10", "checkpoint_every_steps: 20"),
        ("  momentum: 0.9\n  dampening: 0.0\n", "  dampening: 0\n  momentum: 0.90\n"),
        ("weight_decay: 0\n", "weight_decay: 0.1\n"),
    ],
)
def test_hash_leaves_out_what_cannot_move_a_number(write, old, new):
    """Comments, descriptions, targets, key order, checkpoint cadence and other profiles have no part in the hash."""
    before = recipe_hash(load_recipe(write()).resolve("quick"))
    assert recipe_hash(load_recipe(write((old, new))).resolve("quick")) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("momentum: 0.9\n", "momentum: 0.91\n"),
        ("epsilon: 1.0e-5", "epsilon: 1.0e-3"),
        ("[4, 8, 16]", "[4, 8, 18]"),
        ("across_devices: sync", "across_devices: per_device"),
        ("variance: 2.0", "variance: 1.0"),
        ("depth: 8", "depth: 14"),
        ("n_train: 200", "n_train: 201"),
        ("steps: 40", "steps: 41"),
        ("0.01, 0.001", "0.01, 0.002"),
        ("weight_decay: 1.0e-3", "weight_decay: 1.0e-4"),
        ("flip_probability: 0.5", "flip_probability: 0"),
    ],
)
def test_hash_changes_with_what_is_trained(write, old, new):
    """Each number that training depends on moves the hash."""
    before = recipe_hash(load_recipe(write()).resolve("quick"))
    after = recipe_hash(load_recipe(write((old, new))).resolve("quick"))
    assert len(after) == 12
    assert after != before


def test_committed_json_schema_is_the_schema():
    """recipes/recipe.schema.json is what `vigil schema` prints; write it again after a change of the schema."""
    assert (ROOT / "recipes" / "recipe.schema.json").read_text(encoding="utf-8") == recipe_schema_text()


def test_every_key_is_described():
    """An editor can say what each key means."""
    definitions = [Recipe.model_json_schema(), *Recipe.model_json_schema()["$defs"].values()]
    for definition in definitions:
        assert definition["additionalProperties"] is False
        assert definition["description"]
        for key, node in definition["properties"].items():
            assert node.get("description") or "$ref" in node, f"{definition['title']}.{key}"


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
    assert first.startswith(
        f"ok  {path}: tiny version 1 (quick {recipe_hash(load_recipe(path).resolve('quick'))}, paper "
    )
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
    assert lines[0].startswith("moco_lite  version ")
    assert any(line.startswith("  quick") and line.endswith("(default)") for line in lines)
    own = next(index for index, line in enumerate(lines) if line.startswith("resnet_cifar  version "))
    paper = next(index for index, line in enumerate(lines) if index > own and line.startswith("  paper"))
    assert "published: test_accuracy 91.25 percent (He et al. 2015" in lines[paper + 1]


def test_schema_prints_json(capsys):
    """`vigil schema` prints the JSON Schema and nothing else."""
    arguments = parse(schema)
    assert arguments.run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Vigil recipe"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: cosine, base: 0.06, stairs: 80", "kind: cosin, base: 0.06, stairs: 80",
         "profiles.quick.learning_rate.kind: found \"cosin\" (text). Allowed: cosine or piecewise. Did you mean cosine?"),
        ("kind: cosine, base: 0.06, stairs: 80", "base: 0.06, stairs: 80",
         "profiles.quick.learning_rate.kind: missing, and there are no defaults. Allowed: cosine or piecewise."),
        ("kind: cosine, base: 0.06, stairs: 80", "kind: cosine, base: -1.0, stairs: 80",
         "profiles.quick.learning_rate.base: found -1.0 (a number). Allowed: a number above 0."),
        ("name: moco_lite\n  image_shape", "name: moco\n  image_shape",
         "model.name: found \"moco\" (text). Allowed: resnet_cifar or moco_lite or tiny_mask_rcnn. Did you mean moco_lite?"),
        ("crop_area: [0.3, 1.0]", "crop_area: [0.3, 1.1]",
         "profiles.quick.crop_area: found [0.3, 1.1]. Allowed: the smaller first, at most 1."),
        ("rows: 16", "rows: 7", "profiles.quick.rows: found 7. Allowed: a divisor of batch_size, 64."),
    ],
)
def test_a_mistake_in_one_of_several_kinds_of_block_is_named(tmp_path, old, new, message):
    """What a schedule or a model may be is said where it says which it is, and within it key by key."""
    text = (project_root() / "recipes" / "moco_lite.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / "recipe.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RecipeError) as raised:
        load_recipe(str(path))
    assert message in str(raised.value)

"""Recipes by name and by path, what a runner gets of one, and what its hash stands for."""

from __future__ import annotations

import json

import pytest

from vigil.errors import UsageError
from vigil.paths import project_root
from vigil.recipes.loading import load_recipe, recipe_hash


def test_every_shipped_recipe_is_valid():
    """Each file in recipes/ loads by its name, and its name is the one inside."""
    for path in (project_root() / "recipes").glob("*.yaml"):
        assert load_recipe(path.stem).name == path.stem


def test_a_recipe_loads_from_any_path(write):
    """A file outside recipes/ is given by its path, and an integer may stand for a float."""
    recipe = load_recipe(write())
    assert recipe.name == "tiny"
    assert recipe.profile("paper").weight_decay == 0.0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("resnet_cifr", "Did you mean resnet_cifar?"),
        ("", "recipe: found nothing. Allowed: char_gpt, digits_mlp, moco_lite, resnet_cifar"),
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

"""A perceptron's recipe: whole epochs, the images there are, a rule of momentum that makes sense, values that are exact."""

from __future__ import annotations

import pytest

from vigil.errors import RecipeError
from vigil.paths import project_root
from vigil.recipes.loading import load_recipe


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("image_shape: [8, 8, 1]", "image_shape: [8, 8, 3]", "model.image_shape: found [8, 8, 3]. Allowed: [8, 8, 1]"),
        ("n_classes: 10", "n_classes: 11", "model.n_classes: found 11. Allowed: 10"),
        ("steps: 135", "steps: 134", "steps: found 134. Allowed: whole epochs of 9 steps"),
        ("evaluate_every_steps: 9", "evaluate_every_steps: 18", "evaluate_every_steps: found 18. Allowed: 9, one epoch"),
        ("checkpoint_every_steps: 45", "checkpoint_every_steps: 40", "checkpoint_every_steps: found 40. Allowed: whole epochs"),
        ("n_train: 1797", "n_train: 1798", "data.n_train: found 1798. Allowed: at most 1797."),
        ("momentum: 0.9\n    nesterov: true", "momentum: 0.0\n    nesterov: true", "nesterov: found true beside a momentum of 0"),
        ("exact: {seed: 0, within", "exact: {seed: -1, within", "targets.0.exact.seed: found -1"),
        ("precisions: [fp32, fp64]", "precisions: [bf16]", 'targets.0.exact.precisions.0: found "bf16"'),
        ("exact: {seed: 0, within", "exact: {seed: 0, wythin", "targets.0.exact.wythin: found an unknown key. Allowed: seed,"),
        ("last_batch: keep", "last_batch: drop", "input.last_batch: found"),
    ],
)
def test_a_mistake_is_pointed_at(tmp_path, old, new, message):
    """Each is refused with the key, what was found and what is allowed."""
    text = (project_root() / "recipes" / "digits_mlp.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "mine.yaml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(RecipeError) as error:
        load_recipe(str(tmp_path / "mine.yaml"))
    assert message in str(error.value)


def test_profiles_differ_in_their_rule_alone():
    """What was published are three rules of SGD on the same model, data and schedule."""
    found = {name: load_recipe("digits_mlp").resolve(name) for name in ("quick", "momentum", "plain")}
    rules = {name: (each["optimizer"].pop("momentum"), each["optimizer"].pop("nesterov")) for name, each in found.items()}
    assert rules == {"quick": (0.9, True), "momentum": (0.9, False), "plain": (0.0, False)}
    assert found["quick"] == found["momentum"] == found["plain"]

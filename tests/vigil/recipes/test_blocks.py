"""What each key of a recipe admits, and how a value that it does not admit is told."""

from __future__ import annotations

import pytest

from vigil.errors import RecipeError
from vigil.paths import project_root
from vigil.recipes.kinds import RECIPES
from vigil.recipes.loading import load_recipe, recipe_schema_text
from vigil.recipes.recipe import Recipe


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
        ("  nesterov: false\n", "", "25: optimizer.nesterov: missing, and there are no defaults. Allowed: true or false."),
        (
            "momentum: 0.9\n  dampening: 0.0\n  nesterov: false",
            "momentum: 0.0\n  dampening: 0.0\n  nesterov: true",
            "optimizer: found nesterov true beside a momentum of 0. Allowed: false.",
        ),
        ("nesterov: false", "nesterov: 0", "found 0 (a whole number). Allowed: true or false."),
        ("learning_rate_in_momentum: false", "learning_rate_in_momentum: 0", "found 0 (a whole number). Allowed: false."),
        ("learning_rate_in_momentum: false", "learning_rate_in_momentum: true", "found true. Allowed: false."),
        ("dampening: 0.0", "dampening: 0.1", "found 0.1 (a number). Allowed: a number, 0 only."),
        ("across_devices: sync", "across_devices: synch", "Allowed: sync or per_device. Did you mean sync?"),
        ("version: 1", "version: 1.0", "2: version: found 1.0 (a number). Allowed: a whole number from 1 to 1,000,000,000."),
        ("version: 1", "version: true", "2: version: found true."),
        ("name: tiny", "name: Tiny", '1: name: found "Tiny" (text). Allowed: text that matches'),
        ("[4, 8, 16]", "[4, 8]", "9: model.widths: found [4, 8] (a list). Allowed: a list of 3 items"),
        ("[4, 8, 16]", "[4, 8, 1.5]", "9: model.widths.2: found 1.5"),
        ("variance: 2.0", "variance: -2", "14: model.init.convolution.kernel.variance: found -2"),
        ("https://", "ftp://", "38: targets.0.link: found"),
        ("  quick:", "  Quick:", '43: profiles.Quick: found the key "Quick"'),
    ],
)
def test_a_mistake_is_pointed_at(message, old, new, expected):
    """Each mistake is refused with file, line, key, what was found and what is allowed."""
    found = message((old, new))
    assert found.startswith("tiny.yaml:")
    assert expected in found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kind: cosine, base: 0.06, stairs: 80",
            "kind: cosin, base: 0.06, stairs: 80",
            'profiles.quick.learning_rate.kind: found "cosin" (text). Allowed: cosine or piecewise or warm_up_cosine.',
        ),
        (
            "kind: cosine, base: 0.06, stairs: 80",
            "base: 0.06, stairs: 80",
            "profiles.quick.learning_rate.kind: missing, and there are no defaults. Allowed: cosine or piecewise or warm",
        ),
        (
            "kind: cosine, base: 0.06, stairs: 80",
            "kind: cosine, base: -1.0, stairs: 80",
            "profiles.quick.learning_rate.base: found -1.0 (a number). Allowed: a number from 1e-37 to 1e+06.",
        ),
        (
            "name: moco_lite\n  image_shape",
            "name: [moco_lite]\n  image_shape",
            "model.name: found ['moco_lite'] (a list). Allowed: resnet_cifar or moco_lite or tiny_mask_rcnn or digits_mlp or",
        ),
        (
            "name: moco_lite\n  image_shape",
            "name: moco\n  image_shape",
            'model.name: found "moco" (text). Allowed: resnet_cifar or moco_lite or tiny_mask_rcnn or digits_mlp or char_gpt. '
            "Did you mean moco_lite?",
        ),
        (
            "crop_area: [0.3, 1.0]",
            "crop_area: [0.3, 1.1]",
            "profiles.quick.crop_area: found [0.3, 1.1]. Allowed: the smaller first, at most 1.",
        ),
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


def test_committed_json_schema_is_the_schema():
    """recipes/recipe.schema.json is what `vigil schema` prints; write it again after a change of the schema."""
    assert (project_root() / "recipes" / "recipe.schema.json").read_text(encoding="utf-8") == recipe_schema_text()


@pytest.mark.parametrize("kind", RECIPES.values(), ids=RECIPES)
def test_every_key_is_described(kind):
    """An editor can say what each key means, in every kind of recipe."""
    schema = kind.model_json_schema()
    assert {"model", "profiles"} <= set(schema["properties"])
    for definition in (schema, *schema["$defs"].values()):
        assert definition["additionalProperties"] is False
        assert definition["description"]
        for key, node in definition["properties"].items():
            assert node.get("description") or "$ref" in node, f"{definition['title']}.{key}"


def test_a_kind_must_say_where_sizes_belong():
    """A kind of recipe without `place` would train something else than its profile says: it cannot be made at all."""
    kind = next(iter(RECIPES.values()))
    incomplete = type("Incomplete", (Recipe,), {"__annotations__": {}, "__module__": __name__})
    assert kind.__abstractmethods__ == frozenset()
    with pytest.raises(TypeError, match="place"):
        incomplete()


SGD = """optimizer:
  name: sgd
  momentum: 0.9
  dampening: 0.0
  nesterov: false
  learning_rate_in_momentum: false
  weight_decay_form: coupled
  weight_decay_on: all
"""
ADAMW = """optimizer:
  name: adamw
  beta_1: 0.9
  beta_2: 0.999
  epsilon: 1.0e-8
  epsilon_beside: corrected
  bias_correction: true
  weight_decay_form: decoupled
  weight_decay_on: all
"""


def test_a_classifier_may_follow_a_cosine(write):
    """Every schedule is a key of any kind of recipe."""
    piecewise = "{kind: piecewise, boundaries: [20, 30], values: [0.1, 0.01, 0.001]}"
    recipe = load_recipe(write((piecewise, "{kind: cosine, base: 0.1, stairs: 10, steps_per_stair: 100}")))
    found = [profile.learning_rate.kind for profile in recipe.profiles.values()]
    assert sorted(found) == ["cosine", "piecewise"]


def test_a_recipe_may_train_with_adamw(write):
    """Its rule is resolved with all of its numbers, and the profile's weight decay."""
    optimizer = load_recipe(write((SGD, ADAMW))).resolve("quick")["optimizer"]
    assert optimizer == {
        "name": "adamw",
        "beta_1": 0.9,
        "beta_2": 0.999,
        "epsilon": 1e-8,
        "epsilon_beside": "corrected",
        "bias_correction": True,
        "weight_decay_form": "decoupled",
        "weight_decay_on": "all",
        "weight_decay": 1e-3,
    }


def test_a_recipe_may_clip_and_warm_up(write):
    """Clipping is a key of any rule, left out of what is resolved where a recipe does not say it; so is a rate that warms up."""
    piecewise = "{kind: piecewise, boundaries: [20, 30], values: [0.1, 0.01, 0.001]}"
    rate = "{kind: warm_up_cosine, base: 0.1, least: 0.01, warm_up_steps: 10, steps: 40}"
    clipping = "  clipping: {norm: global, threshold: 1.0, epsilon: 1.0e-6}\n"
    for rule in (SGD, ADAMW.replace("on: all", "on: matrices")):
        found = load_recipe(write((SGD, rule + clipping), (piecewise, rate)))
        assert found.resolve("quick")["optimizer"]["clipping"] == {"norm": "global", "threshold": 1.0, "epsilon": 1e-6}
        assert "warm_up_cosine" in {profile.learning_rate.kind for profile in found.profiles.values()}
    assert "clipping" not in load_recipe(write()).resolve("quick")["optimizer"]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ("base: 0.1, least: 0.2, warm_up_steps: 10, steps: 40", "learning_rate.least: found 0.2. Allowed: at most base, 0.1."),
        ("base: 0.1, least: 0.01, warm_up_steps: 40, steps: 40", "warm_up_steps: found 40. Allowed: fewer than steps, 40."),
    ],
)
def test_a_rate_that_cannot_warm_up_is_refused(message, rate, expected):
    """It must fall after it has risen."""
    piecewise = "{kind: piecewise, boundaries: [20, 30], values: [0.1, 0.01, 0.001]}"
    assert expected in message((piecewise, "{kind: warm_up_cosine, " + rate + "}"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: adamw", "name: adam", '26: optimizer.name: found "adam" (text). Allowed: adamw or sgd. Did you mean adamw?'),
        ("  name: adamw\n", "", "25: optimizer.name: missing, and there are no defaults. Allowed: adamw or sgd."),
        ("  epsilon: 1.0e-8\n", "", "25: optimizer.epsilon: missing, and there are no defaults. Allowed: a number from 1e-37"),
        ("beta_1: 0.9", "momentum: 0.9", "27: optimizer.momentum: found an unknown key. Allowed: name, beta_1, beta_2,"),
        ("bias_correction: true", "bias_correction: false", "31: optimizer.bias_correction: found false. Allowed: true."),
        ("beside: corrected", "beside: root", '30: optimizer.epsilon_beside: found "root" (text). Allowed: corrected or unc'),
        (ADAMW, "optimizer: adamw\n", '25: optimizer: found "adamw" (text). Allowed: a block with the keys name, momentum,'),
        (ADAMW, "", "optimizer: missing, and there are no defaults. Allowed: a block with the keys name, momentum,"),
    ],
)
def test_a_mistake_in_an_optimizer_is_pointed_at(message, old, new, expected):
    """The keys are those of the optimizer that is named; which there are is said where none is."""
    assert expected in message((SGD, ADAMW), (old, new))

"""What the oracle says of its models: the gates, choices and ends of blocks that verify asks it for."""

import numpy as np
import pytest

from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from vigil.recipes.loading import load_recipe
from vigil.verify.oracle.models import fix_choices
from vigil.verify.probes import outline

_RESIDUAL = tuple(f"stage{stage}.block1" for stage in (1, 2, 3))
_OF_BLOCKS = {f"{block}.relu1": f"{block}.bn1" for block in _RESIDUAL} | {f"{block}.relu2": f"{block}.sum" for block in _RESIDUAL}
GATES = {
    "resnet_cifar": {"stem.relu": "stem.bn", **_OF_BLOCKS},
    "moco_lite": {"stem.relu": "stem.bn", **_OF_BLOCKS},
    "tiny_mask_rcnn": {
        "stem.relu": "stem.bn",
        **{f"stage{stage}.relu1": f"stage{stage}.bn1" for stage in (2, 3, 4)},
        **{f"rpn{level}.relu": f"rpn{level}.conv" for level in (3, 4)},
        **{"box.relu": "box.bn", "box.hidden": "box.dense"},
        **{"mask.relu1": "mask.bn1", "mask.relu2": "mask.bn2", "mask.up_relu": "mask.up"},
    },
    "digits_mlp": {"relu": "hidden"},
    "char_gpt": {},
}
BLOCK_ENDS = {
    "resnet_cifar": ("stem.relu", *(f"{block}.relu2" for block in _RESIDUAL), "pool", "logits"),
    "moco_lite": ("stem.relu", *(f"{block}.relu2" for block in _RESIDUAL), "pool", "features", "logits"),
    "tiny_mask_rcnn": (
        *("stem.relu", "stage2.relu1", "stage3.relu1", "stage4.relu1", "fpn.output3", "fpn.output4"),
        *("rpn.objectness", "rpn.deltas", "box.hidden", "mask.relu2", "mask.up_relu"),
    ),
    "digits_mlp": ("relu", "logits"),
    "char_gpt": ("embedding", *(f"block{number}.sum2" for number in (1, 2, 3, 4)), "logits"),
}
CHOICES = {"tiny_mask_rcnn": {"proposals": ("rpn.objectness", "rpn.deltas"), "regions": ()}}
TAPS = {"resnet_cifar": 29, "moco_lite": 34, "tiny_mask_rcnn": 52, "digits_mlp": 4, "char_gpt": 51}
FAMILIES = {"moco_lite": {"stats", "average", "content"}, "digits_mlp": set(), "char_gpt": set()}


@pytest.fixture(scope="module", params=list(TAPS))
def parts(request):
    """Return a recipe's name, its model, and what a step of it is made of."""
    training = load_recipe(request.param).resolve("quick")
    return request.param, training, outline_of(training)


def outline_of(training):
    """Return what a step of a recipe is made of, by a pass over four of its examples."""
    kind, data = kind_of(training), {**training["data"], "n_train": 64, "n_test": 16}
    data = {**data, "name": "generated"} if data["name"] == "cifar10" else data
    state = {name: value.astype(np.float64) for name, value in weights.initial_state(training, seed=0).items()}
    batch = kind.make_batches(kind.load(data, None), training, seed=0).few(0, 0, count=4)
    return outline(training, state, fix_choices(training, state, batch))


def test_gates_choices_and_blocks_are_those_of_the_layers(parts):
    """A gate is told with what it decides on, a choice with what it is made from; blocks end where a compiler may be cut."""
    name, _, found = parts
    assert dict(found.gates) == GATES[name]
    assert found.block_ends == BLOCK_ENDS[name]
    assert dict(found.choices) == CHOICES.get(name, {})
    assert len(found.taps) == len(set(found.taps)) == TAPS[name]


def test_every_parameter_has_an_owner_and_every_statistic_a_family(parts):
    """Nothing that a step moves is left to be told by its name."""
    name, training, found = parts
    kind, model = kind_of(training), training["model"]
    assert set(found.parameters) == set(found.users) == set(kind.parameter_shapes(model))
    assert all(found.users.values())
    assert set(found.statistics) == set(kind.statistic_shapes(model))
    families = {found.family(f"stats/{statistic}") for statistic in found.statistics}
    assert families == FAMILIES.get(name, {"stats"})


def test_what_a_penalty_uses_belongs_to_its_own_layer():
    """The hidden kernel's gradient comes after that of the logits, although the penalty, which is last, uses it too."""
    found = outline_of(load_recipe("digits_mlp").resolve("quick"))
    assert found.users["hidden.kernel"] == ("hidden", "penalty")
    of_output, of_hidden = (found.position(f"parameter_gradient/{layer}.kernel") for layer in ("output", "hidden"))
    assert of_output < of_hidden


def test_families_of_statistics_are_told_apart():
    """Running statistics of either encoder are of one family, averaged weights of another, and the queue of a third."""
    found = outline_of(load_recipe("moco_lite").resolve("quick"))
    tensors = ("stats/stem.bn.mean", "stats/key.stem.bn.variance", "stats/key.stem.conv.kernel", "stats/queue")
    assert [found.family(tensor) for tensor in tensors] == ["stats", "stats", "average", "content"]
    assert [found.family(tensor) for tensor in ("params/stem.bn.scale", "loss")] == ["params", "loss"]
    assert found.place("stats/key.stem.bn.scale").quantity == "moving average of scale"
    assert found.position("stats/key.stem.bn.scale") < found.position("output/keys") < found.position("stats/queue")

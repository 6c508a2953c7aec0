"""Canonical names and shapes: complete, in forward order, and the size that the paper states."""

from __future__ import annotations

import math

import pytest

from runners.contract.kinds.classification import blocks_per_stage
from runners.contract.kinds.table import KINDS
from vigil.recipes.loading import load_recipe


def parameter_shapes(model: dict) -> dict:
    return KINDS[model["name"]].parameter_shapes(model)


def statistic_shapes(model: dict) -> dict:
    return KINDS[model["name"]].statistic_shapes(model)


def init_keys(model: dict) -> set[str]:
    """Return the entries of the recipe's `init` that draw a parameter."""
    return {parameter.init for parameter in KINDS[model["name"]].tabulate(model).parameters.values()}


def n_parameters(model: dict) -> int:
    """Return how many numbers are trained."""
    return sum(math.prod(shape) for shape in parameter_shapes(model).values())


@pytest.mark.parametrize(("depth", "millions"), [(20, 0.27), (32, 0.46), (44, 0.66), (56, 0.85), (110, 1.7)])
def test_sizes_are_those_of_the_paper(training, depth, millions):
    """The parameter counts are those of He et al. 2015, Table 6."""
    model = {**training["model"], "depth": depth}
    assert n_parameters(model) == pytest.approx(millions * 1e6, rel=0.03)


def test_names_and_shapes_of_the_smallest_model(training):
    """ResNet-8 has these first and last names, in forward order, and these shapes."""
    shapes = parameter_shapes(training["model"])
    names = list(shapes)
    assert names[:4] == ["stem.conv.kernel", "stem.bn.scale", "stem.bn.bias", "stage1.block1.conv1.kernel"]
    assert names[-3:] == ["stage3.block1.bn2.bias", "head.kernel", "head.bias"]
    assert shapes["stem.conv.kernel"] == (3, 3, 3, 16)
    assert shapes["stage2.block1.conv1.kernel"] == (3, 3, 16, 32)
    assert shapes["stage2.block1.conv2.kernel"] == (3, 3, 32, 32)
    assert shapes["head.kernel"] == (64, 10)
    assert n_parameters(training["model"]) == 75_290


def test_every_batch_norm_has_its_statistics(training):
    """Each scale has a mean and a variance of its shape, and there is no other statistic."""
    expected = {
        name.replace(".scale", f".{kind}"): shape
        for name, shape in parameter_shapes(training["model"]).items()
        if name.endswith(".scale")
        for kind in ("mean", "variance")
    }
    assert statistic_shapes(training["model"]) == expected


def test_every_parameter_has_an_init_rule(training):
    """The recipe's init block has exactly the kinds that the model's names need."""
    assert init_keys(training["model"]) == set(training["model"]["init"])


def test_moco_has_the_published_encoder():
    """ResNet-18 with a 3x3 stem and 128 features has 11.2 million parameters; the key encoder and the queue are not trained."""
    model = load_recipe("moco_lite").resolve("paper")["model"]
    assert n_parameters(model) == pytest.approx(11.2e6, rel=0.01)
    parameters, moved = parameter_shapes(model), statistic_shapes(model)
    assert {name.removeprefix("key.") for name in moved if name.startswith("key.")} >= set(parameters)
    assert moved["queue"] == (4096, 128)
    assert parameters["stage2.block1.shortcut.conv.kernel"] == (1, 1, 64, 128)
    assert "stage1.block1.shortcut.conv.kernel" not in parameters


@pytest.mark.parametrize("depth", [2, 7, 9, 18, -4])
def test_a_depth_that_is_no_resnet_is_refused(depth):
    """Depths other than 6n+2 are an error that names the allowed ones."""
    with pytest.raises(ValueError, match=r"allowed are 6n\+2"):
        blocks_per_stage(depth)


def test_a_detector_has_a_rule_and_statistics_for_every_layer():
    """The init block has exactly the kinds that the names need, and each batch norm its statistics, in the heads too."""
    model = load_recipe("tiny_mask_rcnn").resolve("quick")["model"]
    shapes = parameter_shapes(model)
    assert init_keys(model) == set(model["init"])
    scales = {name.removesuffix(".scale") for name in shapes if name.endswith(".scale")}
    assert {f"{name}.{kind}" for name in scales for kind in ("mean", "variance")} == set(statistic_shapes(model))
    assert {"stem.bn", "box.bn", "mask.bn1", "mask.bn2"} <= scales
    # Three shapes at every cell, a background class, a mask for each of six classes.
    assert shapes["rpn.deltas.kernel"][-1] == 4 * 3
    assert shapes["box.classes.kernel"][-1] == 1 + 6
    assert shapes["mask.classes.kernel"] == (1, 1, model["channels"], 6)

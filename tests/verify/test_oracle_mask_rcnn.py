"""The oracle's Mask R-CNN: its gradient is that of its loss, and proposals can be given to it."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from runners.contract.data import streams
from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from vigil.recipes.loading import load_recipe
from vigil.verify.oracle import operations, step
from vigil.verify.oracle.graph import Graph
from vigil.verify.oracle.models import MODELS


@pytest.fixture(scope="module")
def asked() -> tuple[dict, dict, tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Return a narrow model's training block, a float64 state, and a batch of two images.

    No bias is 0: where all channels of a ReLU are, the next one would stand at its kink, which has no slope.
    """
    training = load_recipe("tiny_mask_rcnn").resolve("smoke") | {"batch_size": 2}
    training["model"] |= {"widths": [4, 4, 6, 8], "channels": 6, "hidden": 10}
    training["model"]["proposals"] = {"considered": 60, "least_side": 1.0, "overlap": 0.1, "count": 32}
    batches = kind_of(training).make_batches(kind_of(training).load(training["data"], None), training, seed=3)
    state = {name: value.astype(np.float64) for name, value in weights.initial_state(training, seed=3).items()}
    for name in [name for name in state if name.startswith("params/") and name.endswith(".bias")]:
        state[name] = state[name] + 0.1 * streams.normal(5, name, count=state[name].size)
    return training, state, batches.train(0)


def answers(asked, state=None, **labels) -> dict[str, np.ndarray]:
    """Return one step's answers, with other labels where they are given."""
    training, first, (images, own) = asked
    return step.train_step(training, state or first, [(images, {**own, **labels})], 0.0)


def test_own_proposals_given_back_change_nothing(asked):
    """With its own choice in the place of its own choice the step is the same; with another, the heads see other regions."""
    own = answers(asked)
    given = {"is_given": np.ones(2, np.int32), "proposals": own["output/proposals"]}
    again = answers(asked, **given)
    assert all((own[name] == again[name]).all() for name in own)
    others = answers(asked, **{**given, "proposals": 0.5 * own["output/proposals"] + 20.0})
    assert others["output/loss.box_class"].tolist() != own["output/loss.box_class"].tolist()
    assert others["output/loss.rpn_class"].tolist() == own["output/loss.rpn_class"].tolist()


@pytest.mark.parametrize("part", ["stem", "stage4", "fpn", "rpn", "box", "mask"])
def test_gradients_are_slopes_of_the_loss(asked, part):
    """Moved a little along a random direction, with the same regions, the loss moves as the gradient says (measured: 2e-8)."""
    assert slope_error(asked, part) < 1e-7


def test_readers_are_found_through_what_has_no_tap(asked):
    """Reshaping, enlarging and picking a class have no tap of their own: the layer after them reads what was before."""
    readers = step.outline(*asked).readers
    assert readers["box.relu"] == ("box.dense",)
    assert readers["fpn.lateral4"] == ("fpn.sum", "fpn.output4")
    assert readers["rpn.objectness"] == ("loss.rpn_class",)
    assert readers["mask.classes"] == ("loss.mask",)
    assert readers["fpn.output3"] == ("rpn3.conv", "box.pool", "mask.pool")
    assert readers["loss.mask"] == ("loss",)


def test_a_gradient_that_forgets_what_is_in_use_is_caught(asked, monkeypatch):
    """With batch norm's gradient over all places instead of those in use the slope is another (measured: 5 % off)."""
    right = operations.region_batch_norm

    def wrong(*arguments, used, epsilon):
        value, _ = right(*arguments, used=used, epsilon=epsilon)
        return value, right(*arguments, used=np.ones_like(used), epsilon=epsilon)[1]

    monkeypatch.setattr(operations, "region_batch_norm", wrong)
    assert slope_error(asked, "stem") > 1e-2


def slope_error(asked, part: str) -> float:
    """Return how far the slope along a direction is from the gradient's, relative to it."""
    training, state, _ = asked
    own = answers(asked)
    given = {"is_given": np.ones(2, np.int32), "proposals": own["output/proposals"]}
    names = [name for name in kind_of(training).parameter_shapes(training["model"]) if name.startswith(part)]
    directions = {name: streams.normal(7, name, count=own[f"params/{name}"].size) for name in names}
    size = 1e-6
    losses = []
    for sign in (1.0, -1.0):
        moved = copy.copy(state)
        for name, direction in directions.items():
            moved[f"params/{name}"] = state[f"params/{name}"] + sign * size * direction.reshape(state[f"params/{name}"].shape)
        losses.append(float(answers(asked, moved, **given)["loss"]))
    expected = sum((own[f"parameter_gradient/{name}"].ravel() * direction).sum() for name, direction in directions.items())
    return abs((losses[0] - losses[1]) / (2 * size) - expected) / abs(expected)


def test_a_graph_without_cuts_has_no_gradient_of_decisions(asked):
    """Proposals and regions are chosen, not computed: nothing flows back through them, and none is told."""
    training, state, (images, labels) = asked
    params = {name.removeprefix("params/"): value for name, value in state.items() if name.startswith("params/")}
    statistics = {name.removeprefix("stats/"): value for name, value in state.items() if name.startswith("stats/")}
    graph, model = Graph(params), MODELS["tiny_mask_rcnn"]
    losses, expected = model.forward(graph, images.astype(np.float64), labels, model=training["model"], statistics=statistics)
    graph.backward(model.objective(graph, losses, expected))
    gradients = graph.tap_gradients()
    assert {"proposals", "regions"} <= set(graph.outputs)
    assert not {"proposals", "regions"} & set(gradients)
    assert gradients["box.pool"].any()

"""Each runner's optimizers take the contract's steps, in float64, also from a state that was loaded; a wrong one is seen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from runners.contract.optimizers import optimizer_of
from tests.runners import fork_server

RULES = {
    "sgd": {"name": "sgd", "momentum": 0.9, "dampening": 0.0, "nesterov": False, "weight_decay": 0.02},
    "nesterov": {"name": "sgd", "momentum": 0.9, "dampening": 0.0, "nesterov": True, "weight_decay": 0.02},
    "plain": {"name": "sgd", "momentum": 0.0, "dampening": 0.0, "nesterov": False, "weight_decay": 0.02},
    "adamw": {
        "name": "adamw", "beta_1": 0.9, "beta_2": 0.99, "epsilon": 1e-2, "epsilon_beside": "corrected", "weight_decay": 0.02,
    },
}
RULES = {name: rule | {"weight_decay_on": "all"} for name, rule in RULES.items()}
# Some of the gradients are shorter than the threshold, others longer.
CLIPPING = {"norm": "global", "threshold": 0.05, "epsilon": 1e-6}
RULES["clipped"] = {**RULES["adamw"], "weight_decay_on": "matrices", "clipping": CLIPPING}
RULES["clipped sgd"] = {**RULES["nesterov"], "weight_decay": 0.0, "clipping": CLIPPING}
RATES = np.array([0.1, 0.1, 0.02, 0.02, 0.004, 0.004])


@pytest.fixture(scope="module")
def question():
    """Return parameters, and gradients of each step, of many sizes: epsilon and decay matter in some."""
    generator = np.random.default_rng(0)
    params = {"a.kernel": generator.normal(size=(4, 3)), "b.bias": generator.normal(size=5)}
    scales = 10.0 ** generator.uniform(-4, 1, len(RATES))
    gradients = [{name: scale * generator.normal(size=array.shape) for name, array in params.items()} for scale in scales]
    return params, gradients


@pytest.fixture(scope="module")
def ask(question, tmp_path_factory):
    """Return a function that lets a framework take the steps, in a process of its own; an answer is remembered."""
    params, gradients = question
    known: dict[tuple[str, bool], dict[str, np.ndarray]] = {}

    def answer(framework: str, *, plant: bool = False) -> dict[str, np.ndarray]:
        if (framework, plant) not in known:
            directory = tmp_path_factory.mktemp(framework)
            asked = {f"params/{name}": array for name, array in params.items()}
            asked |= {f"gradients/{step}/{name}": array for step, some in enumerate(gradients) for name, array in some.items()}
            np.savez(directory / "q.npz", **asked, rates=RATES, rules=np.array(json.dumps(RULES)), plant=plant)
            arguments = [framework, str(directory / "q.npz"), str(directory / "a.npz")]
            fork_server.ask(framework, "tests.runners.ask_optimizers", *arguments, folder=directory)
            with np.load(directory / "a.npz") as found:
                known[framework, plant] = {name: found[name] for name in found.files}
        return known[framework, plant]

    return answer


def assert_takes_the_steps(found: dict[str, np.ndarray], name: str, question) -> None:
    """Raise unless parameters and the optimizer's arrays are the contract's after every step, to 1e-12 of the largest."""
    params, gradients = question
    optimizer = optimizer_of({"optimizer": RULES[name]})
    state = {f"params/{key}": array for key, array in params.items()} | optimizer.initial(params)
    for step, rate in enumerate(RATES):
        state = optimizer.update(RULES[name], state, gradients[step], float(rate))
        for key, expected in state.items():
            off = np.abs(found[f"{name}/{step}/{key}"] - expected).max()
            assert off <= 1e-12 * np.abs(expected).max(), f"step {step}, {key}: {off:.3g} off"


@pytest.mark.parametrize("name", RULES)
def test_every_step_is_the_contracts(ask, question, framework, name):
    """Parameters, slots and the count, over six steps at three rates, the last three from a state that was loaded."""
    assert_takes_the_steps(ask(framework), name, question)


@pytest.mark.parametrize("name", RULES)
def test_a_wrong_optimizer_is_caught(ask, question, framework, name):
    """Nesterov's step for SGD's and the other way round, a decay that is left out without momentum.

    In AdamW a coupled decay (PyTorch) or another place of epsilon (TensorFlow, JAX). Of clipping, another threshold.
    """
    with pytest.raises(AssertionError, match="off"):
        assert_takes_the_steps(ask(framework, plant=True), name, question)

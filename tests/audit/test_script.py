"""The call in a finding's script is the runner's, however the runner's file comes to it."""

from __future__ import annotations

import pytest
import torch

from vigil.audit.definitions import catalog
from vigil.audit.exact import exact_of
from vigil.audit.judge import Measured
from vigil.audit.plan import Trial
from vigil.audit.script import call_of, script_of


@pytest.mark.parametrize(
    ("way", "operator"),
    [
        ("torch.sigmoid", "sigmoid_far"),  # the name itself, in a table that several operators share
        ("keras.ops.sigmoid", "sigmoid_far"),  # in one that a function gives
        ("keras.layers.Activation (sigmoid)", "sigmoid_far"),  # a call in that
        ("torch.relu", "relu"),
    ],
)
def test_a_call_is_found_through_tables_and_functions(way, operator):
    """Its text alone calls what the audit called."""
    imports, definition = call_of("torch", "activations", operator, way)
    assert not any("runners" in line for line in imports)
    if way.startswith("torch."):
        names: dict = {}
        exec("\n".join(["import torch", *imports, *definition]), names)
        x = torch.tensor([-2.0, 0.5])
        assert torch.equal(names["call"](x=x), getattr(torch, way.removeprefix("torch."))(x))
    else:
        assert "sigmoid" in "\n".join([*imports, *definition])


@pytest.mark.parametrize(("mode", "taken"), [("jit", "x"), ("eager", "")])
def test_a_compiled_call_takes_its_arguments(mode, taken):
    """Of constants a compiler may work out the answer itself, which is another one than the audit's."""
    trial = Trial(catalog()["exp"], 0, {"n": 3}, {}, "fp32")
    question = trial.question(1)
    exact = exact_of(trial, question, 1)
    measured = Measured(1e6, (0,), 2.0, 1.0)
    text = script_of(
        framework="jax", framework_version="0.10.2", family="elementwise", way="jax.numpy.exp", mode=mode, question=question,
        exact=exact, quantity="outputs/0", measured=measured,
    )  # fmt: skip
    assert f"found = work({taken})" in text.splitlines()

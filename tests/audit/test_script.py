"""The call in a finding's script is the runner's, however the runner's file comes to it."""

from __future__ import annotations

import pytest
import torch

from vigil.audit.script import call_of


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

"""What a model begins with may be given: that of another release, whose initializers draw other numbers."""

from __future__ import annotations

import hashlib
import importlib
import types
from pathlib import Path

import numpy as np
import pytest

from runners.contract.steps.own import load_own

ROOT = Path(__file__).resolve().parents[2]
BUFFERS = """
import torch


def build():
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))


def batch(seed):
    return torch.arange(12.0).reshape(4, 3)


def loss(model, batch):
    return model(batch).square().sum()
"""


@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_a_step_begins_with_the_numbers_that_are_given(framework):
    """Each parameter, in the context and in float64; what `build` made is kept beside them."""
    pytest.importorskip(framework)
    step = importlib.import_module(f"runners.{framework}.step")
    path = ROOT / "examples" / f"step_{framework}.py"
    own = load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())
    request = types.SimpleNamespace(precision="fp32", mode="eager", seeds=(), threads=1, device="cpu", devices=1)
    batch = step.FRAMEWORK.to_numpy(own.call("batch", 0))
    before = step.Program(own, request, {}).train([[batch]])
    made = dict(own.made)
    own.given = {name: array + np.ones_like(array) for name, array in made.items() if array.dtype == np.float32}
    after = step.Program(own, request, {}).train([[batch]])
    names = [name.removeprefix("before/params/") for name in before if name.startswith("before/params/")]
    assert names
    for name in names:
        assert before[f"before/params/{name}"].tobytes() == made[name].tobytes()
        assert after[f"before/params/{name}"].tobytes() == own.given[name].tobytes()
        assert own.made[name].tobytes() == made[name].tobytes()
    exact = step.Oracle(own, request).train([[batch]])
    assert exact["loss"] == pytest.approx(after["loss"], rel=1e-5)
    assert exact["loss"] != pytest.approx(before["loss"], rel=1e-3)


@pytest.mark.torch
def test_buffers_are_given_too(tmp_path):
    """A running mean is part of what a model begins with."""
    pytest.importorskip("torch")
    from runners.torch.step import FRAMEWORK, Program

    path = tmp_path / "step_of_buffers.py"
    path.write_text(BUFFERS, encoding="utf-8")
    own = load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())
    own.given = {"1.running_mean": np.full(2, 100.0, np.float32), "1.num_batches_tracked": np.array(7)}
    request = types.SimpleNamespace(precision="fp32", mode="eager", seeds=(), threads=1, device="cpu", devices=1)
    found = Program(own, request, {}).train([[FRAMEWORK.to_numpy(own.call("batch", 0))]])
    assert found["stats/1.num_batches_tracked"] == 8
    assert (found["stats/1.running_mean"] > 50.0).all()

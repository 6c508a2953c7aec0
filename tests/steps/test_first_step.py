"""The first of two steps is a step: floors of one are made of it, and what it computes shows whether a program repeats itself."""

from __future__ import annotations

import hashlib
import importlib
import json
import types
from pathlib import Path

import pytest

from runners.contract.steps import frame
from runners.contract.steps.own import load_own
from vigil.steps.processes import run
from vigil.steps.verify import asked_of

PROGRAMS = Path(__file__).resolve().parents[2] / "benchmarks" / "own_steps" / "programs"
# Its gradients are its own in each call, which float32 and float64 alike compute.
FORGETFUL = """
import torch

CALLS = []


def build():
    return torch.nn.Linear(5, 3)


def batch(seed):
    return torch.randn(4, 5, generator=torch.Generator().manual_seed(seed))


def loss(model, batch):
    CALLS.append(None)
    return model(batch).square().mean() * len(CALLS)
"""


@pytest.mark.parametrize("name", ["torch_convnet", "jax_convnet", "tensorflow_convnet"])
@pytest.mark.parametrize("draw", [None, 0, 5])
def test_the_first_of_two_steps_is_the_only_one_of_one(name, draw):
    """To the last bit, with statistics, and with the same choices at gates; the second step is another."""
    framework = name.partition("_")[0]
    pytest.importorskip(framework)
    step = importlib.import_module(f"runners.{framework}.step")
    path = PROGRAMS / f"{name}.py"
    own = load_own(path, hashlib.sha256(path.read_bytes()).hexdigest())
    request = types.SimpleNamespace(precision="fp32", mode="eager", seeds=(), threads=1, device="cpu", devices=1)
    oracle = step.Oracle(own, request)
    batch, other = (step.FRAMEWORK.to_numpy(own.call("batch", seed)) for seed in (0, 1))
    oracle.under(draw)
    alone, chosen = frame.computed(oracle.train([[batch]])), list(oracle.choices())
    last = frame.computed(oracle.train([[batch], [batch, other]]))
    first, chosen_first = oracle.first_step()
    assert any(name.startswith("stats/") for name in alone)
    assert chosen
    assert {name: array.tobytes() for name, array in first.items()} == {name: array.tobytes() for name, array in alone.items()}
    assert list(map(tuple, chosen_first)) == list(map(tuple, chosen))
    assert first["loss"].tobytes() != last["loss"].tobytes()


@pytest.mark.torch
def test_a_program_that_does_not_repeat_itself_is_refused(tmp_path):
    """By the numbers of its first step, alone and before another."""
    path = tmp_path / "my_step.py"
    path.write_text(FORGETFUL, encoding="utf-8")
    ended = run(asked_of(path, "torch"), tmp_path / "oracle", task="oracle", precision="fp32")
    assert ended.failure is not None
    assert "two steps from the same state and seed gave other numbers in float64" in ended.failure.message


@pytest.mark.torch
def test_what_contexts_begin_with_is_there_before_what_they_are_held_to(tmp_path):
    """A context asks its own cases while the oracle computes; what gates chose has a file of its own."""
    path = PROGRAMS / "torch_vae.py"
    ended = run(asked_of(path, "torch"), tmp_path / "oracle", task="oracle", precision="fp32")
    assert ended.failure is None
    chosen = json.loads((ended.directory / frame.CHOSEN).read_text(encoding="utf-8"))
    assert "choices" not in chosen
    times = [(ended.directory / name).stat().st_mtime_ns for name in (frame.CHOSEN, frame.EXPECTED, frame.FLOORS)]
    assert times == sorted(times)
    assert len(set(times)) == 3

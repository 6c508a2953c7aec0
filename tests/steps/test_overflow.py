"""A program that leaves the range of its own type is no wrong step of a framework; infinity where a number fits is one."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from runners.contract.steps import frame
from runners.contract.steps.overflow import moved_by, without_numbers
from tests.steps.test_judge import judged
from vigil.cli.main import main
from vigil.documents.step import StepVerification
from vigil.documents.verdict import Verdict
from vigil.steps.judge import Judged, verdict_of

# What is 300 * 300 times as large is beyond 65,504, and 1e30 * 1e30 times beyond all that float32 holds.
TORCH = """
import torch

def build():
    torch.manual_seed(0)
    return torch.nn.Linear(8, 4)

def batch(seed):
    return torch.randn(6, 8, generator=torch.Generator().manual_seed(seed))

def loss(model, batch):
    return torch.tanh(model(batch) * FACTOR * FACTOR / FACTOR / FACTOR).mean()
"""
TENSORFLOW = """
import numpy as np
import tensorflow as tf

def build():
    tf.keras.utils.set_random_seed(0)
    return tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4)])

def batch(seed):
    return np.random.default_rng(seed).normal(size=(6, 8)).astype("float32")

def loss(model, batch, training=False):
    found = model(batch, training=training)
    return tf.reduce_mean(tf.cast(tf.tanh(found * FACTOR * FACTOR / FACTOR / FACTOR), tf.float32))
"""
JAX = """
import jax
import jax.numpy as jnp

def build():
    return {"w": jax.random.normal(jax.random.key(0), (8, 4)) / 3}

def batch(seed):
    return jax.random.normal(jax.random.key(seed), (6, 8))

def loss(model, batch):
    return jnp.tanh(batch @ model["w"] * FACTOR * FACTOR / FACTOR / FACTOR).mean()
"""
SOURCES = {"torch": TORCH, "tensorflow": TENSORFLOW, "jax": JAX}
# Of a number below 3e-8, which is 0 in float16.
LOGARITHMS = {"torch": "torch.log", "tensorflow": "tf.math.log", "jax": "jnp.log"}
INFINITE_GRADIENT = """
import torch


class Infinite(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * float("inf")


def install():
    original = torch.tanh
    torch.tanh = lambda x: original(Infinite.apply(x))
"""


def _verified(
    place: Path, monkeypatch, framework: str, factor: float, precision: str, *more: str
) -> tuple[int, StepVerification]:
    monkeypatch.chdir(place)
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(place / "runs"))
    source = SOURCES[framework]
    if factor < 1.0:
        source = re.sub(r"\w+\.tanh\((.*) / FACTOR / FACTOR\)", rf"{LOGARITHMS[framework]}((\1) ** 2 + 1e-8)", source)
    (place / "step.py").write_text(f"FACTOR = {factor!r}\n{source}", encoding="utf-8")
    code = main(["verify", "step.py", "--mode", "eager", "--precision", precision, "--threads", "1", *more])
    [file] = place.glob("runs/*/step.json")
    return code, StepVerification.read(file.parent)


@pytest.mark.parametrize("framework", SOURCES)
@pytest.mark.parametrize(("factor", "precision", "dtype"), [(300.0, "fp16", "float16"), (1e30, "fp32", "float32")])
def test_a_program_that_overflows_by_itself_is_no_wrong_step(tmp_path, monkeypatch, capsys, framework, factor, precision, dtype):
    """It is said what it computes there, and nothing is called reproduced."""
    code, document = _verified(tmp_path, monkeypatch, framework, factor, precision)
    assert (code, document.verdict.name) == (3, Verdict.UNSUPPORTED)
    assert f"which {dtype} cannot hold" in document.verdict.reason
    assert "the program leaves the range of its type" in " ".join(capsys.readouterr().out.split())
    assert document.contexts[0].out == ()


@pytest.mark.parametrize("framework", SOURCES)
def test_a_program_whose_numbers_float16_holds_as_zero_is_no_wrong_step(tmp_path, monkeypatch, framework):
    """Nor a crash: rounding alone makes infinity of its logarithms, and in evaluation no number is too large."""
    code, document = _verified(tmp_path, monkeypatch, framework, 0.01, "fp16")
    assert (code, document.verdict.name) == (3, Verdict.UNSUPPORTED)
    assert "the program leaves the range of its type" in document.verdict.reason


@pytest.mark.parametrize("framework", SOURCES)
def test_what_overflows_in_one_precision_is_verified_in_another(tmp_path, monkeypatch, framework):
    """bfloat16 reaches as far as float32."""
    code, document = _verified(tmp_path, monkeypatch, framework, 300.0, "bf16")
    assert (code, document.verdict.name) == (0, Verdict.REPRODUCED)


@pytest.mark.torch
def test_infinity_where_the_number_fits_is_a_wrong_step(tmp_path, monkeypatch):
    """Though it is in float16, and no loss scale makes the gradients finite."""
    (tmp_path / "fault.py").write_text(INFINITE_GRADIENT, encoding="utf-8")
    code, document = _verified(tmp_path, monkeypatch, "torch", 2.0, "fp16", "--fault", "fault.py")
    assert (code, document.verdict.name) == (1, Verdict.REGRESSED)


def test_only_what_follows_from_an_overflow_is_excused():
    """A tensor that float64 has as well when it overflows is wrong for another reason; so is what is finite, and need not be."""
    text = "mul computes 9e+09, which float16 cannot hold"
    overflow = {"step": {"text": text, "tensors": ["gradients/a"], "infinite": ["gradients/c"]}}
    finite = [judged("gradients/a", is_out=True, case=case) for case in ("step/step", "repeat/step")]
    infinite = [
        Judged(dataclasses.replace(each.difference, problem="3 of 4 values are not finite"), each.score)
        for each in (judged(name, is_out=True, case="step/step") for name in ("params/a", "gradients/c"))
    ]
    follows = [*finite, *infinite, judged("gradients/b", is_out=False, case="step/step")]
    assert verdict_of(follows, overflow).name is Verdict.UNSUPPORTED
    for tensor, case in (
        ("gradients/b", "step/step"), ("gradients/a", "evaluation/step"), ("params/a", "step/step"), ("gradients/c", "step/step"),
    ):  # fmt: skip
        found = verdict_of([*follows, judged(tensor, is_out=True, case=case)], overflow)
        assert found.name is Verdict.REGRESSED, (tensor, case)


def test_what_an_overflow_moves():
    """Infinity, no number, or another one; not a mask that is infinite in float64 too, nor what comes to the same."""
    exact = {"a": np.array([1.0, 2.0]), "b": np.array([1.0, 2.0]), "c": np.array([1.0, 2.0]), "mask": np.array([-np.inf, 1.0])}
    overflowed = {"a": np.array([1.0, np.inf]), "b": np.array([0.0, 2.0]), "c": np.array([1.0, 2.0]), "mask": exact["mask"]}
    assert moved_by(overflowed, exact) == ["a", "b"]
    assert moved_by({**exact, "c": np.array([np.nan, 2.0])}, exact) == ["c"]


def test_what_is_no_number_any_more():
    """Where float64 has one: a mask is infinite in both."""
    exact = {"a": np.array([1.0, 2.0]), "b": np.array([1.0, 2.0]), "mask": np.array([-np.inf, 1.0])}
    assert without_numbers(exact, exact) == []
    assert without_numbers({**exact, "a": np.array([1.0, -np.inf]), "b": np.array([np.nan, 2.0])}, exact) == ["a", "b"]


def test_a_floor_is_of_the_draws_that_are_finite():
    """A root of 1 - a, with a nearly 1, has no number in some draws; of what has hardly any there is no floor."""
    line, none = (1e-3, 0.0, 0.0), "1 of 2 values are not finite"
    exact = {name: np.ones(2) for name in ("whole", "most", "few")}
    draws = [{"whole": line, "most": each, "few": none} for each in (line, none, line, line)]
    floors, not_finite = frame._floors_of(exact, draws)
    assert {name: len(each["draws"]) for name, each in floors.items()} == {"whole": 4, "most": 3}
    assert not_finite == ["most", "few"]

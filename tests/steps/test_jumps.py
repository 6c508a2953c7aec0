"""Where an operator jumps, draws jump as the program may: a jump that none of them makes is no wrong number."""

from __future__ import annotations

import hashlib
import importlib
import types

import pytest

from runners.contract.steps.own import load_own

# The first number is the next that float32 has to one where the operator jumps, the second is whole by its making, the third is
# half way between two.
BATCH = """
import numpy as np


def batch(seed):
    return np.array([np.nextafter(np.float32({near}), np.float32(3)), 7.0, 0.5], np.float32)
"""
STEPS = {
    "torch": """
import torch


def build():
    return torch.nn.Linear(1, 1, bias=False)


def loss(model, batch):
    return (model.weight * torch.{jump}).sum()
""",
    "jax": """
import jax.numpy as jnp


def build():
    return {{"weight": jnp.ones(())}}


def loss(parameters, batch):
    return (parameters["weight"] * jnp.{jump}).sum()
""",
    "tensorflow": """
import tensorflow as tf


def build():
    return tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1, use_bias=False)])


def loss(model, batch):
    return tf.reduce_sum(model.trainable_variables[0] * tf.{jump})
""",
}
JUMPS = {
    "torch": ("floor(batch)", "round(batch)", "ceil(batch)", "trunc(batch)", "Tensor.long(batch)", "Tensor.int(batch)"),
    "jax": ("floor(batch)", "round(batch)", "ceil(batch)", "int32(batch)"),
    "tensorflow": ("floor(batch)", "round(batch)", "math.ceil(batch)", "cast(tf.cast(batch, tf.int32), tf.float32)"),
}
QUANTISED = {
    "torch": "fake_quantize_per_tensor_affine(batch, 1.0, 0, -128, 127)",
    "tensorflow": "quantization.fake_quant_with_min_max_args(batch, -128.0, 127.0)",
}


def _jumped(tmp_path, framework: str, jump: str) -> tuple[list[int], int]:
    """Return by how many levels the sum differs from the exact one, in each draw, and how many choices there were."""
    pytest.importorskip(framework)
    file = tmp_path / "my_step.py"
    near = 2.0 if jump not in (*QUANTISED.values(), "round(batch)") else 2.5
    file.write_text(BATCH.format(near=near) + STEPS[framework].format(jump=jump), encoding="utf-8")
    step = importlib.import_module(f"runners.{framework}.step")
    own = load_own(file, hashlib.sha256(file.read_bytes()).hexdigest())
    request = types.SimpleNamespace(precision="fp32", mode="eager", seeds=(), threads=1, device="cpu", devices=1)
    oracle = step.Oracle(own, request)
    batch = step.FRAMEWORK.to_numpy(own.call("batch", 0))
    sums, choices = [], []
    for draw in (None, *range(24)):
        oracle.under(draw)
        [gradient] = [each for name, each in oracle.train([[batch]]).items() if name.startswith("gradients/")]
        sums.append(round(float(gradient.sum())))
        choices.append(tuple(oracle.choices()))
    return [each - sums[0] for each in sums[1:]], len(set(choices))


@pytest.mark.parametrize(("framework", "jump"), [(name, jump) for name, jumps in JUMPS.items() for jump in jumps])
def test_draws_jump_where_rounding_may(tmp_path, framework, jump):
    """Of three numbers one may, by one level; what is whole, as an index is, and what is half way stay."""
    jumped, choices = _jumped(tmp_path, framework, jump)
    assert choices == 2
    assert set(jumped) == {0, -1}
    assert 4 <= jumped.count(-1) <= 20


@pytest.mark.parametrize("framework", QUANTISED)
def test_levels_jump_as_well(tmp_path, framework):
    """Also of a number half way between two, whose level is chosen by how it is scaled."""
    jumped, choices = _jumped(tmp_path, framework, QUANTISED[framework])
    assert choices > 1
    assert {-1, 0} < set(jumped)

"""Modes, precisions and randomness of each runner; what ends a run badly ends it with the right word."""

import math
import shutil

import numpy as np
import pytest

from runners.contract.kinds.weights import initial_state
from runners.contract.protocol.checkpoint import CHECKPOINT, save_state
from tests.runners.harness import finished, frameworks, make_spec, outcome, start


@pytest.mark.parametrize("mode", ["jit", pytest.param("compile", marks=pytest.mark.slow)])
def test_modes_agree_in_float32(run, framework, mode):
    """jit and compile take the same first step as eager, to float32 rounding: 2**-18 of the loss (measured: below 2**-21)."""
    eager, other = finished(run(framework)), finished(run(framework, mode=mode))
    assert abs(other.losses[0] / eager.losses[0] - 1) < 2.0**-18
    assert len(other.losses) == 5


def test_compile_in_tensorflow_and_jax(run):
    """Compiled programs of the two frameworks that compile in seconds take eager's first step; PyTorch's is a slow test."""
    for framework in ("tensorflow", "jax"):
        eager, compiled = finished(run(framework)), finished(run(framework, mode="compile"))
        assert abs(compiled.losses[0] / eager.losses[0] - 1) < 2.0**-18


@pytest.mark.parametrize("framework", frameworks("torch", "tensorflow"), indirect=True)
def test_fp16_scales_the_loss(run, framework):
    """fp16 keeps a loss scale in its state, a power of two, and the reported loss is not scaled."""
    result = finished(run(framework, precision="fp16"))
    scale = float(result.state["scaler/scale"])
    assert scale >= 1
    assert math.log2(scale).is_integer()
    assert all(0.5 < loss < 10 for loss in result.losses)


@pytest.mark.parametrize("framework", frameworks("torch"), indirect=True)
@pytest.mark.parametrize("shards", [(12,), pytest.param((7, 5), marks=pytest.mark.slow)])
def test_a_step_that_overflows_is_left_out(framework, shards, tmp_path):
    """Where scaled gradients leave fp16's range, parameters and momentum stay to the bit, statistics move, the scale halves."""
    # Powers of two: TensorFlow keeps rate times momentum.
    rate = {"kind": "piecewise", "boundaries": [1], "values": [0.125, 0.125]}
    spec = make_spec(framework, mode="jit", precision="fp16", steps=2, learning_rate=rate, shards=shards)
    before = initial_state(spec.training, seed=spec.seed)
    before |= {name: np.full_like(array, 2.0**-7) for name, array in before.items() if name.startswith("momentum/")}
    scaler = {"scaler/scale": np.float64(2.0**40), "scaler/good_steps": np.int64(7)}
    save_state(tmp_path / CHECKPOINT, before | scaler, step=1)
    after = finished(outcome(tmp_path, start(tmp_path, spec).wait(timeout=300))).state
    assert (after.pop("scaler/scale"), after.pop("scaler/good_steps")) == (2.0**39, 0)
    assert set(after) == set(before)
    for name, array in before.items():
        assert np.array_equal(after[name], array) == (not name.startswith("stats/")), name


def test_tf32_is_unsupported_on_a_cpu(run, framework):
    """What a device cannot do is refused with the reason."""
    result = run(framework, precision="tf32")
    assert (result.exit_code, result.failure["category"]) == (3, "unsupported")
    assert "tf32" in result.failure["message"]


def test_missing_gpus_are_unsupported(run, framework):
    """A GPU that is not there is refused with what was found."""
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine may have a GPU")
    result = run(framework, device="gpu")
    assert (result.exit_code, result.failure["category"]) == (3, "unsupported")


def test_a_loss_that_is_not_finite_ends_the_run(run, framework):
    """A learning rate that explodes ends in category nan_loss with the step, not in a metric."""
    rate = {"kind": "piecewise", "boundaries": [2], "values": [1e30, 1e30]}
    result = run(framework, learning_rate=rate)
    assert (result.exit_code, result.failure["category"]) == (3, "nan_loss")
    assert not any(event["kind"] == "finished" for event in result.events)


@pytest.mark.parametrize("framework", frameworks("torch"), indirect=True)
def test_native_randomness_draws_its_own_weights(run, framework):
    """Native initial weights have the recipe's spread, differ from the shared ones, and repeat with the seed."""
    still = {"learning_rate": {"kind": "piecewise", "boundaries": [2], "values": [1e-12, 1e-12]}, "steps": 3}
    native, shared = finished(run(framework, randomness="native", **still)), finished(run(framework, **still))
    name = "params/stage2.block1.conv2.kernel"
    assert np.corrcoef(native.state[name].ravel(), shared.state[name].ravel())[0, 1] < 0.3
    expected = math.sqrt(2 / (9 * 10))
    assert native.state[name].std() == pytest.approx(expected, rel=0.1)
    again = finished(run(framework, randomness="native", threads=1, **still))
    np.testing.assert_allclose(again.state[name], native.state[name], rtol=1e-5)


def test_shared_randomness_starts_from_the_contract(run, framework):
    """With a learning rate of almost nothing the final weights are the ones drawn in numpy, in their canonical layout."""
    still = {"learning_rate": {"kind": "piecewise", "boundaries": [2], "values": [1e-12, 1e-12]}, "steps": 3}
    result = finished(run(framework, **still))
    spec = make_spec(framework, **still)
    for name, expected in initial_state(spec.training, seed=spec.seed).items():
        if name.startswith("params/"):
            np.testing.assert_allclose(result.state[name], expected, rtol=1e-5, atol=1e-9, err_msg=name)

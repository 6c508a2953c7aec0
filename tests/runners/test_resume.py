"""A run that is killed goes on from its checkpoint and ends with the same bits."""

import dataclasses
import itertools
import os
import signal
import time

import numpy as np
import pytest

from runners.contract.protocol.checkpoint import CHECKPOINT, load_state, state_sha256
from runners.contract.protocol.events import read_events
from tests.runners.harness import FRAMEWORKS, finished, frameworks, make_spec, outcome, start

# On one device op by op in JAX, and in TensorFlow: what two devices in mode jit show of them is quicker.
SLOW = (("jax", (12,)), ("tensorflow", (12,)))
STEPS = 40
LONG = {
    "steps": STEPS,
    "evaluate_every_steps": 20,
    "checkpoint_every_steps": 6,
    "determinism": "on",
    "learning_rate": {"kind": "piecewise", "boundaries": [9, 20], "values": [0.1, 0.03, 0.007]},
}


def kill_after_first_checkpoint(directory, process):
    """Kill -9 the runner a moment after its first checkpoint, in the middle of an epoch."""
    deadline = time.monotonic() + 120
    while not any(event["kind"] == "checkpointed" for event in read_events(directory)):
        assert process.poll() is None, (directory / "log.txt").read_text()
        assert time.monotonic() < deadline, "no checkpoint within two minutes"
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=30)


@pytest.mark.parametrize(
    ("framework", "shards"),
    [
        pytest.param(*case, marks=[getattr(pytest.mark, case[0]), *([pytest.mark.slow] if case in SLOW else [])])
        for case in itertools.product(FRAMEWORKS, [(12,), (7, 5)])
    ],
    indirect=["framework"],
)
def test_killed_and_resumed_is_bit_equal(run, framework, shards, tmp_path):
    """Kill -9 and resume gives the weights, statistics, momentum and metric of an uninterrupted run, bit for bit."""
    # Two devices op by op are slow in TensorFlow and JAX; PyTorch's traced program rounds otherwise when it is cold.
    mode = "eager" if len(shards) == 1 or framework == "torch" else "jit"
    whole = finished(run(framework, mode=mode, shards=shards, **LONG))
    spec = make_spec(framework, mode=mode, shards=shards, **LONG)
    kill_after_first_checkpoint(tmp_path, start(tmp_path, spec))
    _, step = load_state(tmp_path / CHECKPOINT)
    assert 0 < step < STEPS, "the run was over before it was killed"
    # As a user's does that goes on: that the bits are the same is the test.
    resumed = finished(outcome(tmp_path, start(tmp_path, spec, compiles_anew=True).wait(timeout=300)))
    assert any(event["kind"] == "resumed" and event["step"] == step for event in resumed.events)
    assert state_sha256(resumed.state) == state_sha256(whole.state)
    for name, expected in whole.state.items():
        np.testing.assert_array_equal(resumed.state[name], expected, err_msg=name)
    last = [event for event in resumed.events if event["kind"] == "finished"][-1]
    assert last["metrics"] == whole.metrics


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "shards", "needed"),
    [
        ("moco_lite", (12,), "stats/queue"),
        ("moco_lite", (8, 4), "stats/key.head.kernel"),
        ("tiny_mask_rcnn", (12,), "stats/box.bn.mean"),
        ("tiny_mask_rcnn", (7, 5), "momentum/mask.up.kernel"),
    ],
)
def test_a_checkpoint_holds_all_that_training_goes_on_from(framework, recipe, shards, needed, tmp_path):
    """Queue, key encoder and heads come back: the end has the bits of the whole run, and others if one of these was lost."""
    changes = {"recipe": recipe, "mode": "eager" if framework == "torch" else "jit", "shards": shards, "determinism": "on"}
    spec = make_spec(framework, steps=6, evaluate_every_steps=3, checkpoint_every_steps=4, **changes)

    def ended(name, state=None):
        directory = tmp_path / name
        directory.mkdir()
        if state is not None:
            np.savez(directory / CHECKPOINT, step=np.int64(4), **state)
        return finished(outcome(directory, start(directory, spec, compiles_anew=True).wait(timeout=300)))

    whole = ended("whole")
    state, step = load_state(tmp_path / "whole" / CHECKPOINT)
    assert step == 4
    resumed = ended("resumed", state)
    assert resumed.losses == whole.losses[4:]
    for name, expected in whole.state.items():
        np.testing.assert_array_equal(resumed.state[name], expected, err_msg=name)
    assert resumed.metrics == whole.metrics
    if whole.detections is not None:
        for field in dataclasses.fields(whole.detections):
            found, expected = (getattr(each.detections, field.name) for each in (resumed, whole))
            np.testing.assert_array_equal(found, expected, err_msg=field.name)
    lost = ended("lost", {**state, needed: np.zeros_like(state[needed])})
    assert state_sha256(lost.state) != state_sha256(whole.state)


@pytest.mark.parametrize("framework", frameworks("torch"), indirect=True)
def test_resume_needs_the_momentum(run, framework, tmp_path):
    """A checkpoint whose momentum is lost gives other weights: the comparison above can fail."""
    spec = make_spec(framework, **LONG)
    kill_after_first_checkpoint(tmp_path, start(tmp_path, spec))
    state, step = load_state(tmp_path / CHECKPOINT)
    for name in state:
        if name.startswith("momentum/"):
            state[name] = np.zeros_like(state[name])
    np.savez(tmp_path / CHECKPOINT, step=np.int64(step), **state)
    resumed = finished(outcome(tmp_path, start(tmp_path, spec).wait(timeout=300)))
    assert state_sha256(resumed.state) != state_sha256(finished(run(framework, **LONG)).state)


@pytest.mark.parametrize("framework", frameworks("torch", "jax"), indirect=True)
def test_a_state_moves_between_frameworks(run, framework, tmp_path):
    """A checkpoint of one framework is continued by another: names, layouts and conventions are the same."""
    other = {"torch": "tensorflow", "tensorflow": "jax", "jax": "torch"}[framework]
    fp64 = {**LONG, "precision": "fp64", "determinism": "off", "steps": 12}
    jit = {"mode": "jit"} if framework == "jax" else {}  # op by op, JAX compiles every operator of every shape
    kill_free = make_spec(other, **fp64)
    finished(outcome(tmp_path, start(tmp_path, kill_free).wait(timeout=300)))
    state, step = load_state(tmp_path / CHECKPOINT)
    target = tmp_path / "continued"
    target.mkdir()
    np.savez(target / CHECKPOINT, step=np.int64(step), **state)
    continued = finished(outcome(target, start(target, make_spec(framework, **fp64, **jit)).wait(timeout=300)))
    reference = finished(run("torch", **fp64))
    np.testing.assert_allclose(continued.losses, reference.losses[step:], rtol=1e-6)


def test_a_broken_checkpoint_is_named(framework, tmp_path):
    """A checkpoint that cannot be read ends the run with its path, not with a traceback alone."""
    (tmp_path / CHECKPOINT).write_bytes(b"PK\x03\x04 cut short")
    result = outcome(tmp_path, start(tmp_path, make_spec(framework)).wait(timeout=300))
    assert result.exit_code == 3
    assert str(tmp_path / CHECKPOINT) in result.failure["message"]

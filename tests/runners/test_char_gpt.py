"""A small GPT trains alike in every framework and on two devices, as the oracle does, with dropout too."""

from __future__ import annotations

import numpy as np
import pytest

from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from runners.contract.schedule import learning_rate
from tests.runners.harness import finished, make_spec
from vigil.verify.oracle import step as oracle

RATES = {"kind": "warm_up_cosine", "base": 0.01, "least": 0.001, "warm_up_steps": 2, "steps": 5}
# Of five steps, the first ones are clipped.
CLIPPED = {"norm": "global", "threshold": 0.5, "epsilon": 1e-6}


def changes_of(dropout, **changes):
    """Return what a run has besides the narrow model: float64, a rate that warms up, gradients that are clipped."""
    training = make_spec("torch", "char_gpt").training
    model, rule = {**training["model"], "dropout": dropout}, {**training["optimizer"], "clipping": CLIPPED}
    return {"recipe": "char_gpt", "precision": "fp64", "model": model, "optimizer": rule, "learning_rate": RATES, **changes}


def trajectory(spec):
    """Return the oracle's losses and its state after the spec's steps."""
    training, kind = spec.training, kind_of(spec.training)
    batches = kind.make_batches(kind.load(training["data"], None), training, seed=spec.seed)
    state = {name: array.astype(np.float64) for name, array in weights.initial_state(training, seed=spec.seed).items()}
    losses = []
    for step in range(training["steps"]):
        found = oracle.train_step(training, state, [batches.train(step)], learning_rate(training["learning_rate"], step))
        losses.append(float(found["loss"]))
        state = {name: found[name] for name in state}
    return losses, state


def assert_the_oracles(result, spec):
    """Raise unless every loss and the state agree to 1e-10 of each array's norm."""
    losses, state = trajectory(spec)
    np.testing.assert_allclose(result.losses, losses, rtol=1e-10)
    assert set(result.state) == set(state)
    for name, expected in state.items():
        assert np.linalg.norm(result.state[name] - expected) <= 1e-10 * np.linalg.norm(expected), name


@pytest.mark.parametrize(
    ("mode", "dropout"),
    [("jit", 0.0), ("jit", 0.25), *(pytest.param("eager", rate, marks=pytest.mark.slow) for rate in (0.0, 0.25))],
)
def test_five_steps_are_the_oracles(run, framework, mode, dropout):
    """Attention by the framework's own function, and by masks; decay of matrices alone; clipping; a rate that warms up."""
    changes = changes_of(dropout, mode=mode)
    assert_the_oracles(finished(run(framework, **changes)), make_spec(framework, **changes))


def test_two_devices_are_one(run, framework):
    """What is clipped is the sum of what uneven devices contribute, and each has its rows of the masks."""
    changes = changes_of(0.25, mode="jit", shards=(7, 5))
    assert_the_oracles(finished(run(framework, **changes)), make_spec(framework, **changes))


def test_without_clipping_it_is_another_run(run, framework):
    """The comparison above can fail: what is clipped is seen in the weights."""
    changes = changes_of(0.0, mode="jit")
    unclipped = {**changes, "optimizer": {**changes["optimizer"], "clipping": None}}
    with pytest.raises(AssertionError):
        assert_the_oracles(finished(run(framework, **unclipped)), make_spec(framework, **changes))


def test_attention_by_the_kernel_that_was_chosen(run, framework):
    """PyTorch's two on CPUs, and the one of each of the others, are within float32 of the oracle; those two are not the same."""
    found = []
    for attention in ("math", "flash") if framework == "torch" else ("math",):
        changes = changes_of(0.0, mode="jit", precision="fp32", attention=attention)
        result = finished(run(framework, **changes))
        np.testing.assert_allclose(result.losses, trajectory(make_spec(framework, **changes))[0], rtol=1e-5)
        found.append(result.state["params/block1.qkv.kernel"].tobytes())
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("framework", "changes", "reason"),
    [
        ("torch", {"attention": "efficient"}, "attention efficient: PyTorch has that kernel on GPUs alone"),
        ("tensorflow", {"attention": "flash"}, "attention flash: Keras has no fused attention on TensorFlow"),
        ("jax", {"attention": "cudnn"}, "attention cudnn: JAX has that kernel on GPUs alone"),
        ("jax", {"attention": "flash"}, "attention flash: jax.nn.dot_product_attention has math and cudnn"),
        ("jax", {"attention": "math", "precision": "fp64"}, "takes its softmax in float32"),
    ],
)
def test_a_kernel_that_is_not_there_is_refused(run, framework, changes, reason):
    """The run is unsupported, with the reason; no other kernel is taken in its place."""
    result = run(framework, **changes_of(0.0, **{"mode": "jit", "precision": "fp32", **changes}))
    assert result.exit_code != 0
    assert reason in str(result.events[-1])


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_native_dropout_is_a_frameworks_own(run, framework):
    """Its loss is another one each time that the seed is, the same where it is not."""
    losses = [
        finished(run(framework, **changes_of(0.25, mode="jit", randomness="native", seed=seed))).losses for seed in (3, 4)
    ]
    assert losses[0] != losses[1]
    assert all(3.0 < loss < 6.0 for loss in losses[0])


@pytest.mark.parametrize("framework", ["jax"])
def test_native_dropout_is_refused_where_steps_take_no_keys(run, framework):
    """JAX would need them in its state: it says so, and trains nothing."""
    result = run(framework, **changes_of(0.25, mode="jit", randomness="native"))
    assert result.exit_code != 0
    assert "a step in JAX takes no keys" in str(result.events[-1])

"""The shared initial state: complete, He-distributed, and the same bits at every call."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from runners.contract.data import streams
from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.checkpoint import state_sha256
from vigil.recipes.loading import load_recipe


def assert_he_distributed(state, training) -> None:
    """Raise unless each kernel is normal with mean 0 and variance 2 / fan_in."""
    for name, shape in kind_of(training).parameter_shapes(training["model"]).items():
        if name.endswith("kernel"):
            fan_in = shape[0] * shape[1] * shape[2] if len(shape) == 4 else shape[0]
            drawn = state[f"params/{name}"].ravel().astype(np.float64) / np.sqrt(2.0 / fan_in)
            assert stats.kstest(drawn, "norm").pvalue > 1e-4, name


def test_kernels_are_he_distributed(training):
    """Every kernel passes a Kolmogorov-Smirnov test against N(0, 2 / fan_in)."""
    assert_he_distributed(weights.initial_state(training, seed=0), training)


def test_fan_out_instead_of_fan_in_is_caught(training, monkeypatch):
    """Kernels scaled by the wrong fan fail the test of their distribution."""
    monkeypatch.setattr(weights, "deviation", lambda rule, shape: np.sqrt(2.0 / (np.prod(shape[:-2]) * shape[-1])))
    with pytest.raises(AssertionError):
        assert_he_distributed(weights.initial_state(training, seed=0), training)


def test_the_state_has_every_name_and_shape(training):
    """Parameters, momentum and statistics are all there, float32, in the canonical shapes."""
    state = weights.initial_state(training, seed=0)
    kind, model = kind_of(training), training["model"]
    parameters = kind.parameter_shapes(model)
    expected = {f"{group}/{name}": shape for group in ("params", "momentum") for name, shape in parameters.items()}
    expected |= {f"stats/{name}": shape for name, shape in kind.statistic_shapes(model).items()}
    assert {name: array.shape for name, array in state.items()} == expected
    assert {array.dtype for array in state.values()} == {np.dtype(np.float32)}


def test_what_is_not_drawn_is_constant(training):
    """Momentum, means and biases begin at 0, variances and scales at 1."""
    for name, array in weights.initial_state(training, seed=0).items():
        if name.startswith("momentum/") or name.endswith((".mean", ".bias")):
            assert not array.any(), name
        elif name.endswith((".variance", ".scale")):
            assert (array == 1.0).all(), name


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(training):
    """The state is a function of the seed: every kernel changes with it, nothing else does."""
    first, again, other = (weights.initial_state(training, seed=seed) for seed in (0, 0, 1))
    assert state_sha256(first) == state_sha256(again)
    changed = {name for name in first if not np.array_equal(first[name], other[name])}
    assert changed == {name for name in first if name.startswith("params/") and name.endswith("kernel")}


def test_a_stream_shared_by_all_kernels_is_caught(training, monkeypatch):
    """Kernels of one shape differ; drawn from one stream they would not."""

    def are_different() -> bool:
        state = weights.initial_state(training, seed=0)
        first, second = (state[f"params/stage1.block1.conv{index}.kernel"] for index in (1, 2))
        return not np.array_equal(first, second)

    assert are_different()
    raw = streams.raw
    monkeypatch.setattr(streams, "raw", lambda seed, name, index=0, *, count: raw(seed, "", count=count))
    assert not are_different()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"distribution": "normal", "mean": 0.0, "variance": 2.0, "per": "fan_avg"}, "allowed are fan_in, fan_out"),
        ({"distribution": "uniform"}, "allowed are normal, constant"),
    ],
)
def test_an_unknown_rule_is_refused(training, rule, message):
    """An init rule that is not known is an error that names the allowed ones."""
    training["model"]["init"]["head.kernel"] = rule
    with pytest.raises(ValueError, match=message):
        weights.initial_state(training, seed=0)


def test_moco_begins_with_two_equal_encoders_and_a_queue_of_norm_1():
    """The key encoder is a copy, not the same memory; the queue's rows have norm 1 and point anywhere."""
    training = load_recipe("moco_lite").resolve("smoke")
    state = weights.initial_state(training, seed=0)
    for name in kind_of(training).parameter_shapes(training["model"]):
        np.testing.assert_array_equal(state[f"params/{name}"], state[f"stats/key.{name}"])
        assert not np.shares_memory(state[f"params/{name}"], state[f"stats/key.{name}"])
    np.testing.assert_allclose(np.linalg.norm(state["stats/queue"], axis=1), 1, rtol=1e-6)
    assert np.abs(state["stats/queue"].mean(axis=0)).max() < 0.1
    kernel = state["params/stage2.block1.conv1.kernel"].ravel().astype(np.float64)
    assert stats.kstest(kernel / np.sqrt(2.0 / (3 * 3 * 16)), "norm").pvalue > 1e-4

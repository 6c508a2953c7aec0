"""The frameworks agree with each other, and any number of devices with one, in float64 where rounding hides nothing."""

import numpy as np
import pytest

from tests.runners.harness import FRAMEWORKS, finished

EVEN, UNEVEN = (6, 6), (7, 5)


def assert_same_losses(ours, reference):
    """Raise unless the losses of every step agree to 1e-9 relative."""
    assert len(ours.losses) == len(reference.losses) == 5
    np.testing.assert_allclose(ours.losses, reference.losses, rtol=1e-9, atol=0)


def assert_same_state(ours, reference):
    """Raise unless every array agrees to 1e-8 of its norm, under the same names."""
    assert set(ours.state) == set(reference.state)
    for name, expected in reference.state.items():
        distance = np.linalg.norm(ours.state[name] - expected)
        assert distance <= 1e-8 * np.linalg.norm(expected), name  # false for a distance that is not a number


@pytest.fixture(scope="module")
def oracle(run):
    """The float64 run of PyTorch, eager, one device: one of three that must be equal."""
    return finished(run("torch", precision="fp64"))


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_frameworks_agree_in_float64(run, framework, mode, oracle):
    """Same seed, float64, one device: losses of the first five steps and the state after them are equal in all frameworks."""
    result = finished(run(framework, precision="fp64", mode=mode))
    assert_same_losses(result, oracle)
    assert_same_state(result, oracle)


@pytest.mark.parametrize(
    ("mode", "shards"), [("jit", EVEN), ("jit", UNEVEN), pytest.param("eager", UNEVEN, marks=pytest.mark.slow)]
)
def test_two_devices_are_one_under_synchronised_batch_norm(run, framework, mode, shards, oracle):
    """Two devices, even or uneven shards, give the losses and the state of one device."""
    result = finished(run(framework, precision="fp64", mode=mode, shards=shards))
    assert_same_losses(result, oracle)
    assert_same_state(result, oracle)
    assert result.metrics["test_accuracy"] == oracle.metrics["test_accuracy"]
    assert result.metrics["test_loss"] == pytest.approx(oracle.metrics["test_loss"], rel=1e-9)


@pytest.mark.parametrize("shards", [pytest.param(EVEN, marks=pytest.mark.slow), UNEVEN])
def test_frameworks_agree_per_device(run, framework, shards, oracle):
    """Batch norm per device means the same in all frameworks, and is not the synchronised one."""
    reference = finished(run("torch", precision="fp64", shards=shards, across_devices="per_device"))
    result = finished(run(framework, precision="fp64", mode="jit", shards=shards, across_devices="per_device"))
    assert_same_losses(result, reference)
    assert_same_state(result, reference)
    assert abs(result.losses[0] / oracle.losses[0] - 1) > 1e-6


def test_compiled_tensorflow_on_two_devices_needs_batch_norm_per_device(run):
    """What is unsupported with synchronised batch norm says so, and works per device."""
    refused = run("tensorflow", mode="compile", shards=EVEN)
    assert (refused.exit_code, refused.failure["category"]) == (3, "unsupported")
    assert "batch norm" in refused.failure["message"]
    assert len(finished(run("tensorflow", mode="compile", shards=EVEN, across_devices="per_device")).losses) == 5


def test_a_wrong_convention_would_be_seen(run, framework, oracle):
    """Another seed is far beyond the tolerance: the comparison can fail."""
    with pytest.raises(AssertionError):
        assert_same_state(finished(run(framework, precision="fp64", seed=4)), oracle)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_low_precision_is_near_float64(run, framework, precision, oracle):
    """The first loss is within rounding of float64: 2**-16 for float32 sums, 2**-6 for bfloat16 (measured: 1e-7 and 1e-4)."""
    mode = "jit" if (framework, precision) == ("jax", "bf16") else "eager"  # eager: see tests/verify
    result = finished(run(framework, precision=precision, mode=mode))
    bound = {"fp32": 2.0**-16, "bf16": 2.0**-6}[precision]
    assert abs(result.losses[0] / oracle.losses[0] - 1) < bound


def test_every_framework_is_covered():
    """The three frameworks of the mission are the ones tested."""
    assert FRAMEWORKS == ("torch", "tensorflow", "jax")

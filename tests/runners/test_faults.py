"""The shipped example faults do what they say, in every framework, and a run says that it carries one."""

import numpy as np
import pytest

from runners.contract.protocol.faults import file_sha256
from tests.runners.harness import ROOT, finished, make_spec, outcome, start


def fault(name):
    """Return the spec's entry for a shipped fault."""
    path = ROOT / "tests" / "faults" / f"{name}.py"
    return {"path": str(path), "name": name, "sha256": file_sha256(path)}


def distance(ours, reference, name):
    """Return the relative distance of one array."""
    return np.linalg.norm(ours.state[name] - reference.state[name]) / np.linalg.norm(reference.state[name])


@pytest.fixture
def clean(run, framework):
    """One step without a fault."""
    return finished(run(framework, precision="fp64", steps=1))


def test_ignored_weight_decay_changes_only_the_decay(run, framework, clean):
    """Without decay the momentum of a parameter lacks 0.01 times the parameter, and nothing else is different."""
    faulted = finished(run(framework, precision="fp64", steps=1, fault=fault("weight_decay_ignored")))
    assert faulted.losses == clean.losses
    name = "head.kernel"
    start_value = clean.state[f"params/{name}"] + 0.1 * clean.state[f"momentum/{name}"]
    missing = clean.state[f"momentum/{name}"] - faulted.state[f"momentum/{name}"]
    np.testing.assert_allclose(missing, 0.01 * start_value, rtol=1e-6, atol=1e-12)


def test_slow_batch_norm_moves_statistics_a_hundredth(run, framework, clean):
    """The running mean after one step is a hundredth of the right one; parameters are equal."""
    faulted = finished(run(framework, precision="fp64", steps=1, fault=fault("batch_norm_momentum")))
    for name in ("stem.bn.mean", "stage2.block1.bn2.mean"):
        np.testing.assert_allclose(faulted.state[f"stats/{name}"] * 100, clean.state[f"stats/{name}"], rtol=1e-6)
    assert distance(faulted, clean, "params/head.kernel") < 1e-12


def test_halved_gradient_halves_one_layer(run, framework, clean):
    """The stem's gradient is halved, every other one is what it was."""
    faulted = finished(run(framework, precision="fp64", steps=1, fault=fault("weight_gradient_halved")))
    name = "params/stem.conv.kernel"
    decay = 0.01 * (clean.state[name] + 0.1 * clean.state["momentum/stem.conv.kernel"])
    gradient = clean.state["momentum/stem.conv.kernel"] - decay
    np.testing.assert_allclose(faulted.state["momentum/stem.conv.kernel"] - decay, gradient / 2, rtol=1e-5, atol=1e-12)
    assert distance(faulted, clean, "momentum/stage1.block1.conv1.kernel") < 1e-9


def test_a_changed_fault_file_is_refused(framework, tmp_path):
    """A fault file that is not the one planned ends the run with category fault, before any training."""
    entry = {**fault("weight_decay_ignored"), "sha256": "0" * 64}
    result = outcome(tmp_path, start(tmp_path, make_spec(framework, fault=entry)).wait(timeout=120))
    assert result.failure["category"] == "fault"
    assert not result.losses

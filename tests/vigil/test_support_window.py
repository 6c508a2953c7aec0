"""The support window of docs/releases.md: runners start, train and take right steps in old and new releases. Needs a network."""

from __future__ import annotations

import json

import pytest

from vigil.cli.main import main

OLDEST = ("jax==0.4.30", "tensorflow==2.16.1")
TOO_OLD = {"jax==0.4.28": "PathContains", "tensorflow==2.15.1": "LossScaleOptimizer"}
WINDOW = (
    *("jax==0.4.30", "jax==0.4.38", "jax==0.6.2", "jax==0.10.2"),
    *("tensorflow==2.16.1", "tensorflow==2.18.0", "tensorflow==2.19.1", "tensorflow==2.20.0", "tensorflow==2.21.0"),
)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return this test's folder of runs; environments are those of the user's cache, built where they are not there."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return tmp_path / "runs"


def documents(runs, name: str) -> list[dict]:
    """Return every document of this name, the oldest first."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(runs.glob(f"*/{name}"))]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", WINDOW)
def test_a_release_of_the_window_trains_and_takes_right_steps(runs, release):
    """Smoke, every phase; then single steps against float64 in modes jit and eager, in the very release that was named."""
    assert main(["reproduce", "resnet_cifar", "--profile", "smoke", "--no-verify", "--release", release]) == 0
    [invocation] = documents(runs, "invocation.json")
    record = json.loads((runs / invocation["invocation_id"] / "seed0" / "record.json").read_text(encoding="utf-8"))
    assert record["environment"]["framework_version"] == release.split("==")[1]
    for mode in ("jit", "eager"):
        assert main(["verify", "resnet_cifar", "--mode", mode, "--release", release]) == 0
    verified = documents(runs, "verify.json")
    assert [each["verdict"]["name"] for each in verified] == ["reproduced"] * 2
    assert {each["environment"]["framework_version"] for each in verified} == {release.split("==")[1]}
    # The probes are answered by what is named: flax of another release has other conventions, which a runner must know.
    assert all(each["release"] == invocation["release"] for each in verified)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", ["jax==0.4.38", "tensorflow==2.19.1"])
def test_a_planted_fault_is_found_in_an_old_release_too(runs, release):
    """Right steps in the test above are no proof that the probes see anything there: a missing weight decay must show."""
    # Not one that replaces a layer's insides: flax 0.10 has others.
    fault = "tests/faults/weight_decay_ignored.py"
    assert main(["verify", "resnet_cifar", "--release", release, "--fault", fault]) == 1
    [document] = documents(runs, "verify.json")
    assert document["verdict"]["name"] == "regressed"
    assert document["origin"]["quantity"] == "weight decay"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", OLDEST)
def test_a_runner_starts_in_the_oldest_release(runs, release):
    """And trains to its end, with packages of that time."""
    assert main(["reproduce", "resnet_cifar", "--profile", "smoke", "--no-verify", "--release", release]) == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", TOO_OLD)
def test_below_the_oldest_release_a_runner_says_what_it_lacks(runs, release):
    """The siblings are of its own time, so what is missing is the framework's own, and no clash of two times."""
    assert main(["reproduce", "resnet_cifar", "--profile", "smoke", "--no-verify", "--release", release]) == 3
    [invocation] = documents(runs, "invocation.json")
    assert invocation["verdict"]["name"] == "failed:crash"
    assert TOO_OLD[release] in "\n".join(invocation["verdict"]["failure"]["log_tail"])
    pins = dict(pin.split("==") for pin in invocation["release"]["pins"])
    assert pins.get("jaxlib", release.split("==")[1]) == release.split("==")[1]

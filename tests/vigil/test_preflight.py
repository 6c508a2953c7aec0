"""`vigil preflight`: what would fail late is found before; what holds is said to."""

from __future__ import annotations

import dataclasses
import re

import pytest

from benchmarks.preflight import PLANTS, Plant, found_by, preflight_of
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.documents.preflight import FAILS, HOLDS, WARNS, Preflight
from vigil.recipes.loading import load_recipe
from vigil.runs.memory import available_memory
from vigil.runs.plan import Request
from vigil.runs.rehearsal import expected_seconds

RAISES = """
def install():
    from runners.torch import train
    def evaluate(self, batches):
        raise RuntimeError("stack expects each tensor to be equal size")
    train.Trainer.evaluate = evaluate
"""


@pytest.mark.torch
def test_what_holds_is_said_to_with_what_is_ahead(tmp_path) -> None:
    document = preflight_of(None, tmp_path)
    assert {each.outcome for each in document.checks} == {HOLDS}, document.checks
    assert document.exit_code == 0
    assert (document.ahead.steps, document.ahead.seeds) == (135, 1)
    assert 0.0 < document.ahead.step_seconds < document.ahead.seconds
    assert document.ahead.bytes > 10_000
    assert [each.name for each in (tmp_path / "runs" / "preflight").iterdir()] == [Preflight.FILE_NAME]
    assert not (tmp_path / "mlflow.db").exists() or (tmp_path / "mlflow.db").stat().st_size == 0


@pytest.mark.torch
def test_a_long_run_that_would_fail_is_not_begun(tmp_path, monkeypatch, capsys) -> None:
    """Twelve minutes are ahead; evaluation would fail. Nothing is trained, and the line of the log that says why is shown."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    fault = tmp_path / "raises.py"
    fault.write_text(RAISES)
    code = main(["reproduce", "digits_mlp", "--framework", "torch", "--seeds", "6", "--fault", str(fault)])
    error = " ".join(capsys.readouterr().err.split())
    assert code == 3
    assert "WOULD FAIL: digits_mlp, profile quick, torch-jit-fp32-x1: first steps, when an evaluation" in error
    assert "stack expects each tensor to be equal size" in error
    assert "tensor mismatch (deep learning): Compare the shapes" in error
    [directory] = (tmp_path / "runs").iterdir()
    document = Preflight.read(directory)
    assert [each.name for each in document.failing] == ["first steps"]
    assert document.ahead is None


@pytest.mark.parametrize(("limit", "expected"), [("max", 900 * 1024), ("700000\n", 350_000), ("9999999\n", 900 * 1024)])
def test_what_a_group_keeps_of_files_counts_as_free(tmp_path, limit, expected) -> None:
    """Else every container that has read a data set would be short of memory."""
    files = {
        "proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 900 kB\n",
        "sys/fs/cgroup/memory.max": limit,
        "sys/fs/cgroup/memory.current": "650000\n",
        "sys/fs/cgroup/memory.stat": "anon 350000\ninactive_file 200000\nactive_file 100000\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert available_memory(tmp_path) == expected
    assert available_memory(tmp_path / "nothing") is None


@pytest.mark.torch
def test_a_learning_rate_that_is_no_number_from_the_first_step_on_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("vigil.runs.rehearsal.learning_rate", lambda schedule, step: float("inf"))
    [check] = preflight_of(None, tmp_path).failing
    assert (check.name, check.says) == ("learning rate", "ValueError: at step 0 it is inf")


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("share", "outcome", "code"), [(1.12, WARNS, 0), (0.9, FAILS, 3)])
def test_memory_that_may_be_short_is_warned_of(tmp_path, monkeypatch, share, outcome, code) -> None:
    """What a rehearsal itself took is needed; that a run takes more is likely, and not sure."""
    has = int(share * preflight_of(None, tmp_path / "before").ahead.peak_bytes)
    monkeypatch.setattr("vigil.runs.rehearsal.available_memory", lambda: has)
    document = preflight_of(None, tmp_path / "after")
    assert [(each.name, each.outcome) for each in document.checks if each.outcome != HOLDS] == [("memory", outcome)]
    assert document.exit_code == code


@pytest.mark.slow
@pytest.mark.torch
def test_the_largest_batch_that_would_fit_is_told(tmp_path, monkeypatch) -> None:
    """A step takes 10 MiB a row more than it should; 200 MiB more are there than a step without rows takes."""
    plant = Plant("memory by rows", "any step", "memory", """
own = train.Trainer.train_step
def train_step(self, images, labels, learning_rate):
    taken = torch.ones(len(images), 10 * 2**18)
    return own(self, images, labels, learning_rate) + 0 * taken.sum()
train.Trainer.train_step = train_step
""")  # fmt: skip
    before = preflight_of(None, tmp_path / "before").ahead.peak_bytes
    rows = load_recipe("digits_mlp").resolve("quick")["batch_size"]
    has = int(1.25 * (before + 10 * 2**20 * rows / 2))
    monkeypatch.setattr("vigil.runs.rehearsal.available_memory", lambda: has)
    [check] = preflight_of(plant, tmp_path / "after").failing
    told = int(re.search(r"a batch of (\d+) would fit", check.says)[1])
    assert check.name == "memory"
    assert abs(told - rows / 2) < rows / 8


def test_what_is_ahead_is_what_the_profile_is_for_until_a_run_is_there(tmp_path) -> None:
    request = Request(
        recipe=load_recipe("digits_mlp"), recipe_source="digits_mlp", profile="quick", context=make_context(framework="torch"),
        seeds=(0, 1, 2), fault=None, command="",
    )  # fmt: skip
    assert expected_seconds(request, tmp_path) == 360.0
    assert expected_seconds(dataclasses.replace(request, profile="smoke"), tmp_path) == 30.0


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("plant", PLANTS, ids=[each.name for each in PLANTS])
def test_planted_late_failures_are_found_where_they_can_be(tmp_path, plant) -> None:
    assert found_by(preflight_of(plant, tmp_path)) == plant.found


def test_two_of_thirty_cannot_be_found() -> None:
    assert (len(PLANTS), sum(each.found is None for each in PLANTS)) == (30, 2)

"""A runner that hangs says where: which rank waits in what, and which has not come; what computes for long is told from it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import vigil.process.execute
from runners.contract.protocol.events import read_events
from runners.contract.protocol.spec import write_spec
from tests.runners import fork_server
from tests.runners.harness import make_spec
from vigil.documents.context import make_context
from vigil.documents.record import Record
from vigil.process.build_spec import fault_entry
from vigil.process.execute import execute
from vigil.process.recording import make_record

DATA = {"name": "digits", "n_train": 1797, "n_test": 1797}
FAULTS = Path(__file__).resolve().parents[1] / "faults"


@pytest.fixture(autouse=True)
def _forked(monkeypatch, tmp_path):
    """Runners start from a process that has their framework imported."""
    monkeypatch.setattr(vigil.process.execute, "_start", fork_server.execute_start)
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))


def ended(directory: Path, framework: str, fault: str, *, timeout: float = 8.0, **changes) -> Record:
    """Train with a fault, and end what has made no progress for some seconds."""
    planted = fault_entry(str(FAULTS / f"{fault}.py"))
    spec = make_spec(framework, "digits_mlp", data=DATA, fault=planted, heartbeat_seconds=0.2, **changes)
    directory.mkdir()
    write_spec(directory, spec)
    shards = spec.shards if spec.devices > 1 else None
    context = make_context(framework=framework, mode=spec.mode, devices=spec.devices, shards=shards)
    ending = execute(directory, framework, on_event=lambda event: None, progress_timeout=timeout)
    record = make_record(directory, invocation_id="i", context=context, ending=ending)
    assert not list(directory.glob("stacks-*")), "what the stacks were written to is left"
    return Record.read(directory) if record else record


@pytest.mark.torch
def test_the_rank_that_has_not_come_is_named(tmp_path):
    """One waits in the sum of gradients, the other sleeps: the record has the stacks of both."""
    record = ended(tmp_path / "run", "torch", "rank_stays_away", shards=(7, 5))
    failure = record.failure
    assert failure is not None
    assert failure.category == "hang"
    waits, away = failure.processes
    assert (waits.rank, away.rank) == (0, 1)
    assert waits.collective is not None
    assert away.collective is None
    assert away.where.startswith("sleep_for_ever (rank_stays_away.py:")
    assert any("sleep_for_ever" in line for line in away.stacks)
    assert f"rank 0 waits in {waits.collective}" in failure.message
    assert f"rank 1 has not come: it is in {away.where}, idle" in failure.message
    assert len(record.losses) == 2


def test_a_loader_that_sleeps_is_where_the_runner_is(framework, tmp_path):
    """No device is to blame: the frame of the loader is named, and it is idle."""
    failure = ended(tmp_path / "run", framework, "loader_sleeps", mode="jit").failure
    assert failure is not None
    [process] = failure.processes
    assert (process.collective, failure.category) == (None, "hang")
    assert "it is in sleep_for_ever (loader_sleeps.py:" in failure.message
    assert "idle" in failure.message
    assert any("training_batches" in line for line in process.stacks)


@pytest.mark.torch
def test_what_computes_is_not_called_idle(tmp_path):
    """A step without end has processor time: the message says slow, or a loop; it is ended all the same."""
    failure = ended(tmp_path / "run", "torch", "step_never_ends").failure
    assert failure is not None
    assert "it computes" in failure.message
    assert "idle" not in failure.message
    assert failure.processes[0].cpu_seconds > 0.1 * failure.processes[0].watched_seconds


@pytest.mark.torch
def test_a_slow_run_that_moves_is_not_ended(tmp_path, monkeypatch):
    """Steps of half a second under a limit of three: it finishes, and nobody was asked for a stack."""
    fault = tmp_path / "slow.py"
    fault.write_text(
        "import time\n"
        "from runners.torch.train import Trainer\n\n\n"
        "def install():\n"
        "    original = Trainer.train_step\n"
        "    Trainer.train_step = lambda *given: (time.sleep(0.7), original(*given))[1]\n"
    )
    monkeypatch.setattr(vigil.process.execute, "hung_processes", lambda *given, **options: pytest.fail("it was ended"))
    directory = tmp_path / "run"
    directory.mkdir()
    spec = make_spec("torch", "digits_mlp", data=DATA, fault=fault_entry(str(fault)), heartbeat_seconds=0.2, steps=8)
    write_spec(directory, spec)
    started = time.monotonic()
    ending = execute(directory, "torch", on_event=lambda event: None, progress_timeout=3.0)
    assert (ending.exit_code, ending.hang) == (0, None)
    assert time.monotonic() - started > 3.0
    assert [event for event in read_events(directory) if event["kind"] == "finished"]

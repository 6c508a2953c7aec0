"""What `vigil replay` is given: which run and step it takes, and what it refuses before anything is started."""

from __future__ import annotations

import dataclasses
import math

import pytest

import vigil.cli.replay
import vigil.replay.ask
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.spec import read_spec, write_spec
from tests.vigil.requested import QUIET
from vigil.cli.main import main
from vigil.documents.context import make_context
from vigil.errors import CannotRun
from vigil.process.execute import Ending
from vigil.process.recording import make_record
from vigil.replay.replay import what_is_sought
from vigil.runs.carry_out import carry_out

CONTEXT = make_context(framework="torch", mode="eager")


def a_record(directory, *, losses, category: str | None = None, step: int = 0):
    """Write the events of a run that ended, and return its record."""
    writer = EventWriter(directory, heartbeat_seconds=60.0)
    writer.emit("started", pid=1, framework="torch")
    writer.emit("environment", environment={"framework_version": "1.0"})
    writer.emit("steps", step=len(losses), losses=losses)
    if category:
        writer.emit("failed", category=category, message="m", step=step, traceback="")
    writer.close()
    return make_record(directory, invocation_id="i", context=CONTEXT, ending=Ending(3))


@pytest.mark.parametrize(
    ("losses", "category", "failed_at", "step", "sought"),
    [
        # In a block of losses that was fetched at once, later ones are not finite either: the first is sought.
        ([2.0, 1.0, math.nan, math.inf, 0.5], "nan_loss", 5, None, (2, False)),
        ([math.inf], "nan_loss", 1, None, (0, False)),
        ([2.0, 1.0, 0.5], "nan_state", 3, None, (2, False)),
        ([2.0, 1.0, 0.5], "crash", 3, 2, (1, True)),
        ([2.0, 1.0, math.nan, 0.5], "nan_loss", 4, 3, (2, True)),
    ],
)
def test_the_step_that_is_sought(run_directory, losses, category, failed_at, step, sought):
    """The one of the first loss that is not finite, the one before a bad state, or the one that is named."""
    record = a_record(run_directory, losses=losses, category=category, step=failed_at)
    assert dataclasses.astuple(what_is_sought(record, step=step, steps=4)) == sought


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (None, "all 2 losses of this run are finite. Name the step"),
        ("3", "--step: found 3. Allowed: 1 to 2"),
        ("0", "--step: found '0'"),
        ("x", "--step: found 'x'"),
    ],
)
def test_a_step_that_cannot_be_gone_to_is_wrong_usage(run_directory, capsys, step, said):
    """Where every loss is finite one must be named, and there must be one of that number."""
    spec = read_spec(run_directory)
    write_spec(run_directory, dataclasses.replace(spec, training={**spec.training, "steps": 2}))
    a_record(run_directory, losses=[2.0, 1.0], category="crash", step=2)
    assert main(["replay", str(run_directory), *(["--step", step] if step else [])]) == 2
    assert said in capsys.readouterr().err
    assert not (run_directory / "replay").exists()


def test_what_is_no_run_is_said(tmp_path, run_directory, capsys):
    """No directory, an empty one, and a run that has not ended."""
    assert main(["replay", str(tmp_path / "gone")]) == 2
    assert "gone: no such directory" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["replay", str(tmp_path / "empty")]) == 3
    assert "spec.json" in capsys.readouterr().err
    assert main(["replay", str(run_directory)]) == 2
    assert "a run that has ended" in capsys.readouterr().err


def test_another_release_than_the_runs_is_refused(run_directory, monkeypatch, capsys):
    """What is finite there says nothing of the run, and `not repeated` would blame the machine."""
    spec = read_spec(run_directory)
    write_spec(run_directory, dataclasses.replace(spec, training={**spec.training, "steps": 2}))
    a_record(run_directory, losses=[2.0, math.nan], category="nan_loss", step=2)

    def begins(directory, framework, *, on_event, **options):
        on_event({"kind": "environment", "environment": {"framework_version": "2.0"}})
        raise AssertionError("it goes on")

    monkeypatch.setattr(vigil.replay.ask, "execute", begins)
    assert main(["replay", str(run_directory)]) == 3
    assert "found release 2.0, but the run was made with 1.0. Replay it with that." in capsys.readouterr().err


def test_of_an_invocation_the_run_that_ended_so_is_taken(scripted, planned, monkeypatch, capsys):
    """The first of its seeds; without one a step must be named."""
    scripted({0: 80.0, 1: "nan_loss", 2: "nan_loss"})
    directory = planned()
    carry_out(directory, watch=QUIET)
    taken = []

    def stopped(run, **options):
        taken.append(run.name)
        raise CannotRun("far enough")

    monkeypatch.setattr(vigil.cli.replay, "replay", stopped)
    assert main(["replay", str(directory)]) == 3
    assert main(["replay", str(directory), "--step", "1"]) == 3
    assert taken == ["seed1", "seed0"]
    capsys.readouterr()
    scripted({0: 80.0})
    directory = planned(seeds=[0])
    carry_out(directory, watch=QUIET)
    assert main(["replay", str(directory)]) == 2
    assert "no run of it ended with a number that is not finite" in capsys.readouterr().err


def test_a_fault_that_no_command_has_named_is_not_run(run_directory, tmp_path, capsys):
    """A directory from somebody else may name any file: replaying would execute it."""
    file = tmp_path / "theirs.py"
    file.write_text("def install():\n    raise SystemExit('it was run')\n")
    spec = read_spec(run_directory)
    write_spec(run_directory, dataclasses.replace(spec, fault={"path": str(file), "name": "theirs", "sha256": "ab12"}))
    a_record(run_directory, losses=[math.nan], category="nan_loss", step=1)
    assert main(["replay", str(run_directory)]) == 2
    said = capsys.readouterr().err
    assert "no command of yours has named" in said
    assert f"vigil replay {run_directory} --fault {file}" in said

"""One command's runs: planned whole, carried out one by one, judged together, and continued where they stopped."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vigil.runs.carry_out as module
import vigil.runs.plan
import vigil.tracking.uploads
import vigil.verify.golden
import vigil.verify.standards
from runners.contract.protocol.checkpoint import CHECKPOINT, save_state
from runners.contract.protocol.events import EventWriter
from runners.contract.protocol.spec import read_spec
from tests.vigil.requested import QUIET, nothing, request
from tests.vigil.scripted import end_run
from vigil.data.official import DataError
from vigil.documents.invocation import Invocation
from vigil.errors import CannotRun, DirectoryError, UsageError
from vigil.process import directories as run_directories
from vigil.process.directories import alone_in, new_directory
from vigil.process.execute import Ending
from vigil.process.recording import read_record
from vigil.references.admission import row_from_record
from vigil.runs.carry_out import Interruption, carry_out, read_invocation
from vigil.runs.plan import preflight
from vigil.runs.watch import Watch
from vigil.tracking import TrackingUnavailable


def test_everything_is_planned_before_anything_runs(planned):
    """Every run has its directory and spec, and the invocation its file, without a verdict."""
    directory = planned(devices=2, shards="40,24")
    assert sorted(path.name for path in directory.iterdir()) == [Invocation.FILE_NAME, "seed0", "seed1", "seed2"]
    assert [read_spec(directory / f"seed{seed}").seed for seed in range(3)] == [0, 1, 2]
    assert read_spec(directory / "seed1").shards == (40, 24)
    assert read_spec(directory / "seed1").run_id == f"{directory.name}-seed1"
    invocation = read_invocation(directory)
    assert invocation.runs == ("seed0", "seed1", "seed2")
    assert (invocation.verdict, invocation.tracking, invocation.fault) == (None, None, None)
    assert "-resnet_cifar-smoke-torch-eager-fp32-x2-s40+24-" in directory.name


def test_two_invocations_in_one_second_have_two_names_wherever_they_lie(tmp_path, monkeypatch):
    """MLflow knows them by their names: machines that share a tracker must not replace each other's runs."""
    names = {new_directory(tmp_path / str(machine), "20261122-011700-resnet_cifar").name for machine in range(3)}
    assert len(names) == 3
    digits = iter(["0a1b", "0a1b", "2c3d"])
    monkeypatch.setattr(run_directories.secrets, "token_hex", lambda n_bytes: next(digits))
    assert [new_directory(tmp_path / "one", "name").name for _ in range(2)] == ["name-0a1b", "name-2c3d"]


def test_all_runs_finish_and_are_judged_together(scripted, planned):
    """Three seeds run in order; without a reference the verdict is unknown, with every value, and it is on disk."""
    started = scripted({0: 80.0, 1: 81.0, 2: 82.0})
    directory = planned()
    told = []
    watch = Watch(on_start=lambda *facts: told.append(facts), on_end=lambda record: told.append(record.seed))
    invocation = carry_out(directory, watch=watch).invocation
    assert started == [("torch", 0), ("torch", 1), ("torch", 2)]
    assert [fact if isinstance(fact, int) else fact[1:] for fact in told] == [(0, 3), 0, (1, 3), 1, (2, 3), 2]
    assert told[0][0].training["steps"] == request().recipe.resolve("smoke")["steps"]
    verdict = invocation.verdict
    assert (verdict.name, verdict.mean) == ("unknown", 81.0)
    assert [value.value for value in verdict.values] == [80.0, 81.0, 82.0]
    assert read_invocation(directory) == invocation
    assert invocation.tracking.as_json() == {"uri": "u", "experiment": "e", "run_id": "r"}


@pytest.mark.parametrize(("value", "name"), [(80.4, "reproduced"), (60.0, "regressed"), (95.0, "better-than-reference")])
def test_a_value_is_judged_by_the_reference(reference, scripted, planned, value, name):
    """A value inside the band, far below and far above it get their three verdicts."""
    scripted({0: value})
    verdict = carry_out(planned(seeds=[0]), watch=QUIET).invocation.verdict
    assert (verdict.name, verdict.band.n) == (name, 12)


def test_one_failed_run_of_three_decides_the_verdict(scripted, planned):
    """The other two values are kept but not judged; the remaining seeds still run."""
    started = scripted({0: 80.0, 1: "nan_loss", 2: 82.0})
    verdict = carry_out(planned(), watch=QUIET).invocation.verdict
    assert len(started) == 3
    assert (verdict.name, verdict.reason, verdict.mean) == ("failed:nan_loss", "nan_loss on purpose", None)
    assert [(entry.seed, entry.verdict) for entry in verdict.values] == [(0, "not judged"), (2, "not judged")]
    failure = verdict.failure.as_json()
    assert failure.pop("triage")["category"] == "loss_nan"
    assert failure == {"seed": 1, "category": "nan_loss", "phase": "import", "step": 4, "log_tail": []}


def test_a_refused_context_is_not_asked_again_for_further_seeds(scripted, planned):
    """The first `unsupported` ends the invocation; the runs that never began are struck off."""
    started = scripted({0: "unsupported", 1: 80.0, 2: 80.0})
    invocation = carry_out(planned(), watch=QUIET).invocation
    assert started == [("torch", 0)]
    assert (invocation.verdict.name, invocation.runs) == ("unsupported", ("seed0",))


def test_an_interrupted_invocation_has_no_verdict_and_is_continued(scripted, planned):
    """After Ctrl-C in the second of three runs nothing further starts; resuming runs the second and third alone."""
    started = scripted({0: 80.0, 1: "interrupted", 2: 82.0})
    directory = planned()
    stopped = carry_out(directory, watch=QUIET)
    assert (stopped.interruption, stopped.invocation.verdict) == (Interruption("import", 4), None)
    assert started == [("torch", 0), ("torch", 1)]
    assert read_invocation(directory).verdict is None
    assert read_record(directory / "seed2") is None
    first = (directory / "seed0" / "record.json").read_bytes()
    started = scripted({1: 81.0, 2: 82.0})
    started.clear()
    result = carry_out(directory, watch=QUIET)
    assert started == [("torch", 1), ("torch", 2)]
    assert (result.invocation.verdict.mean, result.interruption) == (81.0, None)
    assert (directory / "seed0" / "record.json").read_bytes() == first


@pytest.mark.parametrize(
    ("kind", "fields", "found"),
    [("environment", {"environment": {"framework_version": "2.0"}}, "release 2.0"), ("data", {"checksum": "beef"}, "data beef")],
)
@pytest.mark.parametrize("is_begun", [False, True])
def test_runs_do_not_go_on_with_another_release_or_data(scripted, planned, monkeypatch, kind, fields, found, is_begun):
    """Neither beside a run that has finished with the old one, nor from a checkpoint of it; what it hears first is enough."""
    scripted({0: 80.0 if not is_begun else "interrupted", 1: "interrupted"})
    directory = planned(seeds=[0, 1])
    carry_out(directory, watch=QUIET)
    if is_begun:
        writer = EventWriter(directory / "seed0", heartbeat_seconds=60.0)
        writer.emit("checkpointed", step=4)
        writer.emit("evaluated", step=4, epoch=0.5, train_loss=1.8, metrics={}, images_per_second=900.0)
        writer.close()
        save_state(directory / "seed0" / CHECKPOINT, {"params/a": np.zeros(1)}, step=4)
        (directory / "seed0" / "record.json").unlink()

    def hears(directory, framework, *, on_event, **options):
        on_event({"kind": kind, **fields})
        raise AssertionError("it goes on")

    monkeypatch.setattr(module, "execute", hears)
    with pytest.raises(CannotRun, match=f"found {found}, but what these runs go on from was made with"):
        carry_out(directory, watch=QUIET)


def test_a_run_without_checkpoint_begins_anew_with_what_there_is(scripted, planned, monkeypatch):
    """A newer release may be what mends it."""
    scripted({0: "interrupted"})
    directory = planned(seeds=[0])
    carry_out(directory, watch=QUIET)

    def begins_anew(directory, framework, *, on_event, **options):
        on_event({"kind": "environment", "environment": {"framework_version": "2.0"}})
        end_run(directory, 80.0)
        return Ending(0)

    monkeypatch.setattr(module, "execute", begins_anew)
    assert carry_out(directory, watch=QUIET).invocation.verdict.name == "unknown"


def test_a_finished_invocation_trains_nothing_when_resumed(scripted, planned):
    """Resuming what is done judges it again and starts no run."""
    started = scripted({0: 80.0, 1: 81.0, 2: 82.0})
    directory = planned()
    before = carry_out(directory, watch=QUIET)
    started.clear()
    assert carry_out(directory, watch=QUIET) == before
    assert started == []


@pytest.mark.parametrize("error", [TrackingUnavailable("cannot reach https://user:word@host/"), CannotRun("refused")])
def test_a_tracker_that_fails_changes_no_verdict(reference, scripted, planned, monkeypatch, error):
    """The error is noted, without a password, beside the verdict that the runs have earned."""
    scripted({0: 80.4})

    def fail(directory):
        raise error

    monkeypatch.setattr(vigil.tracking.uploads, "upload", fail)
    directory = planned(seeds=[0])
    invocation = carry_out(directory, watch=QUIET).invocation
    assert invocation.verdict.name == "reproduced"
    assert set(invocation.tracking.as_json()) == {"error"}
    assert "word" not in invocation.tracking.error
    assert read_invocation(directory) == invocation


def test_a_faulted_run_is_marked_everywhere_and_is_no_reference(scripted, planned):
    """Spec, record and invocation name the fault, and its record is refused as a sample."""
    scripted({0: 80.0})
    directory = planned(seeds=[0], fault={"path": "/f/weak.py", "name": "weak", "sha256": "12"})
    assert carry_out(directory, watch=QUIET).invocation.fault == "weak"
    assert read_spec(directory / "seed0").fault["sha256"] == "12"
    record = read_record(directory / "seed0")
    assert record.fault.as_json() == {"name": "weak", "sha256": "12"}
    with pytest.raises(Exception, match="planted fault is never a reference"):
        row_from_record(record)


def test_preflight_passes_what_can_run(places, monkeypatch):
    """The embedded set needs no data directory; the runs directory is made and left empty."""
    monkeypatch.setattr(vigil.runs.plan, "require_framework", nothing)
    assert preflight(request(), places) is None
    assert list(places.iterdir()) == []


def test_preflight_refuses_what_would_fail_late(places, tmp_path, monkeypatch):
    """Shards, disk, a file in the way and missing data are each said before a directory is planned."""
    monkeypatch.setattr(vigil.runs.plan, "require_framework", nothing)
    with pytest.raises(UsageError, match="sum to the recipe's batch size, 64"):
        preflight(request(devices=2, shards="1,2"), places)
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryError, match="Set VIGIL_RUNS_DIR"):
        preflight(request(), tmp_path / "file" / "runs")

    def missing(data, *, progress):
        raise DataError("no data")

    monkeypatch.setattr(vigil.runs.plan, "ensure_data", missing)
    with pytest.raises(DataError, match="no data"):
        preflight(request(profile="paper"), places)
    monkeypatch.setattr(vigil.process.directories.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 2**20})())
    with pytest.raises(DirectoryError, match="1 MiB free, 300 MiB are needed"):
        preflight(request(), places)


def test_a_directory_without_an_invocation_is_refused(tmp_path):
    """A missing file is the user's mistake; a broken one is not, but is said too."""
    with pytest.raises(UsageError, match=r"holds no invocation\.json"):
        read_invocation(tmp_path)
    (tmp_path / Invocation.FILE_NAME).write_text(json.dumps({"a": 1})[:-1])
    with pytest.raises(CannotRun, match="not JSON"):
        read_invocation(tmp_path)


def test_two_processes_do_not_work_in_one_directory(scripted, planned):
    """While one is at work a second is refused, and nothing of it starts; afterwards the directory is free."""
    started = scripted({0: 80.0})
    directory = planned(seeds=[0])
    with alone_in(directory), pytest.raises(CannotRun, match="another vigil is at work here"):
        carry_out(directory, watch=QUIET)
    assert started == []
    assert carry_out(directory, watch=QUIET).invocation.verdict.name == "unknown"


def test_a_new_verdict_is_not_said_to_be_in_mlflow(scripted, planned, monkeypatch):
    """Killed between the verdict of a resumed invocation and its upload: `vigil sync` must see that the upload is missing."""
    scripted({0: 80.0, 1: "crash"})
    directory = planned(seeds=[0, 1])
    assert carry_out(directory, watch=QUIET).invocation.tracking.run_id == "r"
    scripted({1: 81.0})

    def killed(place) -> None:
        raise SystemExit

    monkeypatch.setattr(module.tracking, "upload_or_note", killed)
    with pytest.raises(SystemExit):
        carry_out(directory, watch=QUIET)
    found = read_invocation(directory)
    assert (found.verdict.mean, found.tracking) == (80.5, None)

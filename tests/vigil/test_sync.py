"""`vigil sync`: what was not uploaded is made up for, once, and damage stops nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.vigil.json_answer import answer_of
from tests.vigil.tracked import (
    a_record,
    an_invocation,
    assert_held_once,
    client_of,
    closed_port,
    interrupt_after,
    runs_in,
    synchronise,
    write_invocation,
)
from vigil.cli.answers import SyncAnswer
from vigil.digests import digest_of
from vigil.documents.record import Record
from vigil.errors import UsageError
from vigil.tracking import TrackingUnavailable, upload


@pytest.mark.parametrize("calls", range(0, 19, 2))
def test_upload_cut_off_anywhere_is_completed_by_sync(uri, invocation_directory, monkeypatch, calls):
    """After any of the 19 writes of an upload its server may die: sync brings it to hold everything once."""
    with monkeypatch.context() as patch:
        interrupt_after(patch, calls=calls)
        with pytest.raises(TrackingUnavailable, match="the server has died"):
            upload(invocation_directory)
    assert synchronise(invocation_directory.parent) == 0
    assert_held_once(uri)
    tracking = json.loads((invocation_directory / "invocation.json").read_text())["tracking"]
    assert tracking["run_id"] == runs_in(uri)[0][0].info.run_id


def test_sync_tells_of_each_invocation(uri, invocation_directory, capsys):
    """Finished ones are uploaded once, those without a verdict are named and left alone."""
    runs = invocation_directory.parent
    (runs / "running" / "seed1").mkdir(parents=True)
    (runs / "running" / "seed1" / "spec.json").write_text("{}")
    write_invocation(runs / "unjudged", invocation=an_invocation(verdict=None))
    assert synchronise(runs) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/3] first: uploaded (experiment resnet_cifar, run ")
    assert lines[1].startswith("[2/3] running: skipped (no verdict yet")
    assert lines[2].startswith("[3/3] unjudged: skipped (no verdict yet")
    assert synchronise(runs) == 0
    assert capsys.readouterr().out.splitlines()[0] == "[1/3] first: already in MLflow"


def test_what_became_of_each_is_an_answer(uri, invocation_directory, capsys):
    """One outcome a directory, and their counts."""
    runs = invocation_directory.parent
    write_invocation(runs / "unjudged", invocation=an_invocation(verdict=None))
    found = answer_of(capsys, SyncAnswer, "sync", str(runs))
    assert [(each.directory, each.outcome) for each in found.tried] == [
        (str(invocation_directory), "uploaded"),
        (str(runs / "unjudged"), "skipped"),
    ]
    assert found.counts == {"uploaded": 1, "already in MLflow": 0, "skipped": 1, "failed": 0, "not tried": 0}
    assert found.nights == ()


def test_sync_all_restores_what_was_deleted_in_mlflow(uri, invocation_directory, capsys):
    """`--all` looks into MLflow; without it the note in invocation.json is trusted."""
    synchronise(invocation_directory.parent)
    client_of(uri).delete_run(runs_in(uri)[1][0].info.run_id)
    synchronise(invocation_directory.parent)
    assert len(runs_in(uri)[1]) == 1
    assert synchronise(invocation_directory.parent, check_all=True) == 0
    assert_held_once(uri)


def test_damaged_invocation_does_not_stop_the_others(uri, invocation_directory, capsys):
    """A missing record, a broken file and a missing field each fail by name, exit 3, and the rest is uploaded."""
    runs = invocation_directory.parent
    write_invocation(runs / "a-missing", records=[])
    write_invocation(runs / "b-broken")
    (runs / "b-broken" / "invocation.json").write_text('{"schema": 1,')
    write_invocation(runs / "c-field", records=[a_record(1), a_record(2, metric=None)])
    assert synchronise(runs) == 3
    output = capsys.readouterr().out
    assert "a-missing: failed: " in output
    assert "record.json: missing" in output
    assert "invocation.json: not JSON (" in output
    assert "line 1 column 14" in output
    assert "c-field/seed2/record.json: metric: found None" in output
    assert "1 uploaded, 0 already in MLflow, 0 skipped, 3 failed, 0 not tried" in output
    assert_held_once(uri)


def test_a_run_beside_altered_events_is_not_uploaded(uri, invocation_directory, capsys):
    """A record is sent only while the files that it was made of are what they were."""
    events = invocation_directory / "seed1" / "events.jsonl"
    events.write_bytes(b"what was written\n")
    listed = {events.name: digest_of(events.read_bytes())}
    Record.model_validate(a_record(1, files=listed)).write(events.parent)
    events.write_bytes(b"what was writhen\n")
    assert synchronise(invocation_directory.parent) == 3
    assert f"failed: {events}: its SHA-256 is not the one in record.json" in capsys.readouterr().out
    events.write_bytes(b"what was written\n")
    assert synchronise(invocation_directory.parent) == 0


def test_missing_runs_directory_is_wrong_usage(tmp_path):
    """A directory that was named and does not exist ends with exit code 2."""
    with pytest.raises(UsageError, match="no such directory"):
        synchronise(tmp_path / "absent")


def test_sync_stops_when_the_tracker_is_down(invocation_directory, monkeypatch, capsys):
    """A dead tracker is asked once, not once for every invocation; exit 3, and invocation.json stays as it was."""
    write_invocation(invocation_directory.parent / "second", invocation=an_invocation(invocation_id="second"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{closed_port()}")
    before = (invocation_directory / "invocation.json").read_bytes()
    assert synchronise(invocation_directory.parent) == 3
    assert "1 failed, 1 not tried" in capsys.readouterr().out
    assert (invocation_directory / "invocation.json").read_bytes() == before


def test_sync_brings_all_to_a_store_that_has_never_seen_it(uri, invocation_directory, empty_store, tmp_path, monkeypatch, capsys):
    """Not the note of an earlier upload counts, but what the store holds: another one, and one that was made anew, gets all."""
    assert synchronise(invocation_directory.parent) == 0
    place = tmp_path / "another"
    place.mkdir()
    another = f"sqlite:///{shutil.copy(empty_store, place)}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", another)
    capsys.readouterr()
    assert synchronise(invocation_directory.parent) == 0
    assert "first: uploaded (experiment resnet_cifar" in capsys.readouterr().out
    assert_held_once(another)
    assert synchronise(invocation_directory.parent) == 0
    assert "first: already in MLflow" in capsys.readouterr().out


@pytest.mark.parametrize(
    "nowhere", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///file::memory:?cache=shared", "sqlite:"]
)
def test_a_store_that_keeps_nothing_is_refused(nowhere, invocation_directory, monkeypatch, capsys):
    """What lies in memory ends with the command: nothing is said to be uploaded there, and no file of that name is made."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", nowhere)
    before = sorted(Path.cwd().iterdir())
    assert synchronise(invocation_directory.parent) == 3
    out = capsys.readouterr().out
    assert f"MLFLOW_TRACKING_URI: found {nowhere}, which keeps nothing" in out
    assert "1 failed" in out
    assert sorted(Path.cwd().iterdir()) == before

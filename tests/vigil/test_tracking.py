"""What reaches MLflow, and that it reaches it once."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reports.site.pages import page_name
from tests.vigil.tracked import (
    CREATED_MILLISECONDS,
    a_record,
    a_verdict,
    an_invocation,
    artifact,
    assert_held_once,
    client_of,
    history,
    interrupt_after,
    runs_in,
    write_invocation,
)
from vigil.cli import sync
from vigil.documents.invocation import Tracking
from vigil.tracking import RUN_PICTURES, client, tracking_uri, upload


@pytest.mark.parametrize("picture", RUN_PICTURES)
def test_the_picture_of_a_run_hangs_on_that_run(uri, invocation_directory, picture):
    """What one seed trained on, or found, is an artifact of its run alone, and a picture that is drawn later is uploaded anew."""
    upload(invocation_directory)
    name = json.loads((invocation_directory / "invocation.json").read_text())["runs"][0]
    (invocation_directory / name / picture).write_bytes(b"a picture")
    upload(invocation_directory)
    _, children = runs_in(uri)
    pictures = [Path(child.info.artifact_uri.removeprefix("file://")) / picture for child in children]
    assert sorted(path.is_file() for path in pictures) == [False] * (len(children) - 1) + [True]
    assert_held_once(uri)


def test_upload_keeps_context_verdict_metrics_band_and_dates(uri, invocation_directory):
    """A child run carries its context twice, its curve beside the band, its record, and the time at which it ran."""
    tracking = upload(invocation_directory)
    parents, children = runs_in(uri)
    assert tracking == Tracking(uri=uri, experiment="resnet_cifar", run_id=parents[0].info.run_id)
    assert_held_once(uri)
    expected = {
        "framework": "jax",
        "release": "0.10.2",
        "mode": "jit",
        "precision": "bf16",
        "device": "cpu",
        "devices": "2",
        "determinism": "off",
        "randomness": "shared",
        "recipe": "resnet_cifar",
        "profile": "quick",
        "seed": "1",
        "verdict": "reproduced",
        "fault": "none",
    }
    child = children[0]
    for held in (child.data.params, child.data.tags):
        assert {key: held[key] for key in expected} == expected
    run_id = child.info.run_id
    assert history(uri, run_id, "band_low") == [(1250, 81.0), (2500, 81.0)]
    assert history(uri, run_id, "band_high") == [(1250, 84.0), (2500, 84.0)]
    assert history(uri, run_id, "final_test_accuracy") == [(2500, 82.5)]
    assert (child.info.start_time, child.info.end_time) == (CREATED_MILLISECONDS, CREATED_MILLISECONDS + 100_000)
    times = [point.timestamp for point in client_of(uri).get_metric_history(run_id, "test_accuracy")]
    assert times == [CREATED_MILLISECONDS + 50_000, CREATED_MILLISECONDS + 100_000]


def test_parent_shows_the_verdict_and_the_experiment_explains_the_tags(uri, invocation_directory):
    """The parent's note holds verdict, reason and band; the experiment's note says what the tags are."""
    upload(invocation_directory)
    (parent,), _ = runs_in(uri)
    note = parent.data.tags["mlflow.note.content"]
    assert "**reproduced**: both seeds lie inside the band" in note
    assert "band: 81.0 to 84.0 percent (prediction interval at 0.99; n = 30, 10 seeds" in note
    assert parent.data.tags["verdict"] == "reproduced"
    assert parent.data.params["seeds"] == "1, 2"
    assert parent.data.metrics["mean_test_accuracy"] == 82.5
    experiment = client_of(uri).get_experiment_by_name("resnet_cifar")
    assert "`verdict`" in experiment.tags["mlflow.note.content"]
    assert experiment.artifact_location.startswith("file://")
    assert Path(uri.removeprefix("sqlite:///")).parent / "mlartifacts" in Path(experiment.artifact_location[7:]).parents


def test_what_a_person_looks_at_is_added_to_earlier_uploads(uri, invocation_directory):
    """A run from before it had a command keeps its id, its name and a person's note, and gets the command and the page."""
    first = upload(invocation_directory)
    client, (_, children) = client_of(uri), runs_in(uri)
    run_id = children[0].info.run_id
    for key in ("command", "report", "value"):
        client.delete_tag(run_id, key)
    client.set_tag(run_id, "mlflow.runName", "as it was")
    client.set_tag(run_id, "mlflow.note.content", "seen by Ada")
    assert upload(invocation_directory) == first
    tags = client.get_run(run_id).data.tags
    assert (tags["command"], tags["value"], tags["band"]) == ("vigil reproduce resnet_cifar", "82.5 percent", "81 to 84")
    assert tags["report"] == f"cells/{page_name(('resnet_cifar', 'quick', 'jax-jit-bf16-x2'))}"
    assert (tags["mlflow.runName"], tags["mlflow.note.content"]) == ("as it was", "seen by Ada")


def test_a_regressed_run_has_a_mark_in_its_name_and_its_number_in_the_history(uri, tmp_path):
    """Its status stays FINISHED, for that is how the process ended, and history takes numbers of finished runs alone."""
    values = [{"seed": 1, "value": 70.0, "verdict": "regressed"}, {"seed": 2, "value": 82.5, "verdict": "reproduced"}]
    verdict = a_verdict(name="regressed", values=values)
    upload(write_invocation(tmp_path / "runs" / "first", invocation=an_invocation(verdict=verdict)))
    parents, children = runs_in(uri)
    names = [(run.info.run_name, run.info.status) for run in (*parents, *children)]
    assert names == [
        ("✗ jax-jit-bf16-x2 quick", "FINISHED"), ("✗ jax-jit-bf16-x2 seed 1", "FINISHED"), ("jax-jit-bf16-x2 seed 2", "FINISHED")
    ]  # fmt: skip
    assert "- command: `vigil reproduce resnet_cifar`" in parents[0].data.tags["mlflow.note.content"]


def test_second_upload_adds_nothing(uri, invocation_directory):
    """An upload of what is already held returns the same run and writes nothing at all."""
    first = upload(invocation_directory)
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, calls=0)  # the planted defect: any write at all would raise
        assert upload(invocation_directory) == first
    assert_held_once(uri)


def test_changed_record_replaces_its_run(uri, invocation_directory):
    """A run that was resumed after its upload is uploaded anew, and the earlier copy is gone."""
    upload(invocation_directory)
    changed = a_record(2, resumed=[{"time": 1.0, "step": 1250}])
    (invocation_directory / "seed2" / "record.json").write_text(json.dumps(changed))
    upload(invocation_directory)
    _, children = runs_in(uri)
    assert [artifact(child, "record.json")["resumed"] for child in children] == [[], changed["resumed"]]


def test_two_uploads_at_one_time_make_one_copy(uri, invocation_directory):
    """A sync beside a command that is just uploading waits for it, and finds nothing left to do."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(upload, [invocation_directory] * 2)
    assert first == second
    assert_held_once(uri)


def test_copy_made_by_another_machine_is_removed(uri, invocation_directory):
    """Two copies of one run, as from two machines that shared the directory, become one."""
    upload(invocation_directory)
    client, (_, children) = client_of(uri), runs_in(uri)
    tags = {key: value for key, value in children[0].data.tags.items() if key != "mlflow.runName"}
    client.create_run(children[0].info.experiment_id, tags=tags)
    with pytest.raises(AssertionError):
        assert_held_once(uri)
    upload(invocation_directory)
    assert len(runs_in(uri)[1]) == 2


def test_user_chooses_the_store(monkeypatch):
    """$MLFLOW_TRACKING_URI is respected; without it the store is the SQLite file in the checkout."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://chosen:5000")
    assert tracking_uri() == "http://chosen:5000"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert tracking_uri().startswith("sqlite:////")
    assert tracking_uri().endswith("/mlflow.db")


def test_fresh_store_is_made_without_a_word(invocation_directory, tmp_path):
    """Making the tables of a new store, in a directory yet to be made, prints nothing that would bury the verdict."""
    code = "import sys, pathlib; from vigil.tracking import upload; upload(pathlib.Path(sys.argv[1]))"
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path / 'new' / 'mlflow.db'}"}
    command = [sys.executable, "-c", code, str(invocation_directory)]
    root = Path(sync.__file__).parents[2]
    ended = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (tmp_path / "new" / "mlartifacts" / "resnet_cifar").is_dir()


# Makes the tables of a store in a process that ends by itself, as if killed, after the 20th table of MLflow's migrations.
KILLED = """
import os, sys
from alembic import op
from vigil.tracking import client
count, create = 0, op.create_table
def create_table(*arguments, **options):
    global count
    create(*arguments, **options)
    count += 1
    if count == 20:
        os._exit(9)
op.create_table = create_table
getattr(client, sys.argv[1])(sys.argv[2])
"""


@pytest.mark.filterwarnings("ignore")  # MLflow's imports use what other packages call deprecated
@pytest.mark.parametrize(("making", "whole"), [("make_tables", True), pytest.param("_connect", False, marks=pytest.mark.slow)])
def test_a_store_whose_making_was_broken_off_opens(making, whole, tmp_path):
    """Killed while MLflow makes its tables, the next one makes them all; left to MLflow alone, the file opens never again."""
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    root = Path(sync.__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", KILLED, making, uri], cwd=root, capture_output=True, timeout=120, check=False)
    assert ended.returncode == 9, ended.stderr
    with contextlib.nullcontext() if whole else pytest.raises(Exception, match=r"already exists|out-of-date"):
        assert [each.name for each in client.Store(uri).experiments()] == ["Default"]


def test_a_store_opens_where_warnings_are_errors(tmp_path):
    """As in many users' tests: what an import on a thread breaks off there, SQLAlchemy never takes up again."""
    program = "from vigil.tracking import client; import sys, threading; client.import_ahead(); "
    program += "[each.join() for each in threading.enumerate() if each.name == 'import-mlflow']; "
    program += "print([each.name for each in client.Store(sys.argv[1]).experiments()])"
    root = Path(sync.__file__).parents[2]
    command = [sys.executable, "-W", "error", "-c", program, f"sqlite:///{tmp_path / 'mlflow.db'}"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout == "['Default']\n", ended.stderr

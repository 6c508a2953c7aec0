"""What reaches MLflow, that it reaches it once, and that a tracker which fails loses nothing and tells no secret."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vigil.cli import dashboard, sync
from vigil.errors import CannotRun, UsageError
from vigil.tracking import TrackingUnavailable, redact, tracking_uri, upload
from vigil.tracking_entry import child_entry, parent_entry, thinned

CONTEXT = {
    "framework": "jax",
    "mode": "jit",
    "precision": "bf16",
    "device": "cpu",
    "devices": 2,
    "shards": "even",
    "determinism": "off",
    "randomness": "shared",
    "text": "jax-jit-bf16-x2",
}
RECIPE = {"name": "resnet_cifar", "version": 1, "hash": "ab12", "profile": "quick"}
CREATED_MILLISECONDS = 1_700_000_000_000


def a_record(seed: int, **changes) -> dict:
    """Return a record of a finished run of 2,500 steps; `changes` replace whole fields."""
    curve = [
        {"step": step, "epoch": step / 31, "train_loss": 2.0, "test_accuracy": 80.0 + step / 1000, "test_loss": 0.6}
        | {"images_per_second": 900.0}
        for step in (1250, 2500)
    ]
    return {
        "schema": 1,
        "run_id": f"first-seed{seed}",
        "invocation_id": "first",
        "created": "2023-11-14T22:13:20Z",
        "recipe": RECIPE,
        "context": CONTEXT,
        "seed": seed,
        "status": "finished",
        "failure": None,
        "metric": {
            "name": "test_accuracy",
            "unit": "percent",
            "direction": "higher",
            "selection": "last",
            "value": 82.5,
        },
        "curve": curve,
        "losses": [2.5 - step / 1250 for step in range(2500)],
        "state_sha256": "cd34",
        "timing": {"wall_seconds": 100.0, "cpu_seconds": 180.0, "first_step_seconds": 4.0, "images_per_second": 900.0},
        "peak_memory_bytes": 1000,
        "fault": None,
        "environment": {"framework_version": "0.10.2", "numpy": "2.1"},
        "data": {"name": "generated", "checksum": "ef56"},
        "code": {"commit": "0123", "dirty": False},
        "resumed": [],
    } | changes


def a_verdict(**changes) -> dict:
    return {
        "name": "reproduced",
        "reason": "both seeds lie inside the band",
        "metric": "test_accuracy",
        "unit": "percent",
        "direction": "higher",
        "values": [{"seed": seed, "value": 82.5, "verdict": "reproduced"} for seed in (1, 2)],
        "mean": 82.5,
        "band": {
            "low": 81.0,
            "high": 84.0,
            "method": "prediction interval",
            "coverage": 0.99,
            "n": 30,
            "n_seeds": 10,
            "frameworks": ["jax", "tensorflow", "torch"],
            "dates": ["2026-01-02"],
        },
        "detectable_drop": 1.5,
        "power": 0.9,
        "targets": [],
    } | changes


def an_invocation(**changes) -> dict:
    return {
        "schema": 1,
        "invocation_id": "first",
        "created": "2023-11-14T22:13:20Z",
        "command": ["vigil", "reproduce", "resnet_cifar"],
        "recipe": RECIPE,
        "context": CONTEXT,
        "seeds": [1, 2],
        "runs": ["seed1", "seed2"],
        "verdict": a_verdict(),
        "wall_seconds": 210.0,
        "tracking": None,
    } | changes


def write_invocation(directory: Path, *, invocation: dict | None = None, records: list[dict] | None = None) -> Path:
    """Write a synthetic invocation directory as the conductor leaves it."""
    directory.mkdir(parents=True)
    for record in records if records is not None else [a_record(1), a_record(2)]:
        run_directory = directory / f"seed{record['seed']}"
        run_directory.mkdir()
        (run_directory / "spec.json").write_text("{}")
        (run_directory / "record.json").write_text(json.dumps(record))
    (directory / "invocation.json").write_text(json.dumps(invocation or an_invocation()))
    return directory


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory) -> Path:
    """Return a SQLite store without runs: making its tables takes seconds, copying it none."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's imports use what other packages call deprecated
        from mlflow.tracking import MlflowClient

        MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def uri(empty_store, tmp_path, monkeypatch) -> str:
    """Return the URI of a store of this test's own, and make it the user's choice."""
    chosen = f"sqlite:///{shutil.copy(empty_store, tmp_path / 'mlflow.db')}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", chosen)
    return chosen


@pytest.fixture
def invocation_directory(tmp_path) -> Path:
    return write_invocation(tmp_path / "runs" / "first")


def client_of(uri: str):
    from mlflow.tracking import MlflowClient

    return MlflowClient(tracking_uri=uri)


def runs_in(uri: str) -> tuple[list, list]:
    """Return (parents, children) that a person would see."""
    client = client_of(uri)
    experiment = client.get_experiment_by_name("resnet_cifar")
    runs = client.search_runs([experiment.experiment_id])
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    return parents, sorted((run for run in runs if run not in parents), key=lambda run: run.data.tags["seed"])


def history(uri: str, run_id: str, name: str) -> list[tuple[int, float]]:
    return [(point.step, point.value) for point in client_of(uri).get_metric_history(run_id, name)]


def artifact(run, name: str) -> dict:
    return json.loads((Path(run.info.artifact_uri.removeprefix("file://")) / name).read_text())


def assert_held_once(uri: str) -> None:
    """Raise unless the store holds the synthetic invocation whole and nothing twice."""
    parents, children = runs_in(uri)
    assert [parent.info.status for parent in parents] == ["FINISHED"]
    assert [child.data.tags["seed"] for child in children] == ["1", "2"]
    for child in children:
        assert child.data.tags["mlflow.parentRunId"] == parents[0].info.run_id
        assert child.info.status == "FINISHED"
        assert history(uri, child.info.run_id, "test_accuracy") == [(1250, 81.25), (2500, 82.5)]
        assert len(history(uri, child.info.run_id, "loss")) == 834
        assert artifact(child, "record.json") == a_record(int(child.data.tags["seed"]))
    assert artifact(parents[0], "invocation.json")["invocation_id"] == "first"


def interrupt_after(monkeypatch, *, calls: int) -> None:
    """Let every write to MLflow after the first `calls` fail, as when its server has died."""
    from mlflow.tracking import MlflowClient

    left = [calls]

    def limited(write):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] < 0:
                raise ConnectionError("the server has died")
            return write(*arguments, **options)

        return call

    for name in ("create_experiment", "create_run", "log_batch", "log_text", "set_terminated", "set_tag", "delete_run"):
        monkeypatch.setattr(MlflowClient, name, limited(getattr(MlflowClient, name)))


def synchronise(directory: Path, *, check_all: bool = False) -> int:
    return sync.run(argparse.Namespace(runs_directory=directory, all=check_all))


def test_upload_keeps_context_verdict_metrics_band_and_dates(uri, invocation_directory):
    """A child run carries its context twice, its curve beside the band, its record, and the time at which it ran."""
    tracking = upload(invocation_directory)
    parents, children = runs_in(uri)
    assert tracking == {"uri": uri, "experiment": "resnet_cifar", "run_id": parents[0].info.run_id}
    assert_held_once(uri)
    expected = {
        "framework": "jax",
        "framework_version": "0.10.2",
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
    assert "invocation.json: not JSON at line 1" in output
    assert "c-field: invocation.json or a record.json does not follow its schema" in output
    assert "1 uploaded, 0 already in MLflow, 0 skipped, 3 failed, 0 not tried" in output
    assert_held_once(uri)


def test_missing_runs_directory_is_wrong_usage(tmp_path):
    """A directory that was named and does not exist ends with exit code 2."""
    with pytest.raises(UsageError, match="no such directory"):
        synchronise(tmp_path / "absent")


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "postgresql"])
def test_unreachable_tracker_is_reported_within_seconds_without_its_password(invocation_directory, monkeypatch, scheme):
    """A refused connection raises at once, names the address, and shows neither user nor password."""
    address = f"127.0.0.1:{closed_port()}"
    started = time.monotonic()
    with pytest.raises(TrackingUnavailable) as raised:
        upload(invocation_directory, uri=f"{scheme}://anna:s3cret@{address}")
    assert time.monotonic() - started < 5
    assert address in str(raised.value)
    assert "s3cret" not in str(raised.value)
    assert "anna" not in str(raised.value)
    assert raised.value.exit_code == 3


def test_sync_stops_when_the_tracker_is_down(invocation_directory, monkeypatch, capsys):
    """A dead tracker is asked once, not once for every invocation; exit 3, and invocation.json stays as it was."""
    write_invocation(invocation_directory.parent / "second", invocation=an_invocation(invocation_id="second"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{closed_port()}")
    before = (invocation_directory / "invocation.json").read_bytes()
    assert synchronise(invocation_directory.parent) == 3
    assert "1 failed, 1 not tried" in capsys.readouterr().out
    assert (invocation_directory / "invocation.json").read_bytes() == before


def test_store_that_cannot_be_opened_is_reported_within_seconds(invocation_directory, tmp_path):
    """A SQLite path that is a directory raises at once, where MLflow alone retries for minutes."""
    started = time.monotonic()
    with pytest.raises(TrackingUnavailable, match="unable to open database file"):
        upload(invocation_directory, uri=f"sqlite:///{tmp_path}")
    assert time.monotonic() - started < 5


def test_deleted_experiment_is_named(uri, invocation_directory):
    """A recipe's experiment that was deleted in MLflow is not revived behind its owner's back."""
    upload(invocation_directory)
    client = client_of(uri)
    client.delete_experiment(client.get_experiment_by_name("resnet_cifar").experiment_id)
    with pytest.raises(TrackingUnavailable, match="mlflow experiments restore --experiment-id 1"):
        upload(invocation_directory)


def test_unfinished_invocation_is_refused(invocation_directory):
    """Without a verdict there is nothing to upload yet."""
    (invocation_directory / "invocation.json").write_text(json.dumps(an_invocation(verdict=None)))
    with pytest.raises(CannotRun, match="no verdict yet"):
        upload(invocation_directory)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://anna:s3cret@host:5000/path", "http://***@host:5000/path"),
        ("postgresql://anna:s3/cr@t@host/db", "postgresql://***@host/db"),
        ("https://s3cret@host", "https://***@host"),
        ("mysql://host/db?user=anna&password=s3cret&ssl=1", "mysql://host/db?user=anna&password=***&ssl=1"),
        ('"http://host/@name", "a@b"', '"http://host/@name", "a@b"'),
    ],
)
def test_redact_removes_secrets_and_nothing_else(text, shown):
    """User, password and token go; host, path and addresses that are no secret stay."""
    assert redact(text) == shown


def test_secrets_reach_neither_tags_nor_artifacts():
    """A URI with a password in the command or in a reason is redacted in all that is sent."""
    invocation = an_invocation(command=["MLFLOW_TRACKING_URI=http://anna:s3cret@host"])
    invocation["verdict"]["reason"] = "see http://anna:s3cret@host"
    assert "s3cret" not in repr(parent_entry(invocation, [a_record(1)]))
    failure = {"category": "crash", "phase": "train", "step": 1, "message": "http://anna:s3cret@host", "log_tail": []}
    assert "s3cret" not in child_entry(a_record(1, status="failed", failure=failure), invocation).note


@pytest.mark.parametrize(
    ("status", "category", "mlflow_status", "verdict"),
    [
        ("failed", "nan_loss", "FAILED", "failed:nan_loss"),
        ("interrupted", "interrupted", "KILLED", "failed:interrupted"),
        ("unsupported", "unsupported", "FAILED", "unsupported"),
    ],
)
def test_run_without_a_number_keeps_how_it_ended(uri, tmp_path, status, category, mlflow_status, verdict):
    """A run that ended early is shown as such, on child and parent, with what it had measured."""
    failure = {"category": category, "phase": "train", "step": 3, "message": "it ended", "log_tail": []}
    metric = a_record(1)["metric"] | {"value": None}
    ended = a_record(
        1, status=status, failure=failure, metric=metric, curve=[], losses=[2.5, "inf", "nan"], timing=None
    )
    judged = a_verdict(name=verdict, values=[], mean=None, band=None, detectable_drop=None)
    invocation = an_invocation(verdict=judged, seeds=[1], runs=["seed1"])
    upload(write_invocation(tmp_path / "runs" / "first", invocation=invocation, records=[ended]))
    (parent,), (child,) = runs_in(uri)
    assert (parent.info.status, child.info.status) == (mlflow_status, mlflow_status)
    assert (parent.data.tags["verdict"], child.data.tags["verdict"]) == (verdict, verdict)
    assert "it ended" in child.data.tags["mlflow.note.content"]
    points = dict(history(uri, child.info.run_id, "loss"))
    assert points[1] == 2.5
    assert points[2] > 1e300  # MLflow stores infinity as the largest number
    assert points[3] != points[3]
    assert "final_test_accuracy" not in child.data.metrics


def test_faulted_run_is_marked_on_child_and_parent():
    """The name of a planted fault stands in the tags, so that no chart takes the run for a clean one."""
    record = a_record(1, fault={"name": "weight_decay_ignored", "sha256": "99"})
    assert child_entry(record, an_invocation()).labels["fault"] == "weight_decay_ignored"
    assert parent_entry(an_invocation(), [record, a_record(2)]).labels["fault"] == "weight_decay_ignored"


def test_child_is_judged_by_its_own_seed():
    """One seed outside the band is regressed, whatever the verdict on all of them."""
    rows = [{"seed": 1, "value": 82.5, "verdict": "reproduced"}, {"seed": 2, "value": 70.0, "verdict": "regressed"}]
    invocation = an_invocation(verdict=a_verdict(values=rows))
    assert [child_entry(a_record(seed), invocation).labels["verdict"] for seed in (1, 2)] == ["reproduced", "regressed"]


@pytest.mark.parametrize(("n_losses", "n_points"), [(0, 0), (1, 1), (1000, 1000), (1001, 501), (64000, 1001)])
def test_thinned_losses_keep_first_and_last_step(n_losses, n_points):
    """At most about a thousand points stand for any number of steps, each at its own step."""
    points = thinned(list(range(n_losses)))
    assert len(points) == n_points
    assert all(loss == step - 1 for step, loss in points)
    if n_losses:
        assert (points[0][0], points[-1][0]) == (1, n_losses)


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


def test_dashboard_names_the_server_that_is_there(monkeypatch, capsys):
    """With a tracking server chosen there is nothing to start; its address is printed without the password."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://anna:s3cret@tracker:5000")
    assert dashboard.run(argparse.Namespace(port=5000)) == 0
    assert capsys.readouterr().out == "MLFLOW_TRACKING_URI names a server: open http://***@tracker:5000\n"


def test_dashboard_refuses_a_taken_port(uri):
    """A port that something else listens on ends with exit code 3 and a way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(CannotRun, match="Choose another port with `--port`"):
            dashboard.run(argparse.Namespace(port=taken.getsockname()[1]))


def test_dashboard_refuses_a_number_that_is_no_port(capsys):
    """A port out of range or not a number is wrong usage: exit 2, with what is allowed."""
    parser = argparse.ArgumentParser()
    dashboard.add_parser(parser.add_subparsers())
    for wrong in ("0", "65536", "-1", "http"):
        with pytest.raises(SystemExit, match="2"):
            parser.parse_args(["dashboard", f"--port={wrong}"])
        assert f"found '{wrong}', allowed are 1 to 65535" in capsys.readouterr().err


def test_dashboard_serves_uploads_and_ends_with_its_server(uri, tmp_path):
    """Through a real server on loopback an upload is whole and held once; SIGTERM ends it and all it started."""
    port = closed_port()
    code = "import argparse, sys; from vigil.cli import dashboard; "
    code += f"sys.exit(dashboard.run(argparse.Namespace(port={port})))"
    root = Path(sync.__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().startswith(f"MLflow on http://127.0.0.1:{port} shows sqlite:///")
            server = f"http://127.0.0.1:{port}"
            records = [a_record(1), a_record(2, losses=[2.5, "inf", "nan"])]
            directory = write_invocation(tmp_path / "runs" / "first", records=records)
            first = upload(directory, uri=server)
            assert upload(directory, uri=server) == first
            parents, children = runs_in(server)
            assert (len(parents), len(children)) == (1, 2)
            assert [history(server, run.info.run_id, "loss")[-1][0] for run in children] == [2500, 3]
            stored = list((tmp_path / "mlartifacts").rglob("record.json"))
            assert sorted(json.loads(path.read_text())["seed"] for path in stored) == [1, 2]
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0

"""A synthetic invocation, and what of it a tracking store holds."""

from __future__ import annotations

import argparse
import json
import socket
import time
from pathlib import Path

from vigil.cli import sync
from vigil.documents.invocation import Invocation
from vigil.documents.record import Record
from vigil.tracking.run_entry import Entry, child_entry, parent_entry

CONTEXT = {
    "framework": "jax",
    "mode": "jit",
    "precision": "bf16",
    "device": "cpu",
    "devices": 2,
    "shards": None,
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
        "data": {"name": "generated", "n_train": 20000, "n_test": 4000, "checksum": "ef56"},
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
        "p_value": None,
        "band": {
            "low": 81.0,
            "high": 84.0,
            "method": "prediction interval",
            "coverage": 0.99,
            "n": 30,
            "mean": 82.5,
            "spread": 0.5,
            "spread_floor": 0.25,
            "n_effective": 20.0,
            "degrees_of_freedom": 19.0,
            "n_seeds": 10,
            "frameworks": ["jax", "tensorflow", "torch"],
            "dates": ["2026-01-02"],
        },
        "mean_band": None,
        "welch": None,
        "sequential": None,
        "detectable_drop": 1.5,
        "power": 0.9,
        "targets": [],
    } | changes


def an_invocation(**changes) -> dict:
    return {
        "schema": 1,
        "invocation_id": "first",
        "created": "2023-11-14T22:13:20Z",
        "command": "vigil reproduce resnet_cifar",
        "recipe": RECIPE,
        "context": CONTEXT,
        "seeds": [1, 2],
        "fault": None,
        "targets": [],
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


def child_of(record: dict, invocation: dict) -> Entry:
    """Return what a record, as it stands in its file, becomes in MLflow."""
    text = json.dumps(record)
    return child_entry(Record.parse(text, where="record.json"), Invocation.model_validate(invocation), text=text)


def parent_of(invocation: dict, records: list[dict]) -> Entry:
    """Return what an invocation, as it stands in its file, becomes in MLflow."""
    text = json.dumps(invocation)
    of_runs = [Record.model_validate(record) for record in records]
    return parent_entry(Invocation.parse(text, where="invocation.json"), of_runs, text=text)


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
    return sync.run(argparse.Namespace(runs_directory=directory, all=check_all, json=None))


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def assert_closes(port: int) -> None:
    """Raise unless nothing listens on a port of this machine within some seconds."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"something still listens on {port}")

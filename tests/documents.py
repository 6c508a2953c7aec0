"""Documents of runs as the conductor leaves them, made by hand: typed, whole, and each field open to change."""

from __future__ import annotations

from typing import Any

from vigil.documents.context import make_context
from vigil.documents.identity import Identity
from vigil.documents.invocation import Invocation
from vigil.documents.judgement import Judgement, RunBand
from vigil.documents.record import Record

IDENTITY = Identity(name="resnet_cifar", version=1, hash="ab12cd34", profile="quick")
CREATED = "2026-11-22T10:00:21+00:00"
BAND = RunBand(
    low=78.125, high=83.5, method="prediction interval", coverage=0.99, n=30, mean=80.5, spread=0.8, spread_floor=0.4,
    n_effective=12.0, degrees_of_freedom=9.0, n_seeds=10, frameworks=("jax", "tensorflow", "torch"),
    dates=("2026-10-01", "2026-10-03"),
)  # fmt: skip


def a_judgement(**changes: Any) -> Judgement:
    """Return the verdict on one run of seed 7 that lies inside the band."""
    fields = {
        "name": "reproduced", "reason": "the value is 0.40 points above the reference's mean", "metric": "test_accuracy",
        "unit": "percent", "direction": "higher", "values": [{"seed": 7, "value": 81.25, "verdict": "reproduced"}], "mean": 81.25,
        "p_value": 0.4, "band": BAND, "mean_band": None, "welch": None, "sequential": None, "detectable_drop": 2.345,
        "power": 0.9, "targets": [],
    }  # fmt: skip
    return Judgement.model_validate(fields | changes)


def an_invocation(*, context: str = "jax-jit-fp32-x1", **changes: Any) -> Invocation:
    """Return an invocation of seed 7 with its verdict. `context`: its short form's framework, mode, precision and devices."""
    framework, mode, precision, devices = context.split("-")
    fields = {
        "invocation_id": "20261122-100021-one", "created": CREATED, "command": "vigil reproduce resnet_cifar", "night": None,
        "recipe": IDENTITY, "seeds": [7], "fault": None, "release": None, "targets": [], "runs": ["seed7"], "verify": None,
        "context": make_context(framework=framework, mode=mode, precision=precision, devices=devices[1:]),
        "sequential": None, "verdict": a_judgement(), "wall_seconds": 128.4,
        "tracking": {"uri": "sqlite:///mlflow.db", "experiment": "resnet_cifar", "run_id": "0123abc"},
    }  # fmt: skip
    return Invocation.model_validate(fields | changes)


def a_record(**changes: Any) -> Record:
    """Return the record of a finished run of seed 7, of two steps."""
    fields = {
        "run_id": "20261122-100021-one-seed7", "invocation_id": "20261122-100021-one", "created": CREATED, "recipe": IDENTITY,
        "context": make_context(framework="jax"), "seed": 7, "status": "finished", "failure": None,
        "metric": {"name": "test_accuracy", "unit": "percent", "direction": "higher", "selection": "last", "value": 81.25},
        "curve": [
            {"step": 2, "epoch": 1.0, "train_loss": 1.5, "metrics": {"test_accuracy": 81.25, "test_loss": 0.5},
             "images_per_second": 900.0}
        ],
        "losses": [2.0, 1.0], "state_sha256": "cd34" * 16,
        "timing": {"wall_seconds": 100.0, "cpu_seconds": 180.0, "first_step_seconds": 1.0, "images_per_second": 900.0},
        "peak_memory_bytes": 1000, "fault": None,
        "environment": {"framework": "jax", "framework_version": "0.10.2", "python": "3.11.7", "hardware": "2 cores"},
        "data": {"name": "generated", "n_train": 4000, "n_test": 2000, "checksum": "c0de" * 8},
        "code": {"commit": "c0ffee" * 6 + "c0ff", "dirty": False}, "probed": [], "verify": None, "resumed": [],
    }  # fmt: skip
    return Record.model_validate(fields | changes)

"""Fixtures that tests of more than one room share."""

from __future__ import annotations

import tests.own_core  # noqa: F401  before NumPy is imported

# isort: split
import copy
import dataclasses
import hashlib
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runners.contract import compiled
from runners.contract.protocol.spec import SCHEMA, RunSpec
from vigil.locks import locked
from vigil.recipes.loading import load_recipe

# What is printed is as wide in a worker of pytest-xdist, which has 80 columns, as in any terminal.
os.environ["COLUMNS"] = "110"

# The shipped recipe's numerics at a size of the tests' own, so that tuning a profile moves no test.
_TINY = load_recipe("resnet_cifar").resolve("smoke") | {
    "data": {"name": "generated", "n_train": 512, "n_test": 256}, "batch_size": 64, "evaluation_batch_size": 128,
    "steps": 4, "evaluate_every_steps": 2, "checkpoint_every_steps": 2,
    "learning_rate": {"kind": "piecewise", "boundaries": [2], "values": [0.05, 0.005]},
}


LONG = Path(__file__).with_name("long.txt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is listed as taking longest."""
    listed = set(LONG.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker("long")


@pytest.fixture(autouse=True)
def _no_flush_to_disk(monkeypatch):
    """A test's files need not survive a power cut, and on a busy disk each flush takes seconds."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture(scope="session")
def once(tmp_path_factory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Return a function that makes the folder of a name once for all worker processes of a session, and returns it."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, whole = base / f"once-{name}", base / f"once-{name}.whole"
        with locked(base / f"once-{name}.lock"):
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                whole.touch()
        return folder

    return made


@pytest.fixture(scope="session")
def empty_store(once) -> Path:
    """Return a SQLite store without runs: making its tables takes seconds, copying it none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow and SQLAlchemy, when first used, use what other packages call deprecated
        from mlflow.tracking import MlflowClient

        def use(folder: Path) -> None:
            MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}").search_experiments()

        folder = once("store", use)
        use(folder)  # in this process, too
    return folder / "mlflow.db"


@pytest.fixture(scope="session", autouse=True)
def _no_tracker():
    """What a test runs is uploaded only where that test chooses a store: this one is refused at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", "sqlite://")
        yield


@pytest.fixture(scope="session", autouse=True)
def _made_once(once, pytestconfig):
    """What one process makes from a seed, or XLA compiles for it, is read by the next: both are most of a tiny run.

    What was compiled is there for the next session, too: JAX finds it by the whole program, its options and its release.
    """
    processor = hashlib.sha256(compiled.processor().encode()).hexdigest()[:16]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIGIL_CACHE_DIR", str(once("cache", lambda folder: None)))
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(pytestconfig.cache.mkdir(f"jax-{processor}")))
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        patch.setenv("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
        yield


@pytest.fixture
def training() -> dict[str, Any]:
    """The resolved content of a small resnet_cifar run, a copy that a test may change."""
    return copy.deepcopy(_TINY)


@pytest.fixture
def make_spec(training) -> Callable[..., RunSpec]:
    """Return a function that makes the spec of a small run; its arguments replace fields."""
    spec = RunSpec(
        schema=SCHEMA, run_id="run-seed0",
        recipe={"name": "resnet_cifar", "version": 1, "hash": "ab12", "profile": "smoke"},
        framework="torch", mode="eager", precision="fp32", device="cpu", devices=1, shards=(training["batch_size"],),
        evaluation_shards=(training["evaluation_batch_size"],), determinism="off", randomness="shared", seed=0,
        threads=1, cores=None, training=training, data_directory=None, fault=None, heartbeat_seconds=60.0,
    )
    return lambda **changes: dataclasses.replace(spec, **changes)

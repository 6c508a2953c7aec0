"""Fixtures of the conductor's tests: places of their own, and a runner that a test writes itself."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

import vigil.process.execute
import vigil.process.recording
import vigil.runs.carry_out
import vigil.tracking.client
import vigil.tracking.uploads
import vigil.verify.golden
from runners.contract.protocol.spec import read_spec, write_spec
from tests.vigil.remembered import NOON, RUNG
from tests.vigil.requested import QUIET, request
from tests.vigil.scripted import end_run
from tests.vigil.tracked import a_record, an_invocation, write_invocation
from vigil.documents.invocation import Tracking
from vigil.documents.record import Code
from vigil.process.execute import Ending
from vigil.process.recording import read_record
from vigil.references.admission import row_from_record
from vigil.references.samples import append_rows
from vigil.runs.carry_out import carry_out
from vigil.runs.plan import plan
from vigil.tracking import upload

_HEAD = """
import json, os, signal, subprocess, sys, time
directory = sys.argv[1]
events = open(os.path.join(directory, "events.jsonl"), "a")

def emit(kind, phase="train", **fields):
    events.write(json.dumps({"kind": kind, "time": time.time(), "phase": phase, **fields}) + chr(10))
    events.flush()

"""


@pytest.fixture(autouse=True)
def _known_commit(monkeypatch):
    """Records name a commit, whatever checkout the tests run in."""
    monkeypatch.setattr(vigil.process.recording, "describe_code", lambda: Code(commit="c0ffee" * 6 + "c0ff", dirty=False))


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch, tmp_path):
    """What is cached, and what locks lie beside it, is a test's own."""
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def places(tmp_path, monkeypatch) -> Path:
    """Return an empty directory for runs; data directory and tracking store lie beside it."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("VIGIL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    return tmp_path / "runs"


@pytest.fixture
def fake_runner(tmp_path, monkeypatch) -> Callable[..., object]:
    """Return a function that makes its pieces of text the runner of torch: standard library only, `emit` at hand."""
    root = tmp_path / "fake_root"
    package = root / "runners" / "torch"
    package.mkdir(parents=True)
    (root / "runners" / "__init__.py").touch()
    (package / "__init__.py").touch()
    monkeypatch.setattr(vigil.process.execute, "project_root", lambda: root)
    return lambda *parts: (package / "__main__.py").write_text(_HEAD + "".join(map(textwrap.dedent, parts)))


@pytest.fixture
def run_directory(tmp_path, make_spec) -> Path:
    """A run directory that holds a spec and nothing else."""
    directory = tmp_path / "run"
    directory.mkdir()
    write_spec(directory, make_spec())
    return directory


@pytest.fixture
def scripted(places, monkeypatch, tmp_path) -> Callable[[dict], list[tuple[str, int]]]:
    """Return a function that makes runs end as a dict says, without training; it returns the list of those started.

    The dict goes from seed to a metric's value, or to the category of a failure. Nothing is uploaded, and there is no
    reference unless a test makes one.
    """
    for module in (vigil.runs.carry_out, vigil.verify.golden):
        monkeypatch.setattr(module, "reference_directory", lambda source=None: tmp_path / "reference")
    # A detector's runs, too, end with the figures of the dict.
    monkeypatch.setattr(vigil.process.recording, "with_average_precision", lambda curve, *others: curve)
    tracked = Tracking(uri="u", experiment="e", run_id="r")
    monkeypatch.setattr(vigil.tracking.uploads, "upload", lambda directory: tracked)
    started: list[tuple[str, int]] = []

    def make(outcomes: dict[int, float | str]) -> list[tuple[str, int]]:
        def execute(directory: Path, framework: str, *, on_event, **options) -> Ending:
            seed = read_spec(directory).seed
            started.append((framework, seed))
            end_run(directory, outcomes[seed])
            return Ending(3 if isinstance(outcomes[seed], str) else 0)

        monkeypatch.setattr(vigil.runs.carry_out, "execute", execute)
        return started

    return make


@pytest.fixture
def planned(places):
    """Return a function that plans a request and returns its directory."""
    return lambda **changes: plan(request(**changes), places, data_directory=None)


@pytest.fixture
def reference(scripted, planned, tmp_path):
    """Twelve reference samples around 80 %, of seeds from 1000 on."""
    seeds = range(1000, 1012)
    scripted({seed: 80.0 + 0.2 * (seed % 5) for seed in seeds})
    directory = planned(seeds=seeds)
    carry_out(directory, watch=QUIET)
    append_rows(tmp_path / "reference", [row_from_record(read_record(directory / f"seed{seed}")) for seed in seeds])


@pytest.fixture
def uri(empty_store, tmp_path, monkeypatch) -> str:
    """Return the URI of a store of this test's own, and make it the user's choice."""
    chosen = f"sqlite:///{shutil.copy(empty_store, tmp_path / 'mlflow.db')}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", chosen)
    return chosen


@pytest.fixture
def invocation_directory(tmp_path) -> Path:
    return write_invocation(tmp_path / "runs" / "first")


@pytest.fixture
def clock(monkeypatch) -> Callable[..., None]:
    """Return a function that sets the clock of the machine that uploads, and of the one that reads."""

    import vigil.tracking.history  # of pandas and Arrow only tests of history need to know

    def set_to(uploads: datetime, *, reads: datetime | None = None) -> None:
        monkeypatch.setattr(vigil.tracking.client, "now", lambda: uploads)
        monkeypatch.setattr(vigil.tracking.history, "_now", lambda: reads or uploads)

    set_to(NOON)
    return set_to


@pytest.fixture
def bring(tmp_path, uri) -> Callable[..., Path]:
    """Return a function that uploads an invocation of one seed, or uploads it again with another value."""

    def one(name: str, *, value: float = 82.5, **changes) -> Path:
        metric = a_record(1)["metric"] | {"value": value}
        record = a_record(1, invocation_id=name, run_id=f"{name}-seed1", metric=metric, losses=[], curve=[]) | changes
        invocation = an_invocation(invocation_id=name, seeds=[1], runs=["seed1"], night=f"night of {name}", verify=RUNG)
        directory = tmp_path / "runs" / f"{name} {value}"
        upload(write_invocation(directory, invocation=invocation, records=[record]))
        return directory

    return one

"""Whole nightlies with a real tracker: two at once, and one whose server stops half-way."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
from collections import Counter
from pathlib import Path

import pytest

from tests.nightly.acted import INSTALLS, N_CELLS, NIGHTLY, act, nightly_of_its_own
from tests.vigil.test_server import serving
from tests.vigil.tracked import client_of, closed_port
from vigil.cli.main import main
from vigil.documents.night import DONE, nights_directory
from vigil.errors import EXIT_UNKNOWN
from vigil.nightly.night_file import read_night_files
from vigil.tracking import read_document
from vigil.tracking.client import Store
from vigil.tracking.history import load_history

pytestmark = pytest.mark.slow  # MLflow takes some seconds to start, and more than one process needs it

N_CONTEXTS = 3


def cells_of(runs: Path) -> list[dict]:
    """Return the cells of the only night in a folder of runs, each with its document; raise unless all are done."""
    [night] = read_night_files(nights_directory(runs))[0]
    rows = night.document.cells
    assert [row.status for row in rows] == [DONE] * N_CELLS
    return [{**row.as_json(), "document": read_document(runs / row.directory).as_json()} for row in rows]


def assert_held_once(uri: str, *folders: Path) -> None:
    """Raise unless MLflow holds each cell of the nights, each of their runs, each night and each point once."""
    client = client_of(uri)
    found = client.search_runs([client.get_experiment_by_name("resnet_cifar").experiment_id])
    tags = [run.data.tags for run in found]
    ids = Counter((each.get("vigil.verify_id") or each["vigil.invocation_id"], each.get("vigil.run_id")) for each in tags)
    expected = Counter()
    for folder in folders:
        for cell in cells_of(folder):
            name = cell["directory"]
            runs = [None] if cell["kind"] == "verify" else ["none", *(f"{name}-{run}" for run in cell["document"]["runs"])]
            expected.update((name, run) for run in runs)
            assert cell["document"]["tracking"]["run_id"] in {run.info.run_id for run in found}
    assert ids == expected
    assert all("vigil.uploaded" in run.data.tags for run in found)
    nights = client.search_runs([client.get_experiment_by_name("nights").experiment_id])
    assert len(nights) == len(folders)
    timelines = client.search_runs([client.get_experiment_by_name("timelines").experiment_id])
    assert len(timelines) == N_CONTEXTS
    for run in timelines:
        assert len(client.get_metric_history(run.info.run_id, "verify_worst_ratio")) == 1
    history = load_history(uri)
    assert (len(history.samples), len(history.verifications)) == (2 * len(folders), 3 * len(folders))


@pytest.fixture
def stopping(uri, tmp_path, monkeypatch):
    """Return a tracker that serves a store until it is stopped, and can be started again; it is the user's choice."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(tmp_path / "cache"))
    port, stack = closed_port(), contextlib.ExitStack()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    stack.start = lambda: stack.enter_context(serving(uri, port=port, artifacts=tmp_path / "artifacts"))
    with stack:
        yield stack


def verdicts(runs: Path) -> list[str]:
    return [cell["verdict"] for cell in cells_of(runs)]


@pytest.mark.parametrize("later", [["sync"], NIGHTLY], ids=["sync", "next-nightly"])
def test_a_server_that_stops_half_way_through_a_night_loses_nothing(stopping, uri, tmp_path, monkeypatch, later):
    """It goes while the first of two reproductions trains: verdicts and directories stay, and what is missing comes once."""
    runs = tmp_path / "runs"
    act(monkeypatch, on_run=lambda directory: stopping.close())
    stopping.start()
    assert main(NIGHTLY) == EXIT_UNKNOWN  # the reference knows no such data
    before = cells_of(runs)
    assert sorted(verdicts(runs)) == ["reproduced"] * 3 + ["unknown"] * 2
    tracked = [bool(cell["document"]["tracking"].get("run_id")) for cell in before]
    assert 0 < sum(tracked) < N_CELLS, "the server stopped half-way"
    [night] = read_night_files(nights_directory(runs))[0]
    assert night.document.tracking.error
    stopping.start()
    for _ in range(2):
        assert main(later) == (0 if later == ["sync"] else EXIT_UNKNOWN)
    assert [{**cell, "document": None} for cell in cells_of(runs)] == [{**cell, "document": None} for cell in before]
    stopping.close()
    assert_held_once(uri, runs)


@pytest.mark.parametrize("when", ["training", "upload"])
def test_a_server_that_stops_half_way_through_an_invocation_loses_nothing(stopping, uri, tmp_path, monkeypatch, when):
    """While its second seed trains, or with one of its runs uploaded: the verdict stands, and sync completes it once."""
    started = []

    def on_run(directory: Path) -> None:
        started.append(directory.name)
        if when == "training" and len(started) == 2:
            stopping.close()

    real = Store.finish

    def finish(self, *arguments) -> None:
        real(self, *arguments)
        if when == "upload":
            stopping.close()

    act(monkeypatch, on_run=on_run)
    monkeypatch.setattr("vigil.cli.reproduce.draw_pictures", lambda place: None)
    monkeypatch.setattr(Store, "finish", finish)
    stopping.start()
    assert main(["reproduce", "resnet_cifar", "--framework", "jax", "--seeds", "2", "--no-verify"]) == EXIT_UNKNOWN
    [place] = (path.parent for path in (tmp_path / "runs").glob("*/invocation.json"))
    before = json.loads((place / "invocation.json").read_text())
    assert (before["verdict"]["name"], before["verdict"]["mean"]) == ("unknown", 88.0)
    assert "vigil sync" in before["tracking"]["error"]
    assert [(place / name / "record.json").is_file() for name in ("seed0", "seed1")] == [True, True]
    monkeypatch.setattr(Store, "finish", real)
    stopping.start()
    assert [main(["sync"]), main(["sync"])] == [0, 0]
    after = json.loads((place / "invocation.json").read_text())
    assert {**after, "tracking": None} == {**before, "tracking": None}
    stopping.close()
    client = client_of(uri)
    found = client.search_runs([client.get_experiment_by_name("resnet_cifar").experiment_id])
    assert sorted(run.data.tags["vigil.run_id"] for run in found) == [f"{place.name}-seed0", f"{place.name}-seed1", "none"]
    assert load_history(uri).samples["value"].tolist() == [88.0, 88.0]


def test_two_nightlies_at_once_with_one_cache_corrupt_nothing(uri, tmp_path, monkeypatch):
    """Their runs lie apart, with the same names for their nights: one environment is built, and MLflow holds all of both."""
    cache, folders = tmp_path / "cache", [tmp_path / name for name in ("one", "two")]
    cache.mkdir()
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=nightly_of_its_own, args=(str(folder), str(cache), uri)) for folder in folders]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
    assert [process.exitcode for process in processes] == [EXIT_UNKNOWN] * 2
    assert (cache / INSTALLS).read_text().splitlines() == ["begun"]
    [marker] = cache.glob("environments/*/vigil.json")
    assert json.loads(marker.read_text())["release"]["pins"]
    nights = [read_night_files(nights_directory(folder))[0][0] for folder in folders]
    assert nights[0].id == nights[1].id, "what is tried here is two nights of one name"
    assert [sorted(verdicts(folder)) for folder in folders] == [["reproduced"] * 3 + ["unknown"] * 2] * 2
    # A database that is busy is a tracker that is down: what it refused is brought afterwards.
    monkeypatch.setenv("VIGIL_CACHE_DIR", str(cache))
    assert [main(["sync", str(folder)]) for folder in folders] == [0, 0]
    assert_held_once(uri, *folders)

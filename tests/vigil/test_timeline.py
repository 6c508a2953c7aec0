"""A timeline has one point a night, whatever is recorded how often, and a night one run."""

from __future__ import annotations

import dataclasses
import hashlib
import multiprocessing
import re
import shlex
from datetime import datetime, timedelta, timezone

import pytest

import vigil.tracking.client
from tests.vigil.tracked import client_of, closed_port, history, interrupt_after
from vigil.cli.main import build_parser
from vigil.documents.context import parse_context
from vigil.documents.identity import Identity
from vigil.documents.verdict import Verdict
from vigil.errors import CannotRun
from vigil.tracking import NightPoint, PooledDrift, TrackingUnavailable, record_drift, record_night, record_night_summary
from vigil.tracking.history import load_history

WHEN = datetime(2026, 11, 20, 2, tzinfo=timezone.utc)
RECIPE = Identity(name="resnet_cifar", version=1, hash="ab12", profile="quick")
POINT = NightPoint(
    recipe=RECIPE, context=parse_context("jax-jit-fp32-x1"), release="0.10.2", verdict=Verdict.REPRODUCED,
    metric="test_accuracy", unit="percent", direction="higher", seeds=3, value=88.5, band_low=87.0, band_high=90.0,
    verify_worst_ratio=4.2, reason="within",
)  # fmt: skip
OTHER = dataclasses.replace(POINT, context=parse_context("torch-jit-fp32-x1"), value=88.0)
CURVES = ("test_accuracy", "band_low", "band_high", "verify_worst_ratio")


def a_night(number: int, **changes) -> dict:
    """Return a night's id, number and time."""
    return {"night": f"n{number}", "number": number, "when": WHEN + timedelta(days=number)} | changes


def timelines(uri: str) -> dict[str, object]:
    """Return the runs of the experiment by name, without the mark in front of it."""
    client = client_of(uri)
    runs = client.search_runs([client.get_experiment_by_name("timelines").experiment_id])
    assert len({run.info.run_name for run in runs}) == len(runs), "a cell has two timelines"
    return {re.sub(r"^\W ", "", run.info.run_name): run for run in runs}


def points(uri: str, name: str = "jax-jit-fp32-x1 resnet_cifar quick") -> dict[str, list[tuple[int, float]]]:
    """Return step and value of all points of a cell."""
    return {metric: history(uri, timelines(uri)[name].info.run_id, metric) for metric in CURVES}


def test_nights_are_steps_and_tags_are_those_of_the_last(uri):
    """Metric, band and worst ratio stand at the night's number; release and verdict are the last night's."""
    record_night(uri, [POINT, OTHER], **a_night(1))
    later = dataclasses.replace(POINT, value=86.0, verdict=Verdict.REGRESSED, release="0.11.0", reason="http://anna:s3cret@host")
    record_night(uri, [later], **a_night(2))
    assert points(uri) == {
        "test_accuracy": [(1, 88.5), (2, 86.0)], "band_low": [(1, 87.0), (2, 87.0)], "band_high": [(1, 90.0), (2, 90.0)],
        "verify_worst_ratio": [(1, 4.2), (2, 4.2)],
    }  # fmt: skip
    found = timelines(uri)
    assert sorted(found) == ["jax-jit-fp32-x1 resnet_cifar quick", "torch-jit-fp32-x1 resnet_cifar quick"]
    run = found["jax-jit-fp32-x1 resnet_cifar quick"]
    expected = {
        "verdict": "regressed", "framework": "jax", "release": "0.11.0", "mode": "jit", "precision": "fp32", "devices": "1",
        "recipe": "resnet_cifar", "profile": "quick", "night": "n2", "number": "2", "metric": "test_accuracy",
    }  # fmt: skip
    assert {key: run.data.tags[key] for key in expected} == expected
    assert "s3cret" not in repr(run.data.tags)
    note = run.data.tags["mlflow.note.content"]
    assert f"(#/metric?runs=%5B%22{run.info.run_id}%22%5D" in note
    (time,) = {point.timestamp for point in client_of(uri).get_metric_history(run.info.run_id, "band_low") if point.step == 2}
    assert time == (WHEN + timedelta(days=2)).timestamp() * 1000
    experiment = client_of(uri).get_experiment_by_name("timelines")
    assert "`verdict`" in experiment.tags["mlflow.note.content"]


@pytest.mark.parametrize("later", [timedelta(0), timedelta(hours=3)])
def test_a_night_recorded_again_adds_and_alters_nothing(uri, later):
    """Neither another time of recording nor other values double or move a point; older nights do not set tags back."""
    record_night(uri, [POINT], **a_night(1))
    record_night(uri, [POINT], **a_night(2))
    before = points(uri)
    for number in (1, 2):
        again = dataclasses.replace(POINT, value=10.0, verdict=Verdict.REGRESSED if number == 1 else Verdict.REPRODUCED)
        record_night(uri, [again], **a_night(number, when=WHEN + timedelta(days=number) + later))
    assert points(uri) == before
    tags = timelines(uri)["jax-jit-fp32-x1 resnet_cifar quick"].data.tags
    assert (tags["verdict"], tags["number"]) == ("reproduced", "2")


def test_a_cell_without_a_number_leaves_a_gap_and_its_verdict(uri):
    """No zero and no last value stands in for it; the resumed night fills the gap."""
    record_night(uri, [POINT], **a_night(1))
    failed = dataclasses.replace(POINT, value=None, verify_worst_ratio=float("inf"), verdict=Verdict.FAILED_CRASH)
    record_night(uri, [failed], **a_night(2))
    assert points(uri)["test_accuracy"] == [(1, 88.5)]
    assert points(uri)["verify_worst_ratio"] == [(1, 4.2)]
    assert timelines(uri)["jax-jit-fp32-x1 resnet_cifar quick"].data.tags["verdict"] == "failed:crash"
    record_night(uri, [POINT], **a_night(2))
    assert points(uri)["test_accuracy"] == [(1, 88.5), (2, 88.5)]


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 5])
def test_a_server_that_stops_half_way_loses_no_point_and_doubles_none(uri, monkeypatch, calls):
    """After any of its writes recording may break off: recording again, later, completes the night."""
    with monkeypatch.context() as patch:
        interrupt_after(patch, calls=calls)
        with pytest.raises(TrackingUnavailable, match="the server has died"):
            record_night(uri, [POINT, OTHER], **a_night(1))
    record_night(uri, [POINT, OTHER], **a_night(1, when=WHEN + timedelta(hours=9)))
    assert points(uri)["test_accuracy"] == [(1, 88.5)]
    assert points(uri, "torch-jit-fp32-x1 resnet_cifar quick")["test_accuracy"] == [(1, 88.0)]


CELL = ("resnet_cifar", "quick", "jax-jit-fp32-x1")
WORSE = {"drift": "worse", "drift_size": "-3.5 points [-4.3, -2.7]", "drift_since": "n2", "drift_release": "0.10.2 -> 0.11.0",
         "drift_q": "2e-05", "drift_sd": "-4.1", "drift_as_of": "n2"}  # fmt: skip


def the_worst_first(uri: str) -> list[tuple[str, str]]:
    """Return name and status of the timelines in the order of the saved view."""
    client = client_of(uri)
    ids = [client.get_experiment_by_name("timelines").experiment_id]
    runs = client.search_runs(ids, order_by=["tags.`vigil.order` DESC"])
    return [(run.info.run_name, run.info.status) for run in runs]


def test_what_is_wrong_stands_first_with_a_mark_and_is_no_green_tick(uri):
    """Sorted by how wrong: regressed before failed before better before unknown; a drift for the worse is wrong as well."""
    names = {"regressed": "torch-jit", "failed:crash": "torch-eager", "better-than-reference": "torch-compile",
             "unknown": "tensorflow-jit", "unsupported": "tensorflow-eager"}  # fmt: skip
    others = [
        dataclasses.replace(POINT, context=parse_context(f"{name}-fp32-x1"), verdict=Verdict(verdict), value=80.0)
        for verdict, name in names.items()
    ]
    record_night(uri, [*reversed(others), POINT], **a_night(1))
    told = [("✗ torch-jit", "FAILED"), ("! torch-eager", "FAILED"), ("~ torch-compile", "FINISHED")]
    told += [("? tensorflow-jit", "FINISHED")]
    fine = [("tensorflow-eager", "FINISHED"), ("jax-jit", "FINISHED")]
    assert [(name.split("-fp32")[0], status) for name, status in the_worst_first(uri)] == told + fine
    assert record_drift(uri, {CELL: WORSE, ("gone", "quick", "jax-jit-fp32-x1"): WORSE}) == 1
    (tags,) = [run.data.tags for run in timelines(uri).values() if run.data.tags["framework"] == "jax"]
    assert {key: tags[key] for key in WORSE} == WORSE
    assert "drift: **worse**, -3.5 points [-4.3, -2.7] since n2, release 0.10.2 -> 0.11.0" in tags["mlflow.note.content"]
    assert ("✗ jax-jit-fp32-x1 resnet_cifar quick", "FAILED") in the_worst_first(uri)[:2]
    record_night(uri, [POINT], **a_night(2))  # which says nothing about drift: what was found stands until it is looked for again
    assert ("✗ jax-jit-fp32-x1 resnet_cifar quick", "FAILED") in the_worst_first(uri)
    record_drift(uri, {CELL: {"drift": "none"}})
    assert the_worst_first(uri)[-1] == ("jax-jit-fp32-x1 resnet_cifar quick", "FINISHED")


@pytest.mark.parametrize(("word", "told"), [("shattered", ("? ", "FINISHED")), ("failed:shattered", ("! ", "FAILED"))])
def test_a_verdict_of_a_later_version_is_never_all_well(uri, word, told):
    """A word that this version does not know stands as open, and as failed where it begins so; it is no green name."""
    record_night(uri, [POINT], **a_night(1))
    (run,) = timelines(uri).values()
    client_of(uri).set_tag(run.info.run_id, "verdict", word)
    record_drift(uri, {CELL: {"drift": "none"}})
    assert the_worst_first(uri) == [(f"{told[0]}jax-jit-fp32-x1 resnet_cifar quick", told[1])]


@pytest.mark.parametrize(
    ("direction", "value", "position"),
    [("higher", 88.5, 0.0), ("higher", 87.0, -1.0), ("higher", 93.0, 3.0), ("lower", 90.0, -1.0), ("lower", 87.0, 1.0)],
)
def test_the_place_in_the_band_is_minus_one_at_the_worse_edge(direction, value, position):
    """0 is the middle and 1 the better edge, whichever way is better; without a band, or with one of no width, there is none."""
    point = dataclasses.replace(POINT, direction=direction, value=value)
    assert point.numbers()["band_position"] == position
    assert "band_position" not in dataclasses.replace(point, band_low=90.0).numbers()
    assert "band_position" not in dataclasses.replace(point, band_low=None).numbers()


def test_a_timeline_says_number_band_command_and_page(uri):
    """The command is one that the command line takes; beside the verdict of a night without a number stands none."""
    record_night(uri, [POINT], **a_night(1))
    (run,) = timelines(uri).values()
    assert run.data.tags["value"] == "88.5 percent"
    assert run.data.tags["band"] == "87 to 90"
    assert run.data.tags["report"] == "cells/resnet_cifar-quick-jax-jit-fp32-x1.html"
    assert f"(http://127.0.0.1:5001/{run.data.tags['report']})" in run.data.tags["mlflow.note.content"]
    words = shlex.split(run.data.tags["command"])
    parsed = build_parser().parse_args(words[1:])
    assert (parsed.recipe, parsed.profile, parsed.framework, parsed.release) == ("resnet_cifar", "quick", "jax", ["jax==0.10.2"])
    record_night(uri, [dataclasses.replace(POINT, value=None, verdict=Verdict.FAILED_CRASH)], **a_night(2))
    (run,) = timelines(uri).values()
    assert (run.data.tags["value"], run.data.tags["verdict"]) == ("-", "failed:crash")


def test_a_timeline_whose_recipe_changed_is_wrong_no_more(uri):
    """The older one has ended and stands last, whatever it said; when the recipe changes back, it counts again."""
    wrong = dataclasses.replace(POINT, verdict=Verdict.REGRESSED)
    other = dataclasses.replace(POINT, recipe=RECIPE.replace(hash="cd34"))
    record_night(uri, [wrong], **a_night(1))
    record_night(uri, [other], **a_night(2))
    name = "jax-jit-fp32-x1 resnet_cifar quick"
    assert dict(the_worst_first(uri)) == {name: "FINISHED", f"{name} (recipe changed since)": "FINISHED"}
    record_night(uri, [wrong], **a_night(3))
    assert the_worst_first(uri) == [(f"✗ {name}", "FAILED"), (f"{name} (recipe changed since)", "FINISHED")]


def _record(uri: str, cells: list[NightPoint], night: dict) -> None:
    record_night(uri, cells, **night)


@pytest.mark.slow  # it starts two Python processes that import MLflow
def test_two_processes_record_one_night_once(uri):
    """Two that record the same night at one time make one timeline a cell, with one point."""
    context = multiprocessing.get_context("spawn")
    nights = [a_night(1), a_night(1, when=WHEN + timedelta(hours=1))]
    processes = [context.Process(target=_record, args=(uri, [POINT, OTHER], night)) for night in nights]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0]
    assert points(uri)["test_accuracy"] == [(1, 88.5)]


def test_a_number_belongs_to_one_night(uri):
    """Two nights of one number, one night of two, a cell given twice and a time without a zone are refused."""
    record_night(uri, [POINT], **a_night(1))
    with pytest.raises(CannotRun, match=r"n2 cannot have the number 1: .* is the night n1"):
        record_night(uri, [OTHER, POINT], **a_night(1, night="n2"))
    with pytest.raises(CannotRun, match="n1 cannot have the number 2"):
        record_night(uri, [POINT], **a_night(2, night="n1"))
    with pytest.raises(CannotRun, match="recorded twice"):
        record_night(uri, [POINT, POINT], **a_night(3))
    with pytest.raises(CannotRun, match="no time zone"):
        record_night(uri, [POINT], **a_night(3, when=datetime(2026, 11, 20)))
    assert list(timelines(uri)) == ["jax-jit-fp32-x1 resnet_cifar quick"]
    assert points(uri)["test_accuracy"] == [(1, 88.5)]


def test_another_recipe_hash_is_another_timeline(uri):
    """Numbers that may have moved are not drawn into one curve."""
    record_night(uri, [POINT, dataclasses.replace(POINT, recipe=RECIPE.replace(hash="cd34"))], **a_night(1))
    client = client_of(uri)
    runs = client.search_runs([client.get_experiment_by_name("timelines").experiment_id])
    assert sorted(run.data.tags["recipe_hash"] for run in runs) == ["ab12", "cd34"]


def test_an_unreachable_server_is_told(uri):
    """Nothing is recorded, and the error says where."""
    with pytest.raises(TrackingUnavailable, match=r"127\.0\.0\.1"):
        record_night(f"http://anna:s3cret@127.0.0.1:{closed_port()}", [POINT], **a_night(1))


def summarise(uri: str, directory, **changes) -> str:
    given = a_night(4) | {"seconds": 1800.0, "verdict": "regressed", "verdicts": {"reproduced": 9, "failed:crash": 1}}
    return record_night_summary(uri, directory, **given | {"releases": {"jax": "0.11.0"}} | changes)


def test_a_night_is_one_run_with_its_summary(uri, tmp_path):
    """Counts, releases and files are there once; a summary that changed replaces the run; history takes it for no sample."""
    (tmp_path / "summary.md").write_text("# Night 4\nsee http://anna:s3cret@host")
    (tmp_path / "junit.xml").write_text("<testsuite/>")
    first = summarise(uri, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        interrupt_after(patch, calls=0)  # the planted defect: any write at all would raise
        assert summarise(uri, tmp_path) == first
    run = client_of(uri).get_run(first)
    expected = {"night": "n4", "number": "4", "verdict": "regressed", "verdicts": "1 failed:crash, 9 reproduced"}
    assert {key: run.data.tags[key] for key in expected} == expected
    assert run.data.tags["release_jax"] == "0.11.0"
    assert run.data.metrics == {"cells": 10, "seconds": 1800, "cells_reproduced": 9, "cells_failed_crash": 1}
    assert {file.path for file in client_of(uri).list_artifacts(first)} == {"summary.md", "junit.xml"}
    assert "s3cret" not in run.data.tags["mlflow.note.content"]
    second = summarise(uri, tmp_path, verdicts={"reproduced": 10})
    client = client_of(uri)
    held = client.search_runs([client.get_experiment_by_name("nights").experiment_id])
    assert [each.info.run_id for each in held] == [second] != [first]
    assert load_history().samples.empty
    with pytest.raises(CannotRun, match=r"summary\.md: missing"):
        summarise(uri, tmp_path / "absent")


def test_nights_of_one_id_from_two_machines_are_two_runs(uri, tmp_path):
    """Each machine counts its own nights: neither's run replaces the other's, however often it is brought."""
    (tmp_path / "summary.md").write_text("# Night 4")
    ids = [summarise(uri, tmp_path, token=token) for token in ("one", "two", "one", "two")]
    client = client_of(uri)
    held = client.search_runs([client.get_experiment_by_name("nights").experiment_id])
    assert sorted(run.info.run_id for run in held) == sorted(set(ids))
    assert (len(held), ids[:2]) == (2, ids[2:])


POOL = PooledDrift(
    "jax", 12, {"n1": 0.4, "n2": -0.6, "unknown": 9.0},
    {"drift": "moved", "drift_size": "-1.1 sd [-1.6, -0.6]", "drift_since": "n2", "drift_release": "0.10.2 -> 0.11.0",
     "drift_q": "0.002", "drift_sd": "-1.10", "drift_as_of": "n2"},
)  # fmt: skip


def test_cells_that_drift_together_have_a_timeline_as_long_as_they_do(uri, tmp_path):
    """Its points stand at the numbers of the nights; found again it is the same run, with other values another, and then gone."""
    (tmp_path / "summary.md").write_text("# a night")
    for number in (1, 2):
        record_night(uri, [POINT], **a_night(number))
        summarise(uri, tmp_path, **a_night(number))
    name = "jax, 12 cells pooled"
    assert record_drift(uri, {CELL: {"drift": "none"}}, pools=[POOL]) == 1
    run = timelines(uri)[name]
    assert history(uri, run.info.run_id, "pooled") == [(1, 0.4), (2, -0.6)]
    assert the_worst_first(uri) == [(f"~ {name}", "FINISHED"), ("jax-jit-fp32-x1 resnet_cifar quick", "FINISHED")]
    assert {key: run.data.tags[key] for key in POOL.tags} == POOL.tags
    note = run.data.tags["mlflow.note.content"]
    assert "drift: **moved**, -1.1 sd [-1.6, -0.6] since n2" in note
    assert f"(#/metric?runs=%5B%22{run.info.run_id}" in note
    assert "http://127.0.0.1:5001/index.html" in note
    record_drift(uri, {}, pools=[POOL])
    assert timelines(uri)[name].info.run_id == run.info.run_id
    record_drift(uri, {}, pools=[dataclasses.replace(POOL, values={"n1": 0.5, "n2": -0.5})])
    again = timelines(uri)[name]
    assert history(uri, again.info.run_id, "pooled") == [(1, 0.5), (2, -0.5)]
    record_night(uri, [POINT], **a_night(3))  # which takes it for no cell's
    assert name in timelines(uri)
    assert load_history().samples.empty
    record_drift(uri, {})
    assert set(timelines(uri)) == {"jax-jit-fp32-x1 resnet_cifar quick"}


def test_a_note_of_an_earlier_version_is_replaced_and_a_persons_is_not(uri, monkeypatch):
    """The explanation of the tags keeps up with them; what somebody wrote there stays."""
    client = client_of(uri)
    experiment = client.create_experiment("timelines", tags={"mlflow.note.content": "ours"})
    record_night(uri, [POINT], **a_night(1))
    assert client.get_experiment(experiment).tags["mlflow.note.content"] == "ours"
    digest = hashlib.sha256(b"ours").hexdigest()
    monkeypatch.setattr(vigil.tracking.client, "EARLIER_NOTES", (digest,))
    record_night(uri, [POINT], **a_night(1))
    assert "`verdict`" in client.get_experiment(experiment).tags["mlflow.note.content"]

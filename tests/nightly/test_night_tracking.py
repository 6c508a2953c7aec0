"""Nights in MLflow: what is sent, and what becomes of it when the tracker is down."""

import json
from pathlib import Path

import pytest

from tests import documents
from tests.nightly.nights import a_cell, a_document, a_row, day
from tests.vigil.tracked import a_verdict, an_invocation
from vigil.documents.invocation import Tracking
from vigil.documents.night import VERIFY
from vigil.documents.verification import Verification
from vigil.errors import CannotRun
from vigil.nightly import night_tracking
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_file import NightFile
from vigil.nightly.night_tracking import bring_all, is_to_bring, points_of
from vigil.nightly.night_verdict import judge_night
from vigil.tracking import TrackingUnavailable

REGRESSED_STEP = Path(__file__).parent.parent / "verify" / "documents" / "regressed.json"


def a_night(path, *rows, number=1, **facts):
    """Return a finished night in a directory."""
    document = judge_night(a_document(rows, number=number, when=day(number), **facts), Ledger([]))
    directory = path / "nights" / document.id
    directory.mkdir(parents=True)
    (directory / "summary.md").write_text("# a night\n")
    return NightFile(directory, document)


@pytest.fixture
def sent(monkeypatch):
    """Replace MLflow by a list of what it was sent; `down` in it makes it refuse."""
    found = {"nights": [], "summaries": [], "down": False}

    def record_night(uri, points, **facts):
        if found["down"]:
            raise TrackingUnavailable("MLflow at user:secret@host cannot be used")
        found["nights"].append((facts["night"], facts["number"], len(points)))

    def record_night_summary(uri, directory, **facts):
        found["summaries"].append(facts)
        return "r1"

    monkeypatch.setattr(night_tracking, "record_night", record_night)
    monkeypatch.setattr(night_tracking, "record_night_summary", record_night_summary)
    return found


def test_a_night_is_a_point_a_context_and_a_run(tmp_path, sent):
    """A verification and a reproduction of one context are one point; what was left is none."""
    rows = [
        a_row(a_cell(VERIFY)),
        a_row(a_cell()),
        a_row(a_cell(VERIFY, "jax-eager-fp32-x1")),
        a_row(a_cell(), verdict=None, key="another"),
    ]
    night = a_night(tmp_path, *rows)
    assert bring_all([night], tmp_path, uri="u") == []
    assert sent["nights"] == [(night.id, 1, 2)]
    assert (sent["summaries"][0]["verdict"], sent["summaries"][0]["releases"]) == ("fine", {"jax": "1.0"})
    assert not is_to_bring(night)
    assert json.loads((night.directory / "night.json").read_text())["tracking"] == {"uri": "u", "run_id": "r1"}


def test_a_night_that_could_not_be_brought_is_brought_later(tmp_path, sent):
    """A remark, and what happened in the document; the next time, the oldest first."""
    nights = [a_night(tmp_path, a_row(a_cell()), number=number) for number in (1, 2)]
    sent["down"] = True
    [remark] = bring_all(nights, tmp_path, uri="u")
    assert f"night {nights[0].id} is not in MLflow" in remark
    assert [is_to_bring(night) for night in nights] == [True, True]
    sent["down"] = False
    assert bring_all(nights, tmp_path, uri="u") == []
    assert [number for _, number, _ in sent["nights"]] == [1, 2]


def test_a_night_that_is_refused_keeps_no_other_back(tmp_path, sent, monkeypatch):
    """Its number is another's: the nights after it are brought, and it is told."""
    real = night_tracking.record_night

    def refusing(uri, points, **facts):
        if facts["number"] == 1:
            raise CannotRun("another night has this number")
        real(uri, points, **facts)

    monkeypatch.setattr(night_tracking, "record_night", refusing)
    nights = [a_night(tmp_path, a_row(a_cell()), number=number) for number in (1, 2)]
    assert "another night has this number" in bring_all(nights, tmp_path, uri="u")[0]
    assert [number for _, number, _ in sent["nights"]] == [2]


def test_what_is_there_is_not_brought_again(tmp_path, sent):
    """Nor is a night that is not finished."""
    night = a_night(tmp_path, a_row(a_cell()))
    bring_all([night], tmp_path, uri="u")
    unfinished = a_night(tmp_path, a_row(a_cell()), number=2, finished=None)
    assert bring_all([night, unfinished], tmp_path, uri="u") == []
    assert len(sent["nights"]) == 1


def test_a_point_has_the_number_its_band_and_the_worst_tensor(tmp_path):
    """Read from the documents of its two directories."""
    judged = documents.a_judgement(name="regressed", mean=81.2, band=documents.BAND.replace(low=86.0, high=91.4))
    verified = Verification.parse(REGRESSED_STEP.read_bytes(), where="sample")
    for name, document in (("v", verified), ("r", documents.an_invocation(verdict=judged))):
        (tmp_path / name).mkdir()
        document.write(tmp_path / name)
    rows = [a_row(a_cell(VERIFY), directory="v"), a_row(a_cell(), verdict="regressed", directory="r")]
    [point] = points_of(a_document(rows), tmp_path)
    assert (point.value, point.band_low, point.band_high) == (81.2, 86.0, 91.4)
    assert point.verify_worst_ratio == verified.worst.ratio > 1.0
    assert (point.verdict, point.release, point.seeds, point.metric) == ("regressed", "1.0", 1, "test_accuracy")


@pytest.mark.parametrize(
    ("step", "number", "shown"),
    [
        ("regressed", "reproduced", "regressed"),
        ("failed:crash", "unknown", "failed:crash"),
        ("regressed", "failed:hang", "failed:hang"),
        ("known-finding", "reproduced", "reproduced"),
        ("reproduced", "regressed", "regressed"),
    ],
)
def test_a_wrong_step_is_not_hidden_by_a_good_number(tmp_path, step, number, shown):
    """A timeline that says `reproduced` while its step is wrong would not be among those to look at first."""
    rows = [a_row(a_cell(VERIFY), verdict=step, reason="step"), a_row(a_cell(), verdict=number, reason="number")]
    [point] = points_of(a_document(rows), tmp_path)
    assert (point.verdict, point.reason) == (shown, "step" if shown == step else "number")


def test_asked_to_check_every_finished_night_is_brought(tmp_path, sent):
    """Whoever lost MLflow's database has them all again; one that is not finished is not brought."""
    night, unfinished = (a_night(tmp_path, a_row(a_cell()), number=n, **facts) for n, facts in ((1, {}), (2, {"finished": None})))
    bring_all([night, unfinished], tmp_path, uri="u")
    assert bring_all([night, unfinished], tmp_path, uri="u", is_check=True) == []
    assert [number for _, number, _ in sent["nights"]] == [1, 1]


def test_runs_that_no_upload_has_completed_come_with_their_night(tmp_path, sent, monkeypatch):
    """Those that MLflow has, that were interrupted or are damaged are passed over, and none keeps another back."""
    documents = {
        "there": an_invocation(tracking={"run_id": "r0"}),
        "failed": an_invocation(tracking={"error": "down"}),
        "killed": an_invocation(),
        "interrupted": an_invocation(verdict=a_verdict(name="failed:interrupted")),
        "damaged": an_invocation(),
    }
    uploaded = []

    def upload(directory, *, uri, shown):
        uploaded.append(directory.name)
        if directory.name == "damaged":
            raise CannotRun("a record is missing")
        return Tracking(uri=uri, experiment="e", run_id="r1")

    monkeypatch.setattr(night_tracking, "upload", upload)
    rows = [a_row(a_cell(recipe=name), directory=name) for name in (*documents, "gone")]
    for name, document in documents.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "invocation.json").write_text(json.dumps(document))
    night = a_night(tmp_path, *rows)
    assert bring_all([night], tmp_path, uri="u") == []
    assert uploaded == ["failed", "killed", "damaged"]
    assert json.loads((tmp_path / "killed" / "invocation.json").read_text())["tracking"]["run_id"] == "r1"


def test_a_folder_that_is_gone_leaves_a_gap(tmp_path):
    """The verdict is in the night's document; numbers that nobody has are not made up."""
    [point] = points_of(a_document([a_row(a_cell(), directory="gone")]), tmp_path)
    assert (point.verdict, point.value) == ("reproduced", None)

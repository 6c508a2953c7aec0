"""`vigil report` writes a site from what history holds, and refuses what it cannot show."""

from __future__ import annotations

import pytest

from tests.reports.site_frames import frames, sample
from tests.vigil.json_answer import answer_of
from vigil.cli.answers import ReportAnswer
from vigil.cli.main import main


@pytest.fixture
def history(monkeypatch, tmp_path):
    """Let `vigil report` read this history and no runs of this machine."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path / "runs"))

    def hold(*rows, **facts):
        monkeypatch.setattr("vigil.tracking.history.load_history", lambda: frames(rows, [], **facts))

    return hold


def test_a_report_is_written_and_named(history, tmp_path, capsys):
    """The command ends with 0, whatever the verdicts, and says where to look and what to know."""
    history(sample(verdict="regressed"), remarks=("2 days old",))
    assert main(["report", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert f"1 cells: open {tmp_path / 'out' / 'index.html'}" in said
    assert "note: 2 days old" in said
    assert "regressed" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_what_was_written_is_an_answer(history, tmp_path, capsys):
    """A script opens the page that is named."""
    history(sample(verdict="regressed"), remarks=("2 days old",))
    found = answer_of(capsys, ReportAnswer, "report", "--out", str(tmp_path / "out"))
    assert (found.index, found.cells, found.remarks) == (str(tmp_path / "out" / "index.html"), 1, ("2 days old",))
    assert found.pages == len(list((tmp_path / "out").rglob("*.html")))


def test_no_history_is_a_report_that_says_so(history, tmp_path):
    """An empty store gives a page that says what to run."""
    history()
    assert main(["report", "--out", str(tmp_path / "out")]) == 0
    assert "No history yet" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_a_night_that_there_was_not_is_wrong_usage(history, tmp_path, capsys):
    """The error names the nights that there were, and nothing is written."""
    history(sample(night="2026-11-22-1"))
    assert main(["report", "--out", str(tmp_path / "out"), "--night", "2026-11-23-1"]) == 2
    assert "Allowed, the newest: 2026-11-22-1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_somebody_else_is_kept(history, tmp_path, capsys):
    """A report does not take the place of what is no report: exit code 3."""
    history(sample())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    assert main(["report", "--out", str(tmp_path / "mine")]) == 3
    assert "no report of Vigil" in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"

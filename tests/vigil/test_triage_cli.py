"""`vigil triage`: of a run's directory, of one that a kill left, and of any log."""

import json
import os
import subprocess
import sys
import time

import pytest

from runners.contract.steps.frame import NOT_ASKED
from tests.vigil.json_answer import answer_of
from tests.vigil.test_record import FIRST, SECOND, event
from vigil.cli.answers import TriageAnswer
from vigil.cli.main import main

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    step()\n'


def a_run(directory, events, *, log=""):
    """Make a directory of a run that left these events and this log."""
    directory.mkdir(parents=True)
    (directory / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    (directory / "log.txt").write_text(log)
    return directory


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """A folder of runs of the test's own."""
    monkeypatch.setenv("VIGIL_RUNS_DIR", str(tmp_path))


def test_a_log_of_any_job_is_told(tmp_path, capsys):
    """Category, line, what to do, and whether another try can help."""
    log = tmp_path / "slurm-17.out"
    log.write_text(f"epoch 1\n{TRACEBACK}ConnectionRefusedError: [Errno 111] Connection refused\n")
    assert main(["triage", str(log)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("NETWORK UNREACHABLE: ")
    assert "ConnectionRefusedError: [Errno 111] Connection refused" in shown
    assert "no such failure was tried again yet" in shown


def test_a_log_that_says_nothing_is_unknown(tmp_path, capsys):
    """It is not said that all is well."""
    log = tmp_path / "train.log"
    log.write_text("epoch 1\nepoch 2\n")
    assert main(["triage", str(log)]) == 4
    assert "UNKNOWN" in capsys.readouterr().out


def test_every_failure_below_a_directory_is_told(tmp_path, capsys):
    """By a record, or by events where a kill left none; what finished is passed over."""
    facts = {"message": "KeyError: 'a'", "step": 3, "traceback": f"{TRACEBACK}KeyError: 'a'"}
    failed = event("failed", 1_700_000_005.0, category="crash", **facts)
    a_run(tmp_path / "command" / "seed0", FIRST + SECOND)
    a_run(tmp_path / "command" / "seed1", [*FIRST, failed])
    answer = answer_of(capsys, TriageAnswer, "triage", str(tmp_path / "command"))
    assert answer.exit_code == 0
    [found] = answer.failures
    assert (found.where, found.said, found.phase, found.step) == (str(tmp_path / "command" / "seed1"), "crash", "train", 3)
    assert (found.triage.category, found.triage.line) == ("key_not_found", "KeyError: 'a'")


def test_what_follows_from_another_failure_is_passed_over(tmp_path, capsys):
    """A context of a step that was not asked, because the float64 program failed."""
    for name, message in (("oracle", "KeyError: 'a'"), ("context", NOT_ASKED)):
        facts = {"message": message, "step": 0, "traceback": f"{TRACEBACK}ContractError: {message}"}
        a_run(tmp_path / "step" / name, [*FIRST, event("failed", 1_700_000_005.0, category="crash", **facts)])
    answer = answer_of(capsys, TriageAnswer, "triage", str(tmp_path / "step"))
    assert [each.where for each in answer.failures] == [str(tmp_path / "step" / "oracle")]


def test_a_run_that_is_under_way_has_not_failed(tmp_path, capsys):
    """Its process is there and was heard a moment ago; one that is gone, or was silent for long, has died."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name, pid, ago in (("runs", os.getpid(), 1.0), ("killed", gone.pid, 1.0), ("silent", os.getpid(), 3600.0)):
        heard = event("heartbeat", time.time() - ago, progress=3)
        a_run(tmp_path / "command" / name, [{**FIRST[0], "pid": pid}, *FIRST[1:], heard])
    answer = answer_of(capsys, TriageAnswer, "triage", str(tmp_path / "command"))
    assert answer.running == (str(tmp_path / "command" / "runs"),)
    assert {each.where.rpartition("/")[2]: each.said for each in answer.failures} == {"killed": "died", "silent": "died"}


def test_a_directory_where_nothing_failed_says_so(tmp_path, capsys):
    """And ends in 0."""
    a_run(tmp_path / "command" / "seed0", FIRST + SECOND)
    assert main(["triage", str(tmp_path / "command")]) == 0
    assert "nothing failed" in capsys.readouterr().out


@pytest.mark.parametrize(("place", "said"), [("gone", "no such file or directory"), ("empty", "holds no run")])
def test_what_holds_no_run_is_wrong_usage(tmp_path, capsys, place, said):
    """It is no failure, and no success either."""
    (tmp_path / "empty").mkdir()
    assert main(["triage", str(tmp_path / place)]) == 2
    assert said in capsys.readouterr().err

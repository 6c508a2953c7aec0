"""What a block says of a failure."""

import pytest

from reports.failure_text import cause_text, retry_text, triage_rows
from vigil.failures.retries import Tries
from vigil.failures.triage import told


def test_the_rows_answer_what_where_and_what_now():
    """Cause in plain words, the line, what to do, another try; none of a document from before there was triage."""
    rows = dict(triage_rows(told("path_not_found", "evidence", "FileNotFoundError: 'a'")))
    assert rows["cause"] == "path not found (environment), by evidence"
    assert rows["decided by"] == "FileNotFoundError: 'a'"
    assert rows["what to do"].startswith("Look whether")
    assert rows["another try"] == "cannot help: the same input fails the same way"
    assert triage_rows(None) == []


@pytest.mark.parametrize(
    ("category", "outcomes", "said"),
    [
        ("network_unreachable", [], "no such failure was tried again yet (prior 50%, 95% below 95%)"),
        ("hang", [True] * 3 + [False] * 38, "helps in 3 of 41 such failures so far (posterior 8%, 95% below 16%)"),
        ("key_not_found", [False] * 4, "cannot help: the same input fails the same way; it helped in 0 of 4 such failures "
         "so far"),
        ("key_not_found", [True], "helps in 1 of 1 such failures so far (posterior 3%, 95% below 8%)"),
    ],
)
def test_another_try_is_told_by_what_was_seen(category, outcomes, said):
    """What repeats cannot be helped, unless it was."""
    assert retry_text(told(category, "rule", None, Tries.counted([(category, each) for each in outcomes]))) == said


def test_unknown_is_an_answer():
    """And claims nothing."""
    assert cause_text(told("unknown", "rule", "RuntimeError: x")) == "unknown: nothing decides"

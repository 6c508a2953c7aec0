"""Whether a night's verifications have the bits of an earlier night's."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.night_summary import notes
from tests.nightly.nights import a_cell, a_document, a_release, a_row
from tests.reports.documents import a_document as a_verification
from tests.reports.documents import a_regression
from vigil.documents.night import OTHER_BITS, OTHER_NUMBERS, SAME_BITS, SAME_NUMBERS, VERIFY
from vigil.nightly.bits import bits_of
from vigil.nightly.ledger import Ledger

CELL = a_cell(VERIFY)


def _put(runs: Path, name: str, shas: dict[str, str | None], *, wrong: bool = False, **changes) -> None:
    cases = [{"name": case, "seconds": 0.5, **({"sha256": sha} if sha else {})} for case, sha in shas.items()]
    (runs / name).mkdir()
    (a_regression if wrong else a_verification)(cases=cases, **changes).write(runs / name)


def _asked(runs: Path, *, now: str = "reproduced"):
    before = a_document([a_row(CELL, directory="before")], releases={"jax": a_release("jax", version="1.0")})
    return bits_of(a_row(CELL, verdict=now, directory="now"), Ledger([before]), runs)


@pytest.mark.parametrize(
    ("before", "now", "wrong", "answer", "same"),
    [
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, (False, False), SAME_BITS, 2),
        ({"a": "1", "b": "2"}, {"a": "1", "b": "3"}, (False, False), SAME_NUMBERS, 1),
        ({"a": "1"}, {"a": "3"}, (False, True), OTHER_NUMBERS, 0),
        ({"a": "1"}, {"a": "3"}, (True, False), OTHER_NUMBERS, 0),
        ({"a": "1"}, {"a": "3"}, (True, True), OTHER_BITS, 0),
        ({"a": "1"}, {"a": "1", "c": "9"}, (False, False), SAME_BITS, 1),
    ],
)
def test_bits_are_held_to_those_of_an_earlier_night(tmp_path, before, now, wrong, answer, same) -> None:
    """Case by case: one that only one of them was asked says nothing."""
    _put(tmp_path, "before", before, wrong=wrong[0])
    _put(tmp_path, "now", now, wrong=wrong[1])
    found = _asked(tmp_path, now="regressed" if wrong[1] else "reproduced")
    assert (found.answer, found.night, found.release, found.same) == (answer, "2026-11-01-1", "1.0", same)


@pytest.mark.parametrize(
    "other",
    [
        {"environment": {"hardware": "another CPU", "framework_version": "1.0"}},
        {"golden": {"sha256": "cd" * 32, "created": None, "votes": None}},
        {"shas": {"a": None}},
        {"shas": {"z": "1"}},
    ],
)
def test_what_does_not_compare_says_nothing(tmp_path, other) -> None:
    """Another processor, another tape, no digest, or no case in common."""
    _put(tmp_path, "before", other.pop("shas", {"a": "1"}), **other)
    _put(tmp_path, "now", {"a": "1"})
    assert _asked(tmp_path) is None


def test_a_folder_that_is_gone_says_nothing(tmp_path) -> None:
    _put(tmp_path, "now", {"a": "1"})
    assert _asked(tmp_path) is None


def test_a_night_says_how_many_and_beside_which_release(tmp_path) -> None:
    _put(tmp_path, "before", {"a": "1"})
    _put(tmp_path, "now", {"a": "2"})
    row = a_row(CELL, directory="now").replace(bits=_asked(tmp_path))
    shown = notes(a_document([row], number=2, releases={"jax": a_release("jax", version="1.1")}))
    assert "verifications beside those of an earlier night on this processor: 1 other bits, same numbers" in shown
    assert "other bits with jax 1.1, beside 1.0: 1" in shown

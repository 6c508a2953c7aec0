"""Histories of any shape are told as they are."""

from __future__ import annotations

import random

import pytest

from vigil.narrow.history import FIRST_RUNS, History, spans
from vigil.narrow.outcome import FAILED, NOT_INSTALLED, OTHERWISE, RIGHT, WRONG, Outcome, like_of, outcome_of


def told(kinds, *, rate: float = 1.0, seed: int = 0, side_by_side: int = 2, seen: int | None = None) -> tuple[History, int, int]:
    """Look at releases until nothing is asked; return the history, rounds and releases looked at."""
    draw, rounds = random.Random(seed), 0
    history = History(len(kinds), side_by_side=side_by_side, share=rate, seen=seen)
    while probes := history.next():
        rounds += 1
        assert len(probes) <= side_by_side
        for probe in probes:
            kind = kinds[probe.release]
            said = [RIGHT if kind in (WRONG, OTHERWISE) and draw.random() > rate else kind for _ in range(probe.runs)]
            history.outcomes.setdefault(probe.release, []).extend(Outcome(each, each, 0.0) for each in said)
        assert rounds < 200
    return history, rounds, len(history.outcomes)


@pytest.mark.parametrize("first", [1, 7, 20, 38])
def test_one_change_is_found_in_few_looks(first) -> None:
    history, rounds, looked = told([RIGHT] * first + [WRONG] * (39 - first))
    [change] = history.changes()
    assert (change.before, change.after, change.last_before, change.first, change.last) == (RIGHT, WRONG, first - 1, first, first)
    assert change.is_decided
    assert rounds <= 7
    assert looked <= 12


def test_a_failure_that_was_mended_is_told_too() -> None:
    history, _, _ = told([WRONG] * 13 + [RIGHT] * 20)
    [change] = history.changes()
    assert (change.before, change.after, change.last_before, change.first) == (WRONG, RIGHT, 12, 13)


def test_what_is_wrong_in_two_releases_alone_is_found_from_where_it_was_seen() -> None:
    """No look besides that meets it."""
    kinds = [RIGHT] * 17 + [WRONG] * 2 + [RIGHT] * 20
    assert told(kinds)[0].changes() == []
    found = told(kinds, seen=18)[0].changes()
    assert [(each.after, each.last_before, each.first) for each in found] == [(WRONG, 16, 17), (RIGHT, 18, 19)]


def test_four_changes_are_told_in_order() -> None:
    kinds = [RIGHT] * 10 + [WRONG] * 12 + [OTHERWISE] * 10 + [RIGHT] * 12 + [WRONG] * 2
    history, _, _ = told(kinds)
    assert [(each.after, each.first) for each in history.changes()] == [(WRONG, 10), (OTHERWISE, 22), (RIGHT, 32), (WRONG, 44)]
    assert [said for said, _, _ in spans(history)] == [RIGHT, WRONG, OTHERWISE, RIGHT, WRONG]


@pytest.mark.parametrize("kind", [RIGHT, WRONG])
def test_no_release_is_to_blame_where_all_say_the_same(kind) -> None:
    history, _, looked = told([kind] * 30)
    assert history.changes() == []
    assert looked == 4


def test_releases_that_give_no_evidence_make_a_range() -> None:
    kinds = [RIGHT] * 8 + [NOT_INSTALLED, FAILED] + [WRONG] * 10
    history, _, _ = told(kinds)
    [change] = history.changes()
    assert (change.last_before, change.first, change.last) == (7, 8, 10)
    assert change.is_decided


def test_an_old_end_that_does_not_start_is_left_behind() -> None:
    """What is older than the first right release is not looked for; what is older than a wrong one is."""
    history, _, _ = told([FAILED] * 9 + [RIGHT] * 20 + [WRONG] * 10)
    assert [(each.after, each.first) for each in history.changes()] == [(WRONG, 29)]
    history, _, _ = told([FAILED] * 9 + [WRONG] * 30)
    assert (history.changes(), spans(history)[0]) == ([], (WRONG, 9, 38))
    history, _, looked = told([FAILED] * 12)
    assert (history.looked, looked) == ([], 12)


@pytest.mark.parametrize("first", [0, 12])
@pytest.mark.parametrize("constant", [True, False])
def test_a_failure_whose_numbers_vary_blames_no_innocent_release(first, constant) -> None:
    """As of updates that are lost, few or many. One that is constant is found as well."""
    false, found = 0, 0
    for seed in range(200):
        draw = random.Random(seed)

        def line(draw=draw) -> str:
            return f"WRONG got {100.0 - (7.0 if constant else 2 ** draw.uniform(0, 5.3))} expected 100.0"

        like = like_of([line() for _ in range(FIRST_RUNS)])
        history = History(20, side_by_side=2)
        while probes := history.next():
            for probe in probes:
                lines = [line() if probe.release >= first else "RIGHT" for _ in range(probe.runs)]
                outcomes = [outcome_of(int(each != "RIGHT"), [each], like=like) for each in lines]
                history.outcomes.setdefault(probe.release, []).extend(outcomes)
        told = [(change.before, change.first, change.last) for change in history.changes() if change.probability >= 0.9]
        false += any(each != (RIGHT, first, first) for each in told)
        found += bool(told)
    assert false <= 2  # with numbers that are trusted 10, and 6
    assert found >= (198 if first else 0)


def test_a_race_is_repeated_until_it_is_decided() -> None:
    """One run of each release would take every second wrong one for right."""
    found = []
    for seed in range(60):
        history, _, _ = told([RIGHT] * 14 + [WRONG] * 16, rate=0.4, seed=seed)
        found += [(change.first, change.last) for change in history.changes() if change.is_decided]
    assert len(found) >= 58
    assert sum(each != (14, 14) for each in found) <= 2  # of which one in a hundred may be

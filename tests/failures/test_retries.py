"""Whether another try is worth it: the posterior, and what it costs."""

import pytest
from scipy import stats

from tests.nightly.nights import a_cell, a_document, a_row, day
from vigil.documents.night import FailedTry
from vigil.failures.categories import CATEGORIES, UNKNOWN
from vigil.failures.past import past_tries, tries_again
from vigil.failures.retries import LEAST_CHANCE, MOST_TRIES, Tries, is_worth_it
from vigil.failures.triage import told

CELL = a_cell()


def test_the_posterior_is_the_prior_and_what_was_seen():
    """Three of forty-one tries helped: a Beta distribution with both counts added to the prior."""
    a, b = CATEGORIES["hang"].prior
    found = Tries.counted([("hang", number < 3) for number in range(41)]).of("hang")
    assert (found.helped, found.tried) == (3, 41)
    assert found.chance == pytest.approx((a + 3) / (a + b + 41), abs=1e-4)
    assert found.below == pytest.approx(stats.beta(a + 3, b + 38).ppf(0.95), abs=1e-4)


def test_what_repeats_is_not_tried_until_it_was_seen_to_help():
    """A prior of one in a hundred, which what came of other tries can move."""
    assert all(Tries().of(key).chance < LEAST_CHANCE for key, row in CATEGORIES.items() if row.repeats or key == UNKNOWN)
    assert Tries.counted([("path_not_found", True)] * 10).of("path_not_found").chance > LEAST_CHANCE


@pytest.mark.parametrize(
    ("chance", "wins", "loses", "tries", "is_worth"),
    [
        (0.5, 100.0, 50.0, 1, True),
        (0.5, 100.0, 150.0, 1, False),
        (0.25, 100.0, 30.0, 1, True),
        (0.25, 100.0, 40.0, 1, False),
        (0.09, 1e9, 0.0, 1, False),
        (0.5, 100.0, 0.0, MOST_TRIES, False),
    ],
)
def test_a_try_is_worth_what_it_wins_more_than_it_loses(chance, wins, loses, tries, is_worth):
    """At a chance of one in ten at least, and at most so often."""
    assert is_worth_it(chance, wins_seconds=wins, loses_seconds=loses, tries=tries) is is_worth


def test_nights_say_what_came_of_looking_again():
    """In the same night or a later one, on the same basis; what is right before or on another basis is no try again."""
    triage = told("hang", "evidence", "no progress")
    hung = a_row(CELL, verdict="failed:hang", triage=triage)
    failed = FailedTry(verdict="failed:hang", reason="r", triage=triage, seconds=5.0, directory="run-1")
    nights = [
        a_document([hung], number=1, when=day(0)),
        a_document([a_row(CELL)], number=2, when=day(1)),  # helped
        a_document([a_row(CELL, tries=(failed,))], number=3, when=day(2)),  # helped, in one night
        a_document([hung], number=4, when=day(3)),
        a_document([a_row(CELL, basis="other")], number=5, when=day(4)),
        a_document([hung.replace(basis="other")], number=6, when=day(5)),
        a_document([hung.replace(basis="other")], number=7, when=day(6)),  # useless
    ]
    found = tries_again(nights)
    assert (found.tried["hang"], found.helped["hang"]) == (3, 2)


def test_a_night_from_before_there_was_triage_is_told_by_its_words():
    """By verdict and reason."""
    rows = [a_row(CELL, verdict="failed:out_of_memory"), a_row(CELL)]
    found = tries_again([a_document([row], number=number, when=day(number)) for number, row in enumerate(rows, 1)])
    assert found.helped == {"out_of_memory": 1}


def test_a_folder_without_nights_has_no_tries(tmp_path):
    """And none is an answer."""
    assert past_tries(tmp_path).tried == {}

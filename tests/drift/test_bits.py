"""Numbers that moved: not worse, worse, undecided, or not deterministic."""

from __future__ import annotations

import pandas as pd
import pytest

from vigil.documents.verification import SHORT, WHOLE
from vigil.drift.bits import NOT_DETERMINISTIC, NOT_WORSE, UNDECIDED, WORSE
from vigil.drift.findings import detect, something_drifts

GOOD, FAR, OUT = ("reproduced", 3.0, 0.1), ("reproduced", 30.0, 0.9), ("regressed", 900.0, 22.0)
RELEASES = ["0.9.2"] * 2 + ["0.10.2"] * 2


def report_of(samples, verifications):
    """Return what is detected without a reference."""
    return detect(samples, verifications, reference_for=lambda cell: None)


@pytest.fixture
def runs(cell_runs):
    """Return a function that makes two seeds under two releases, with these states."""

    def make(states=("a", "b", "c", "d"), **fields):
        return cell_runs([88.0, 88.4, 88.1, 88.3], seeds=[0, 1, 0, 1], releases=RELEASES, states=list(states), **fields)

    return make


@pytest.mark.parametrize(
    ("old", "new", "what", "is_drift"),
    [
        (GOOD, FAR, NOT_WORSE, False),
        (GOOD, OUT, WORSE, True),
        (GOOD, ("reproduced", 900.0, 1.5), WORSE, True),
        (OUT, GOOD, UNDECIDED, False),
        (OUT, OUT, UNDECIDED, False),
        (GOOD, None, UNDECIDED, False),
        (None, GOOD, UNDECIDED, False),
        (GOOD, ("known-finding", 900.0, 22.0), UNDECIDED, False),
        (GOOD, ("failed:crash", float("nan"), float("nan")), UNDECIDED, False),
    ],
)
def test_the_distance_to_float64_of_both_sides_decides(runs, verified, old, new, what, is_drift):
    """Within limits on both sides is not worse, out on the new side alone is worse, and anything else is not decided."""
    sides = [(release, *side) for release, side in (("0.9.2", old), ("0.10.2", new)) if side is not None]
    report = report_of(runs(), verified(*sides))
    ((cell, found),) = report.moves
    assert (found.what, found.old_release, found.new_release, found.seeds) == (what, "0.9.2", "0.10.2", (0, 1))
    assert cell["context"] == "jax-jit-fp32-x1"
    assert something_drifts(report) == is_drift
    if what == NOT_WORSE:
        assert (found.old.worst_ratio, found.new.worst_ratio) == (3.0, 30.0)


def after(frame, nights):
    """Return verifications so many nights later."""
    return frame.assign(created=frame["created"] + pd.Timedelta(days=nights))


def worse_in(report):
    """Return what is worse against float64, by context, with both releases; something drifts where there is any."""
    found = {cell["context"]: (each.old_release, each.new_release) for cell, each in report.moves if each.what == WORSE}
    assert something_drifts(report) == bool(found)
    return found


def test_a_release_that_was_verified_and_not_trained_yet_is_told_to_be_worse(cell_runs, verified):
    """A night verifies first, and its budget may leave the training."""
    old = cell_runs([88.0, 88.4, 88.1], seeds=[0, 1, 2])
    sides = pd.concat([verified(("0.9.2", *GOOD)), after(verified(("0.10.2", *OUT)), 3)])
    assert worse_in(report_of(old, sides)) == {"jax-jit-fp32-x1": ("0.9.2", "0.10.2")}
    back = cell_runs([88.0, 88.4, 88.1], seeds=[0, 1, 2], nights=[0, 1, 9])
    assert worse_in(report_of(back, sides)) == {}  # the nights went back to the release that is right


def test_a_context_that_is_verified_and_never_trained_is_told_to_be_worse(runs, verified):
    """Most contexts of a night are; their cell says what it is."""
    report = report_of(runs(), verified(("0.9.2", *GOOD), ("0.10.2", *OUT), precision="bf16", devices=2))
    assert worse_in(report) == {"jax-jit-bf16-x2": ("0.9.2", "0.10.2")}
    [cell] = [cell for cell, each in report.moves if each.what == WORSE]
    assert (cell["framework"], cell["recipe_hash"]) == ("jax", "aa11")
    by_hand = verified(("0.9.2", *GOOD), ("0.10.2", *OUT), precision="bf16").assign(night=None)
    assert worse_in(report_of(runs(), by_hand)) == {}


@pytest.mark.parametrize("last", [OUT, None, ("failed:crash", float("nan"), float("nan"))])
def test_what_was_wrong_stays_worse_until_a_release_is_right(cell_runs, verified, last):
    """It is beside the last release that was right, whether the newest is wrong as well or has no answer."""
    releases = ["0.9.2"] * 4 + ["0.10.2", "0.10.3"]
    samples = cell_runs([88.0, 88.4, 88.1, 88.3, 88.2, 88.3], releases=releases)
    sides = verified(("0.9.2", *GOOD), ("0.10.2", *OUT), *([("0.10.3", *last)] if last else []))
    worse = {"jax-jit-fp32-x1": ("0.9.2", "0.10.3" if last == OUT else "0.10.2")}
    assert worse_in(report_of(samples, sides)) == worse
    assert worse_in(report_of(samples, pd.concat([sides, after(verified(("0.10.3", *GOOD)), 9)]))) == {}


@pytest.mark.parametrize("later", [("failed:crash", float("nan"), float("nan")), GOOD])
def test_a_failure_and_a_short_look_that_finds_nothing_take_nothing_back(runs, verified, later):
    short = after(verified(("0.10.2", *later)), 9).assign(form=SHORT)
    sides = pd.concat([verified(("0.9.2", *GOOD), ("0.10.2", *OUT)).assign(form=WHOLE), short])
    assert worse_in(report_of(runs(), sides)) == {"jax-jit-fp32-x1": ("0.9.2", "0.10.2")}


def test_the_same_bits_under_both_releases_have_not_moved(runs, verified):
    """Equal states are no finding, whatever the verifications say of themselves."""
    assert report_of(runs(["a", "b", "a", "b"]), verified(("0.9.2", *GOOD), ("0.10.2", *GOOD))).moves == ()


def test_states_that_are_not_known_have_not_moved(runs, verified):
    """Without states nothing is claimed."""
    assert report_of(runs([None] * 4), verified(("0.9.2", *GOOD), ("0.10.2", *GOOD))).moves == ()


def test_other_bits_under_one_release_are_not_called_moved(cell_runs, verified):
    """A cell whose seed gives different bits within a release is not deterministic, and its release is not blamed."""
    samples = cell_runs([88.0, 88.4, 88.1], seeds=[0, 0, 0], releases=["0.9.2", "0.9.2", "0.10.2"], states=["a", "b", "c"])
    ((_, found),) = report_of(samples, verified(("0.9.2", *GOOD), ("0.10.2", *GOOD))).moves
    assert found.what == NOT_DETERMINISTIC
    assert "not deterministic, or not the same machine" in found.reason


def test_a_cell_that_is_not_deterministic_is_still_told_to_be_worse(cell_runs, verified):
    """Verification does not need training to repeat itself: a tensor that is out is told whatever the bits do."""
    samples = cell_runs([88.0, 88.4, 88.1], seeds=[0, 0, 0], releases=["0.9.2", "0.9.2", "0.10.2"], states=["a", "b", "c"])
    report = report_of(samples, verified(("0.9.2", *GOOD), ("0.10.2", *OUT)))
    assert [found.what for _, found in report.moves] == [WORSE]
    assert something_drifts(report)


@pytest.mark.parametrize("change", [{"fault": "half"}, {"night": None}])
def test_bits_of_planted_faults_and_of_runs_by_hand_are_not_compared(runs, verified, change):
    """A seed that gave other bits with a fault, or on someone's changed code, does not make its cell non-deterministic."""
    samples = pd.concat([runs(), runs(["p", "q", "r", "s"]).assign(**change)])
    ((_, found),) = report_of(samples, verified(("0.9.2", *GOOD), ("0.10.2", *GOOD))).moves
    assert found.what == NOT_WORSE


def test_seeds_that_differ_are_not_compared(cell_runs, verified):
    """Other seeds have other bits: releases that share no seed say nothing, and the last one that does is asked."""
    releases = ["0.9.2", "0.10.1", "0.10.2"]
    apart = cell_runs([88.0, 88.4, 88.1], seeds=[0, 1, 2], releases=releases)
    assert report_of(apart, verified()).moves == ()
    back = cell_runs([88.0, 88.4, 88.1], seeds=[0, 1, 0], releases=releases)
    ((_, found),) = report_of(back, verified(("0.9.2", *GOOD), ("0.10.2", *GOOD))).moves
    assert (found.what, found.old_release, found.new_release) == (NOT_WORSE, "0.9.2", "0.10.2")


def test_the_last_clean_verification_of_a_release_counts(runs, verified):
    """An earlier verification, and one with a planted fault, are not the release's."""
    sides = verified(("0.9.2", *GOOD), ("0.10.2", *OUT), ("0.10.2", *GOOD))
    planted = verified(("0.10.2", *OUT), fault="transposed").assign(created=pd.Timestamp("2027-01-01", tz="UTC"))
    ((_, found),) = report_of(runs(), pd.concat([sides, planted])).moves
    assert found.what == NOT_WORSE


def test_a_verification_of_another_recipe_hash_does_not_count(runs, verified):
    """What an older recipe reached excuses nothing."""
    sides = verified(("0.9.2", *GOOD), ("0.10.2", *GOOD), recipe_hash="bb22")
    ((_, found),) = report_of(runs(), sides).moves
    assert (found.what, found.reason) == (UNDECIDED, "no verification of 0.9.2 and 0.10.2")

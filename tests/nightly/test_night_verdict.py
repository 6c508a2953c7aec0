"""The verdict of a night: what stands among many numbers, and what wins."""

import numpy as np
import pytest

from tests.nightly.nights import a_cell, a_document, a_release, a_row, day
from vigil.documents.night import REPRODUCE, VERIFY
from vigil.nightly import night_verdict
from vigil.nightly.ledger import Ledger
from vigil.nightly.night_verdict import judge_night

CONTEXTS = [f"{framework}-{mode}-{precision}-x{n}" for framework in ("torch", "tensorflow", "jax")
            for mode in ("eager", "jit", "compile") for precision in ("fp32", "bf16") for n in (1, 2)]  # fmt: skip
EMPTY = Ledger([])


def judged(*rows, ledger=EMPTY, **facts):
    """Return a night's verdict, and its rows."""
    night = judge_night(a_document(rows, **facts), ledger)
    return night.verdict, night.cells


def reproductions(p_values):
    """Return a reproduction a context with these p values, outside where p is below 1 %."""
    return [a_row(a_cell(context=context), verdict="regressed" if p < 0.01 else "reproduced", p_value=float(p))
            for context, p in zip(CONTEXTS, p_values, strict=False)]  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["reproduced", "unsupported", "known-finding", None], 0),
        (["unknown", "reproduced"], 4),
        (["unknown", "failed:crash"], 3),
        (["unknown", "failed:crash", "regressed"], 1),
        (["better-than-reference"], 1),
    ],
)
def test_the_worst_decides(verdicts, code):
    """A wrong number beats one that could not be had, and both one that nothing is known of; the rest is no failure."""
    rows = [a_row(a_cell(VERIFY, context), verdict=verdict) for context, verdict in zip(CONTEXTS, verdicts, strict=False)]
    assert judged(*rows)[0].exit_code == code


def test_what_is_held_to_printed_digits_is_no_chance():
    """It has no p value, and is not counted among those that chance puts outside; outside, it stands."""
    exact = a_row(a_cell(context=CONTEXTS[-1]), verdict="reproduced", p_value=None)
    verdict, _ = judged(*reproductions([0.5] * 35), exact)
    assert (verdict.judged, verdict.false_alarms_expected, verdict.exit_code) == (35, 0.35, 0)
    assert judged(*reproductions([0.5] * 35), exact.replace(verdict="regressed"))[0].exit_code == 1


def test_one_of_many_outside_does_not_stand():
    """p 0.008 among 36 is what chance gives; the night is fine, and says so."""
    verdict, rows = judged(*reproductions([0.008] + [0.5] * 35))
    assert (verdict.exit_code, rows[0].stands) == (0, False)
    assert verdict.by_chance == (rows[0].key,)
    assert verdict.false_alarms_expected == 0.36


def test_one_far_outside_stands():
    """p 1e-5 is no chance among 36."""
    verdict, rows = judged(*reproductions([1e-5] + [0.5] * 35))
    assert (verdict.exit_code, rows[0].stands) == (1, True)


def test_many_a_little_outside_stand_together():
    """Eight of 36 at p 0.008: each alone could be chance, eight cannot."""
    assert judged(*reproductions([0.008] * 8 + [0.5] * 28))[0].exit_code == 1


def test_without_a_p_value_a_number_stands():
    """An older verdict has none: the band's word is taken."""
    row = a_row(a_cell(), verdict="regressed", p_value=None)
    assert judged(row)[0].exit_code == 1


def test_a_verification_stands_whatever_the_numbers_say():
    """Its limits are of rounding, not of luck."""
    verdict, rows = judged(a_row(a_cell(VERIFY), verdict="regressed"), *reproductions([0.9] * 36))
    assert (verdict.exit_code, rows[0].stands) == (1, True)


@pytest.mark.parametrize(
    ("last", "release", "seeds", "stands"),
    [
        ("regressed", "1.0", [2], True), ("better-than-reference", "1.0", [2], False), ("regressed", "0.9", [2], False),
        ("regressed", "1.0", [1], False), ("regressed", "1.0", [1, 2], False),
    ],
)  # fmt: skip
def test_outside_twice_running_stands(last, release, seeds, stands):
    """On the same side with the same release and other seeds; with another one, or on the other side, it is one look of two."""
    before = judge_night(a_document(reproductions([0.008] + [0.5] * 35)), EMPTY)
    cell = before.cells[0].replace(verdict=last)
    before = before.replace(cells=(cell,), releases={"torch": a_release("torch", version=release)})
    _, rows = judged(*reproductions([0.008] + [0.5] * 35), ledger=Ledger([before]), when=day(1), seeds=seeds)
    assert rows[0].stands is stands


@pytest.mark.parametrize(("p_value", "before", "stands"), [(0.008, False, False), (0.008, True, True), (0.001, False, True)])
def test_the_same_seeds_again_are_the_same_evidence(p_value, before, stands):
    """Judged alone, as what comes first in the next night, 0.008 would be beyond chance; it was one of 36, and still is."""
    night = judge_night(a_document(reproductions([0.008] + [0.5] * 35)), EMPTY)
    assert night.cells[0].stands is False
    night = night.replace(cells=(night.cells[0].replace(stands=before), *night.cells[1:]))
    _, rows = judged(*reproductions([p_value]), ledger=Ledger([night]), when=day(16))
    assert rows[0].stands is stands


@pytest.mark.parametrize(
    ("kind", "verdict", "stands", "basis", "code"),
    [
        (REPRODUCE, "failed:hang", None, "b", 3), (VERIFY, "regressed", None, "b", 1), (VERIFY, "unknown", None, "b", 4),
        (REPRODUCE, "regressed", True, "b", 1), (REPRODUCE, "regressed", False, "b", 0), (VERIFY, "reproduced", None, "b", 0),
        (REPRODUCE, "failed:hang", None, "another", 0),
    ],
)  # fmt: skip
def test_what_was_not_fine_and_is_left_is_so_still(kind, verdict, stands, basis, code):
    """A cell that hung yesterday and that tonight's budget does not reach is not fine today; looked at, it is what it is now."""
    before = a_document([a_row(a_cell(kind), verdict=verdict, stands=stands)])
    left = a_document([a_row(a_cell(kind), verdict=None, basis=basis)], number=2, when=day(1))
    night = judge_night(left, Ledger([before]))
    assert night.verdict.exit_code == code
    assert [(each.key, each.night) for each in night.standing] == ([(a_cell(kind).key, before.id)] if code else [])
    done = night.replace(cells=(a_row(a_cell(kind), basis=basis),))
    resumed = judge_night(done, Ledger([before]))
    assert (resumed.verdict.exit_code, resumed.standing) == (0, ())


def test_clean_nights_rarely_fail():
    """Of 400 nights of 36 clean numbers, at most one in twenty says wrong; by bands alone three in ten would."""
    random = np.random.default_rng(7)
    nights = [reproductions(random.uniform(size=36)) for _ in range(400)]
    alone = np.mean([any(row.verdict == "regressed" for row in rows) for rows in nights])
    together = np.mean([judged(*rows)[0].exit_code == 1 for rows in nights])
    assert together <= 0.05
    assert alone > 0.2


def test_a_night_without_correction_is_caught(monkeypatch):
    """Planted: with every p value taken at its own word, clean nights fail far more often."""
    monkeypatch.setattr(night_verdict.scipy.stats, "false_discovery_control", lambda p_values, method: p_values)
    random = np.random.default_rng(7)
    nights = [reproductions(random.uniform(size=36)) for _ in range(100)]
    assert np.mean([judged(*rows)[0].exit_code == 1 for rows in nights]) > 0.2

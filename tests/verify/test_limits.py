"""Limits lie above what clean runs reach, and are made of nothing else."""

import dataclasses

import numpy as np
import pytest

from vigil.errors import CannotRun
from vigil.verify.compare import Difference
from vigil.verify.limits import Limits, make_limits, summary_row


def test_limits_come_from_clean_rows():
    """A limit lies above every clean value it was made from, and below what a real fault reaches."""
    generator = np.random.default_rng(2)
    rows = [
        summary_row([Difference("late/margin", "loss", value, 1.0, 0.0, 0.0, 0.0)], precision="fp32", case="late/margin")
        for value in 8 * np.exp(0.4 * generator.normal(size=100))
    ]
    limit = make_limits(rows).table["fp32", "margin", "loss", "distance"]
    assert limit.largest_seen < limit.value < 200
    assert limit.n == 100


def test_a_row_with_a_finding_makes_no_limit():
    """What was shown wrong in a context is not what a correct one may do."""
    difference = Difference("late/margin", "loss", 5.0, 1.0, 0.0, 0.0, 0.0)
    clean = summary_row([difference], precision="fp32", case="late/margin")
    wrong = summary_row([dataclasses.replace(difference, ratio=5e4)], precision="fp32", case="late/margin")
    with_wrong = make_limits([clean] * 10 + [{**wrong, "not_clean": {"loss": "a_finding"}}])
    assert with_wrong.table == make_limits([clean] * 10).table


def test_without_clean_rows_nothing_is_judged():
    """A precision that nobody measured is an error with what to do, not a pass."""
    with pytest.raises(CannotRun, match=r"benchmarks\.false_alarms"):
        Limits({}, 0).score(Difference("late/margin", "loss", 1.0, 1.0, 0.0, 0.0, 0.0), "fp32")

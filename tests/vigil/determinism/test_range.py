"""What of a band is the seed: the parts of simulated runs, and how often their interval holds the truth."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.determinism_range import parts_of, seen


def runs(random: np.random.Generator, *, seed: float, rounding: float) -> np.ndarray:
    """Return simulated metrics of 8 seeds with 3 twins each."""
    return 88.0 + seed * random.normal(size=(8, 1)) + rounding * random.normal(size=(8, 3))


@pytest.mark.parametrize(("seed", "rounding", "share"), [(1.0, 1.0, 0.5), (0.3, 1.0, 1.0 / 1.09), (2.0, 0.5, 0.25 / 4.25)])
def test_the_interval_of_a_share_holds_the_truth_as_often_as_it_says(seed, rounding, share) -> None:
    """Of 2,000 tables: 95 % and three standard errors."""
    random = np.random.default_rng(0)
    found = [parts_of(runs(random, seed=seed, rounding=rounding)) for _ in range(2000)]
    covered = np.mean([each.low <= share <= each.high for each in found])
    assert abs(covered - 0.95) < 3.0 * (0.95 * 0.05 / 2000) ** 0.5
    assert np.sqrt(np.mean([each.rounding**2 for each in found])) == pytest.approx(rounding, rel=0.03)


def test_runs_that_differ_by_seed_alone_have_no_share_of_rounding() -> None:
    parts = parts_of(runs(np.random.default_rng(1), seed=1.0, rounding=1e-6))
    assert parts.share < 1e-9
    assert parts.both == pytest.approx(parts.seed)


def test_what_is_seen_shrinks_with_the_root_of_the_seeds() -> None:
    """3.857 deviations of the mean: 2.576 for a false alarm in a hundred, 1.282 for nine times in ten."""
    assert seen(1.0, 1) == pytest.approx(3.857, abs=1e-3)
    assert seen(1.0, 4) == pytest.approx(seen(1.0, 1) / 2.0)

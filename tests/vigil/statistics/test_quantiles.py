"""Quantiles by scipy.special are those of scipy.stats, to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from vigil.statistics.quantiles import chi2_ppf, normal_isf, student_ppf, student_sf

RANDOM = np.random.default_rng(0)
CHANCES = [*(10.0 ** -RANDOM.uniform(0.0, 12.0, 40)), 0.5, 1e-300]
VALUES = [*(10.0 * RANDOM.standard_normal(40)), 0.0, 1e300, math.inf]


@pytest.mark.parametrize("freedom", [1, 5, 11, 37.5, 1e6])
def test_quantiles_and_tails_are_those_of_scipy_stats(freedom):
    """At rates of false alarms as they are asked, at both ends, and beyond every number."""
    t, chi2, normal = scipy.stats.t, scipy.stats.chi2, scipy.stats.norm
    for chance in CHANCES:
        assert normal_isf(chance) == normal.isf(chance)
        assert student_ppf(1.0 - chance, freedom) == t.ppf(1.0 - chance, freedom)
        assert chi2_ppf(1.0 - chance, freedom) == chi2.ppf(1.0 - chance, freedom)
    for value in VALUES:
        assert student_sf(value, freedom) == t.sf(value, freedom)
    assert normal_isf(0.0) == math.inf

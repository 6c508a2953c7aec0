"""Quantiles and tails of three distributions, of the same bits as those of `scipy.stats`, which takes two seconds to import."""

from __future__ import annotations

from scipy import special


def normal_isf(chance: float) -> float:
    """Return what a standard normal variable exceeds with this chance."""
    return -float(special.ndtri(chance))


def student_ppf(chance: float, freedom: float) -> float:
    """Return what a variable of Student's t stays below with this chance."""
    return float(special.stdtrit(freedom, chance))


def student_sf(value: float, freedom: float) -> float:
    """Return the chance that a variable of Student's t exceeds a value."""
    return float(special.stdtr(freedom, -value))


def chi2_ppf(chance: float, freedom: float) -> float:
    """Return what a variable of the chi-squared distribution stays below with this chance."""
    return 2.0 * float(special.gammaincinv(freedom / 2.0, chance))

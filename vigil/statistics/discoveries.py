"""Many p values taken together: which stand, when so many were looked at.

Y. Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57 (1995) 289, doi:10.1111/j.2517-6161.1995.tb02031.x. It holds, too, where
the p values depend on each other positively (Y. Benjamini and D. Yekutieli, doi:10.1214/aos/1013699998).
"""

from __future__ import annotations

from collections.abc import Sequence

import scipy

FALSE_ALARMS = 0.01  # of one verdict
FALSE_DISCOVERIES = 0.05


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Return the least false discovery rate at which each p value stands; of none, none."""
    return [float(value) for value in scipy.stats.false_discovery_control(p_values, method="bh")] if len(p_values) else []


def standing(p_values: Sequence[float], *, rate: float = FALSE_DISCOVERIES) -> dict[int, float]:
    """Return the adjusted p values of those that stand at a false discovery rate, by their place."""
    return {place: value for place, value in enumerate(adjusted(p_values)) if value <= rate}


def expected_alarms(tests: int) -> float:
    """Return how many of so many verdicts chance alone puts outside their bands."""
    return tests * FALSE_ALARMS

"""Two releases on the same seeds: paired, pooled and Welch's test, and the rule that chooses between them."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.draws import COVERAGE, DISTRIBUTIONS, N_TRIALS, Draw, Rate, Table, gaussian, percent, spread
from vigil.statistics.paired import one_side, prefers_pairs
from vigil.statistics.welch import t_test, welch_from_moments


def p_values(new: np.ndarray, old: np.ndarray) -> dict[str, np.ndarray]:
    """Return the p value of every trial [trial, seed] by each method."""
    n, m = new.shape[1], old.shape[1]
    gap = new.mean(axis=1) - old.mean(axis=1)
    both = np.sqrt(((n - 1) * spread(new) ** 2 + (m - 1) * spread(old) ** 2) / (n + m - 2))
    found = {
        "pooled": t_test(gap, error=both * np.sqrt(1 / n + 1 / m), freedom=n + m - 2.0, coverage=COVERAGE).p_value,
        "Welch": welch_from_moments(
            gap, spread_new=spread(new), n_new=n, spread_reference=spread(old), n_reference=float(m)
        ).p_value,
    }
    if n == m:
        error = spread(new - old) / np.sqrt(n)
        found["paired"] = t_test(gap, error=error, freedom=n - 1.0, coverage=COVERAGE).p_value
    return found


def alarms(new: np.ndarray, old: np.ndarray, by_method: dict[str, np.ndarray], method: str) -> np.ndarray:
    """Return of every trial whether `paired.compare_releases` sees a difference, where the counts choose this method."""
    gap = new.mean(axis=1) - old.mean(axis=1)
    sides = {"spread_new": spread(new), "n_new": new.shape[1], "spread_old": spread(old), "n_old": old.shape[1]}
    p_values = [by_method[method], *(test.p_value for test in one_side(gap, **sides, coverage=COVERAGE))]
    return np.min(p_values, axis=0) < 1.0 - COVERAGE


def _sides(generator: np.random.Generator, draw: Draw, n: int, *, correlation: float) -> tuple[np.ndarray, np.ndarray]:
    shared = draw(generator, (N_TRIALS, n))
    own = (draw(generator, (N_TRIALS, n)) for _ in range(2))
    new, old = (np.sqrt(correlation) * shared + np.sqrt(1.0 - correlation) * each for each in own)
    return new, old


def _chosen(n: int) -> str:
    return "paired" if prefers_pairs(n_new=n, n_old=n, n_pairs=n) else "pooled"


def false_alarms(generator: np.random.Generator) -> Table:
    """Return the false alarms of each method, and of the rule that chooses by the counts."""
    table = Table(
        "Two releases, the same seeds: false alarms in % (nominal: 1; * the method that is chosen, and one side's spread)",
        ["distribution", "seeds", "correlation", "paired", "pooled", "Welch"],
    )
    for name, draw in DISTRIBUTIONS.items():
        for n in (2, 3, 5, 6, 8, 12):
            for correlation in (0.0, 0.5, 0.9):
                sides = _sides(generator, draw, n, correlation=correlation)
                by_method, chosen = p_values(*sides), _chosen(n)
                found = {key: float(np.mean(p_value < 0.01)) for key, p_value in by_method.items()}
                found[chosen] = float(np.mean(alarms(*sides, by_method, chosen)))
                cells = [percent(found[key]) + " *" * (key == chosen) for key in ("paired", "pooled", "Welch")]
                table.rows.append([name, str(n), f"{correlation:g}", *cells])
                # A test that takes pairs for independent promises no more than a bound.
                is_bound = chosen == "pooled" and correlation > 0.0
                case = f"{name}, {n} seeds, correlation {correlation:g}"
                table.rates.append(Rate(f"two releases, {chosen}", case, 0.01, found[chosen], is_bound))
    return table


def unequal_numbers(generator: np.random.Generator) -> Table:
    """Return the false alarms of unpaired tests where the sides have different numbers of runs, or spreads."""
    table = Table(
        "Two releases, no seed in common: false alarms in % (nominal: 1)",
        ["runs", "sd of new / old", "pooled", "Welch"],
    )
    for n, m in ((2, 10), (3, 5), (3, 12), (5, 12), (8, 30)):
        for ratio in (1.0, 2.0):
            found = p_values(ratio * generator.standard_normal((N_TRIALS, n)), generator.standard_normal((N_TRIALS, m)))
            cells = [percent(float(np.mean(found[key] < 0.01))) for key in ("pooled", "Welch")]
            table.rows.append([f"{n}, {m}", f"{ratio:g}", *cells])
    table.note = "Below 8 runs on a side the pooled test is used, which is exact where a release leaves the spread as it is."
    return table


def power(generator: np.random.Generator) -> Table:
    """Return the difference that each method finds nine times in ten."""
    table = Table(
        "Two releases, the same seeds: the difference found 9 times in 10, in standard deviations of a run",
        ["seeds", *(f"correlation {r:g}: paired, pooled" for r in (0.0, 0.25, 0.5, 0.7, 0.9)), "chosen"],
    )
    for n in (3, 4, 5, 6, 8, 10, 12):
        cells = []
        for correlation in (0.0, 0.25, 0.5, 0.7, 0.9):
            new, old = _sides(generator, gaussian, n, correlation=correlation)
            new, old = new[:8000], old[:8000]
            cells.append(", ".join(f"{_reach(new, old, method):.2f}" for method in ("paired", "pooled")))
        table.rows.append([str(n), *cells, _chosen(n)])
    return table


def _reach(new: np.ndarray, old: np.ndarray, method: str) -> float:
    low, high = 0.0, 64.0
    for _ in range(14):
        middle = (low + high) / 2.0
        low, high = (low, middle) if np.mean(p_values(new + middle, old)[method] < 0.01) > 0.9 else (middle, high)
    return high

"""How often the verdict is wrong: measured false-alarm rates and powers of the decision rule in vigil/bands.py.

Draws references and new runs from known distributions, judges them by the functions that judge real runs, and prints
Markdown tables. Run from the project root: python benchmarks/band_calibration.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs as a script, uninstalled

from vigil.bands import POWER, detectable_drop, is_outside, welch_from_moments
from vigil.pooling import effective_size

COVERAGE = 0.99
N_TRIALS = 40_000
N_NEW = (1, 2, 3, 5, 8, 10)
SHIFTS = (1.0, 2.0, 3.0, 4.0)

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def gaussian(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return generator.standard_normal(shape)


def skewed(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Long tail towards low values, as where now and then a run does badly: a negated gamma of shape 4, skewness -1."""
    return (4.0 - generator.gamma(4.0, size=shape)) / 2.0


def heavy_tailed(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Student's t of 4 degrees of freedom, scaled to standard deviation 1."""
    return generator.standard_t(4.0, size=shape) / np.sqrt(2.0)


DISTRIBUTIONS: dict[str, Draw] = {"Gaussian": gaussian, "skewed": skewed, "heavy tailed": heavy_tailed}


def flagged(reference: np.ndarray, new: np.ndarray, *, n_effective: object | None = None, spread_floor: float = 0.0) -> float:
    """Return the share of trials [trial, n] against [trial, m] that the verdict calls outside."""
    return float(
        np.mean(
            is_outside(
                new.mean(axis=1) - reference.mean(axis=1),
                spread_new=_spread(new, spread_floor),
                n_new=new.shape[1],
                spread_reference=_spread(reference, spread_floor),
                n_reference=reference.shape[1] if n_effective is None else n_effective,
                coverage=COVERAGE,
            )
        )
    )


def welch_alone(reference: np.ndarray, new: np.ndarray) -> float:
    test = welch_from_moments(
        new.mean(axis=1) - reference.mean(axis=1),
        spread_new=_spread(new, 0.0),
        n_new=new.shape[1],
        spread_reference=_spread(reference, 0.0),
        n_reference=reference.shape[1],
    )
    return float(np.mean(test.p_value < 1.0 - COVERAGE))


def _spread(samples: np.ndarray, spread_floor: float) -> np.ndarray:
    own = samples.std(axis=1, ddof=1) if samples.shape[1] > 1 else np.zeros(len(samples))
    return np.maximum(own, spread_floor)


def print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def percent(share: float) -> str:
    return f"{100.0 * share:.2f}" if share < 0.1 else f"{100.0 * share:.1f}"


def false_alarms_and_power(generator: np.random.Generator) -> None:
    rows = []
    for name, draw in DISTRIBUTIONS.items():
        for n_reference in (10, 30):
            for n_new in N_NEW:
                reference, new = draw(generator, (N_TRIALS, n_reference)), draw(generator, (N_TRIALS, n_new))
                welch = "-" if n_new == 1 else percent(welch_alone(reference, new))
                powers = [percent(flagged(reference, new - shift)) for shift in SHIFTS]
                rows.append([name, str(n_reference), str(n_new), percent(flagged(reference, new)), welch, *powers])
    header = ["distribution", "reference runs", "new runs", "false alarms", "Welch alone"]
    header += [f"drop of {shift:.0f} sd" for shift in SHIFTS]
    print_table("Flagged, in % of trials (nominal false alarms: 1)", header, rows)


def same_seeds(generator: np.random.Generator) -> None:
    rows = []
    for n_seeds, n_contexts in ((10, 3), (5, 2)):
        groups = [seed for seed in range(n_seeds) for _ in range(n_contexts)]
        for likeness in (0.0, 0.3, 0.6, 0.9):
            shared = generator.standard_normal((N_TRIALS, n_seeds, 1))
            own = generator.standard_normal((N_TRIALS, n_seeds, n_contexts))
            reference = (np.sqrt(likeness) * shared + np.sqrt(1.0 - likeness) * own).reshape(N_TRIALS, -1)
            size = effective_size(reference, groups=groups)
            cells = []
            for n_new in (1, 3):
                new = generator.standard_normal((N_TRIALS, n_new))
                cells += [percent(flagged(reference, new)), percent(flagged(reference, new, n_effective=size))]
            rows.append([f"{n_seeds} x {n_contexts}", f"{likeness:.1f}", f"{size.mean():.1f}", *cells])
    header = ["seeds x contexts", "correlation in a seed", "mean effective size"]
    header += ["1 run, n", "1 run, effective n", "3 runs, n", "3 runs, effective n"]
    print_table("False alarms in % where reference runs share seeds", header, rows)


def floors(generator: np.random.Generator) -> None:
    rows = []
    reference, new = generator.standard_normal((N_TRIALS, 30)), generator.standard_normal((N_TRIALS, 3))
    for floor in (0.0, 0.5, 0.8, 1.0, 1.5, 2.0):
        cells = [percent(flagged(reference, new - shift, spread_floor=floor)) for shift in (0.0, *SHIFTS)]
        rows.append([f"{floor:.1f}", *cells])
    header = ["floor / true sd", "false alarms", *(f"drop of {shift:.0f} sd" for shift in SHIFTS)]
    print_table("The floor under the spread: flagged in %, 30 reference runs, 3 new", header, rows)


def unequal_spreads(generator: np.random.Generator) -> None:
    rows = []
    for ratio in (0.5, 1.0, 2.0):
        cells = []
        for n_new in (1, 3, 10):
            reference, new = generator.standard_normal((N_TRIALS, 30)), generator.standard_normal((N_TRIALS, n_new))
            cells += [percent(flagged(reference, ratio * new)), percent(flagged(reference, ratio * new - 1.0))]
        rows.append([f"{ratio:.1f}", *cells])
    header = ["sd of new / reference"]
    header += [f"{n} run{'s' * (n > 1)}, {what}" for n in (1, 3, 10) for what in ("no drop", "drop of 1 sd")]
    print_table("New runs that scatter otherwise than the reference: flagged in %, 30 reference runs", header, rows)


def detectable(generator: np.random.Generator) -> None:
    rows = []
    for n_reference in (10, 30):
        for n_new in N_NEW:
            reference = generator.standard_normal((N_TRIALS, n_reference))
            # The drop is proportional to the spread: one call on samples of spread 1 gives the factor for all.
            unit = np.arange(n_reference) / np.arange(n_reference).std(ddof=1)
            factor = detectable_drop(list(unit), n_new=n_new, coverage=COVERAGE)
            drop = factor * reference.std(axis=1, ddof=1)
            new = generator.standard_normal((N_TRIALS, n_new)) - drop[:, np.newaxis]
            rows.append([str(n_reference), str(n_new), f"{factor:.2f}", percent(flagged(reference, new))])
    header = ["reference runs", "new runs", "detectable drop / spread", f"flagged at it, % (nominal {100 * POWER:.0f})"]
    print_table("The detectable drop, computed from each reference", header, rows)


def main() -> None:
    started = time.perf_counter()
    generator = np.random.default_rng(20240612)
    error = 100.0 * stats.norm.ppf(0.975) * np.sqrt(0.01 * 0.99 / N_TRIALS)
    print(f"{N_TRIALS} trials a cell; a measured 1 % is known to +- {error:.2f} points (95 %).")
    for table in (false_alarms_and_power, same_seeds, floors, unequal_spreads, detectable):
        table(generator)
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()

"""Runs beside a reference of independent samples: false alarms, power, floor, unequal spreads, and the detectable drop."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.draws import COVERAGE, DISTRIBUTIONS, N_TRIALS, Rate, Table, percent, spread
from vigil.statistics.bands import POWER, detectable_drop, is_outside
from vigil.statistics.welch import welch_from_moments

N_NEW = (1, 2, 3, 5, 8, 10)
SHIFTS = (1.0, 2.0, 3.0, 4.0)


def flagged(reference: np.ndarray, new: np.ndarray, *, spread_floor: float = 0.0) -> float:
    """Return the share of trials [trial, n] against [trial, m] that the verdict calls outside."""
    return float(
        np.mean(
            is_outside(
                new.mean(axis=1) - reference.mean(axis=1),
                spread_new=spread(new, spread_floor),
                n_new=new.shape[1],
                spread_reference=spread(reference, spread_floor),
                n_reference=reference.shape[1],
                coverage=COVERAGE,
            )
        )
    )


def _welch_alone(reference: np.ndarray, new: np.ndarray) -> float:
    test = welch_from_moments(
        new.mean(axis=1) - reference.mean(axis=1),
        spread_new=spread(new),
        n_new=new.shape[1],
        spread_reference=spread(reference),
        n_reference=reference.shape[1],
    )
    return float(np.mean(test.p_value < 1.0 - COVERAGE))


def false_alarms_and_power(generator: np.random.Generator) -> Table:
    """Return how often clean and shifted runs are outside, by distribution, reference size and number of runs."""
    header = ["distribution", "reference runs", "new runs", "false alarms", "Welch alone"]
    table = Table("One side: flagged, in % (nominal false alarms: 1)", header + [f"drop of {shift:.0f} sd" for shift in SHIFTS])
    for name, draw in DISTRIBUTIONS.items():
        for n_reference in (10, 30):
            for n_new in N_NEW:
                reference, new = draw(generator, (N_TRIALS, n_reference)), draw(generator, (N_TRIALS, n_new))
                welch = "-" if n_new == 1 else percent(_welch_alone(reference, new))
                powers = [percent(flagged(reference, new - shift)) for shift in SHIFTS]
                alarms = flagged(reference, new)
                table.rows.append([name, str(n_reference), str(n_new), percent(alarms), welch, *powers])
                case = f"{name}, {n_new} run{'s' * (n_new > 1)} against {n_reference}"
                table.rates.append(Rate("band", case, 1.0 - COVERAGE, alarms))
    return table


def floors(generator: np.random.Generator) -> Table:
    """Return what a floor below and above the true spread does."""
    header = ["floor / true sd", "false alarms", *(f"drop of {shift:.0f} sd" for shift in SHIFTS)]
    table = Table("The floor under the spread: flagged in %, 30 reference runs, 3 new", header)
    reference, new = generator.standard_normal((N_TRIALS, 30)), generator.standard_normal((N_TRIALS, 3))
    for floor in (0.0, 0.5, 0.8, 1.0, 1.5, 2.0):
        cells = [percent(flagged(reference, new - shift, spread_floor=floor)) for shift in (0.0, *SHIFTS)]
        table.rows.append([f"{floor:.1f}", *cells])
    return table


def unequal_spreads(generator: np.random.Generator) -> Table:
    """Return what happens where new runs scatter otherwise than the reference."""
    header = ["sd of new / reference"]
    header += [f"{n} run{'s' * (n > 1)}, {what}" for n in (1, 3, 10) for what in ("no drop", "drop of 1 sd")]
    table = Table("New runs that scatter otherwise than the reference: flagged in %, 30 reference runs", header)
    for ratio in (0.5, 1.0, 2.0):
        cells = []
        for n_new in (1, 3, 10):
            reference, new = generator.standard_normal((N_TRIALS, 30)), generator.standard_normal((N_TRIALS, n_new))
            cells += [percent(flagged(reference, ratio * new)), percent(flagged(reference, ratio * new - 1.0))]
        table.rows.append([f"{ratio:.1f}", *cells])
    table.note = "A spread that has changed is a change: the nominal rate is that of runs that are as the reference in every way."
    return table


def detectable(generator: np.random.Generator) -> Table:
    """Return how often a drop of the size that a verdict reports is flagged."""
    header = ["reference runs", "new runs", "detectable drop / spread", f"flagged at it, % (nominal {100 * POWER:.0f})"]
    table = Table("The detectable drop, computed from each reference", header)
    for n_reference in (10, 30):
        for n_new in N_NEW:
            reference = generator.standard_normal((N_TRIALS, n_reference))
            # The drop is proportional to the spread: one call on samples of spread 1 gives the factor for all.
            unit = np.arange(n_reference) / np.arange(n_reference).std(ddof=1)
            factor = detectable_drop(list(unit), n_new=n_new, coverage=COVERAGE)
            drop = factor * reference.std(axis=1, ddof=1)
            found = flagged(reference, generator.standard_normal((N_TRIALS, n_new)) - drop[:, np.newaxis])
            table.rows.append([str(n_reference), str(n_new), f"{factor:.2f}", percent(found)])
            table.rates.append(Rate("detectable drop, missed", f"{n_new} against {n_reference}", 1.0 - POWER, 1.0 - found))
    return table

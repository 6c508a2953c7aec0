"""A reference of seeds x frameworks: four ways to judge by it, where frameworks differ and where they do not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from benchmarks.calibration.draws import COVERAGE, DISTRIBUTIONS, N_TRIALS, Draw, Rate, Table, gaussian, percent
from vigil.statistics.bands import is_outside
from vigil.statistics.pooling import Pool, pool

N_FRAMEWORKS = 3


@dataclass(frozen=True)
class Trials:
    """References [trial, seed, framework], and what each framework has for good [trial, framework]; new runs are of the first."""

    rows: np.ndarray
    effects: np.ndarray

    @property
    def own(self) -> np.ndarray:
        """What the framework of the new runs has for good."""
        return self.effects[:, 0]


def draw_trials(
    generator: np.random.Generator,
    draw: Draw,
    *,
    n_seeds: int,
    likeness: float,
    framework_spread: float,
    scatter: tuple[float, ...] = (1.0,) * N_FRAMEWORKS,
) -> Trials:
    """Return mu + framework + seed + rest. Seed and rest have variance 1 together, times `scatter` squared."""
    effect = framework_spread * generator.standard_normal((N_TRIALS, 1, N_FRAMEWORKS))
    shared, rest = draw(generator, (N_TRIALS, n_seeds, 1)), draw(generator, (N_TRIALS, n_seeds, N_FRAMEWORKS))
    noise = np.sqrt(likeness) * shared + np.sqrt(1.0 - likeness) * rest
    return Trials(effect + np.array(scatter) * noise, effect[:, 0])


def own_rows(trials: Trials) -> Pool:
    """Return the pool that judges: around the own framework's rows, all frameworks telling the spread."""
    flat, seeds, frameworks = _flat(trials)
    return pool(flat, seeds=seeds, frameworks=frameworks, framework=0)


def all_rows(trials: Trials) -> Pool:
    """Return the pool around the mean of all rows, likeness within seeds allowed for and frameworks not: the rule before."""
    flat, seeds, _ = _flat(trials)
    return pool(flat, seeds=seeds)


def own_rows_alone(trials: Trials) -> Pool:
    """Return the pool of the own framework's rows, the others not used."""
    own = trials.rows[:, :, 0]
    n = float(own.shape[1])
    return Pool(own.mean(axis=1), own.std(axis=1, ddof=1), n, n - 1.0)


def random_effects(trials: Trials, *, n_new: int) -> Pool:
    """Return the two-way random-effects view: around the mean of all rows, the spread of frameworks allowed for.

    The variance of a mean of n_new runs minus that of all rows is (1 - 1 / a) vF + (vS + vE) (1 / n_new) + vS / b +
    vE / (a b), with components by the mean squares of the analysis of variance, vF cut at 0, and Satterthwaite's
    degrees of freedom (doi:10.2307/3002019). As a pool its spread is what makes `is_outside` use that variance.
    """
    rows = trials.rows
    _, b, a = rows.shape
    grand = rows.mean(axis=(1, 2), keepdims=True)
    of_framework, of_seed = rows.mean(axis=1, keepdims=True), rows.mean(axis=2, keepdims=True)
    frameworks = b * ((of_framework - grand) ** 2).sum(axis=(1, 2)) / (a - 1)
    seeds = a * ((of_seed - grand) ** 2).sum(axis=(1, 2)) / (b - 1)
    error = ((rows - of_framework - of_seed + grand) ** 2).sum(axis=(1, 2)) / ((a - 1) * (b - 1))
    weight = np.where(frameworks > error, (1.0 - 1.0 / a) / b, 0.0)
    parts = np.stack([weight * frameworks, (1 / n_new + 1 / b) / a * seeds, ((a - 1) / (a * n_new) - weight) * error])
    variance = np.maximum(parts.sum(axis=0), 1e-300)
    freedom = variance**2 / (parts**2 / np.array([[a - 1], [b - 1], [(a - 1) * (b - 1)]])).sum(axis=0)
    n = float(a * b)
    return Pool(grand[:, 0, 0], np.sqrt(variance / (1 / n_new + 1 / n)), n, freedom)


def flagged(generator: np.random.Generator, trials: Trials, found: Pool, draw: Draw, *, n_new: int, drop: float = 0.0) -> float:
    """Return the share of trials in which runs of the first framework are outside."""
    new = draw(generator, (N_TRIALS, n_new))
    return float(
        np.mean(
            is_outside(
                new.mean(axis=1) + trials.own - drop - found.mean,
                spread_new=new.std(axis=1, ddof=1) if n_new > 1 else np.zeros(N_TRIALS),
                n_new=n_new,
                spread_reference=found.spread,
                n_reference=found.n_effective,
                freedom=found.degrees_of_freedom,
                coverage=COVERAGE,
            )
        )
    )


def alternatives(generator: np.random.Generator) -> Table:
    """Return false alarms, power and width of four ways, by how far frameworks differ."""
    ways = ("all rows", "random effects", "own rows alone", "own rows, pooled spread")
    header = ["new runs", "spread of frameworks", *(f"{way}: false alarms" for way in ways)]
    header += [f"{way}: drop found" for way in ways] + [f"{way}: half width" for way in ways]
    table = Table(
        "Frameworks that differ for good: four ways to judge, in %; 8 seeds x 3 frameworks, correlation in a seed 0.4", header
    )
    for n_new, drop in ((1, 3.0), (3, 2.0), (10, 1.5)):
        for size in (0.0, 0.25, 0.5, 1.0, 2.0):
            trials = draw_trials(generator, gaussian, n_seeds=8, likeness=0.4, framework_spread=size)
            pools = [all_rows(trials), random_effects(trials, n_new=n_new), own_rows_alone(trials), own_rows(trials)]
            alarms = [flagged(generator, trials, found, gaussian, n_new=n_new) for found in pools]
            powers = [flagged(generator, trials, found, gaussian, n_new=n_new, drop=drop) for found in pools]
            widths = [f"{_half_width(found, n_new=n_new):.2f}" for found in pools]
            table.rows.append([str(n_new), f"{size:g}", *map(percent, alarms), *map(percent, powers), *widths])
    table.note = "Spread and widths are in standard deviations of a run within a framework; the drops are 3, 2 and 1.5 of them."
    return table


def calibration(generator: np.random.Generator) -> Table:
    """Return the false alarms of the way that judges, for every distribution, and seeds that are more or less alike."""
    header = ["distribution", "seeds", "correlation in a seed", "spread of frameworks", "1 run", "3 runs", "10 runs"]
    table = Table("Around the own framework's rows: false alarms in % (nominal: 1)", header)
    for name, draw in DISTRIBUTIONS.items():
        for n_seeds in (5, 8, 10):
            for likeness in (0.0, 0.4, 0.8):
                for size in (0.0, 2.0) if n_seeds == 8 else (0.0,):
                    trials = draw_trials(generator, draw, n_seeds=n_seeds, likeness=likeness, framework_spread=size)
                    found, cells = own_rows(trials), []
                    for n_new in (1, 3, 10):
                        alarms = flagged(generator, trials, found, draw, n_new=n_new)
                        case = f"{name}, new runs {n_new}, {n_seeds} seeds, correlation {likeness:g}, frameworks {size:g}"
                        table.rates.append(Rate("own rows", case, 1.0 - COVERAGE, alarms))
                        cells.append(percent(alarms))
                    table.rows.append([name, str(n_seeds), f"{likeness:g}", f"{size:g}", *cells])
    return table


def scatter(generator: np.random.Generator) -> Table:
    """Return what happens where frameworks scatter differently: the price of a pooled spread."""
    table = Table(
        "Frameworks that scatter differently: false alarms in %, 10 seeds x 3 frameworks, correlation 0.4",
        ["sd of own, others", "own rows, pooled spread: 1 run", "3 runs", "own rows alone: 1 run", "3 runs"],
    )
    for sizes in ((1.0, 1.0, 1.0), (1.2, 0.9, 0.9), (0.8, 1.1, 1.1), (1.4, 0.6, 0.9), (0.6, 1.4, 0.9)):
        trials = draw_trials(generator, gaussian, n_seeds=10, likeness=0.4, framework_spread=0.0, scatter=sizes)
        cells = []
        for found in (own_rows(trials), own_rows_alone(trials)):
            for n_new in (1, 3):
                # New runs scatter as their framework does.
                cells.append(percent(flagged(generator, trials, found, lambda g, s, k=sizes[0]: k * gaussian(g, s), n_new=n_new)))
        table.rows.append([", ".join(f"{size:g}" for size in sizes), *cells])
    return table


def _half_width(found: Pool, *, n_new: int) -> float:
    quantile = special.stdtrit(found.degrees_of_freedom, (1.0 + COVERAGE) / 2.0)
    return float(np.median(quantile * found.spread * np.sqrt(1.0 / n_new + 1.0 / found.n_effective)))


def _flat(trials: Trials) -> tuple[np.ndarray, list[int], list[int]]:
    n_trials, n_seeds, n_frameworks = trials.rows.shape
    seeds = [seed for seed in range(n_seeds) for _ in range(n_frameworks)]
    return trials.rows.reshape(n_trials, -1), seeds, list(range(n_frameworks)) * n_seeds

"""Runs one at a time: the two error rates of `--until-decided`, and what a t test does that is looked at after each run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from benchmarks.calibration.draws import DISTRIBUTIONS, N_TRIALS, Draw, Rate, Table, percent
from benchmarks.calibration.frameworks import draw_trials, own_rows
from vigil.statistics.pooling import Pool
from vigil.statistics.sequential import ALPHA, BETA, CAP, DELTA, decide, log_evidence

_TRIALS = N_TRIALS // 2


@dataclass(frozen=True)
class Decisions:
    """Of every trial: 1 outside, -1 reproduced, 0 undecided; and after how many runs it ended."""

    decision: np.ndarray
    runs: np.ndarray


def in_turn(reference: Pool, new: np.ndarray, *, delta: float | np.ndarray = DELTA) -> Decisions:
    """Return what `sequential.looks` decides on every trial [trial, run], without a floor."""
    decision, runs = np.zeros(len(new), dtype=int), np.full(len(new), new.shape[1])
    looked_for = np.broadcast_to(delta, decision.shape)
    size, free = (np.broadcast_to(each, decision.shape) for each in (reference.n_effective, reference.degrees_of_freedom))
    for k in range(1, new.shape[1] + 1):
        left = np.flatnonzero(decision == 0)
        seen, freedom = new[left, :k], free[left] + k - 1.0
        squares = free[left] * reference.spread[left] ** 2 + ((seen - seen.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        n = 1.0 / (1.0 / k + 1.0 / size[left])
        difference = seen.mean(axis=1) - reference.mean[left]
        statistic = difference / np.sqrt(squares / freedom) * np.sqrt(n)
        log_e = log_evidence(statistic, freedom=freedom, n=n, delta=looked_for[left])
        p_mean = 2.0 * special.stdtr(free[left], -np.abs(difference) / reference.spread[left] * np.sqrt(n))
        now = decide(log_e, p_mean, alpha=ALPHA, beta=BETA, planned=new.shape[1])
        decision[left] = now
        runs[left[now != 0]] = k
    return Decisions(decision, runs)


def _reference(generator: np.random.Generator, draw: Draw) -> tuple[Pool, np.ndarray]:
    trials = draw_trials(generator, draw, n_seeds=8, likeness=0.4, framework_spread=0.5)
    found = own_rows(trials)
    first = slice(0, _TRIALS)
    pool = Pool(found.mean[first], found.spread[first], found.n_effective[first], found.degrees_of_freedom[first])
    return pool, trials.own[first, np.newaxis]


def until_decided(generator: np.random.Generator) -> Table:
    """Return the error rates by distribution, effect looked for and true shift, looked at after each of 12 runs."""
    table = Table(
        f"--until-decided, at most {CAP} runs: decisions in % (promised: without a shift outside at most 1, "
        "at the effect reproduced at most 10)",
        ["distribution", "effect", "true shift", "outside", "reproduced", "undecided", "runs, mean"],
    )
    for name, draw in DISTRIBUTIONS.items():
        for delta in (1.0, 2.0, 3.0):
            for shift in (0.0, -0.5 * delta, -delta, delta, -1.5 * delta):
                reference, own = _reference(generator, draw)
                found = in_turn(reference, draw(generator, (_TRIALS, CAP)) + own + shift, delta=delta)
                outside, inside = float(np.mean(found.decision == 1)), float(np.mean(found.decision == -1))
                undecided = float(np.mean(found.decision == 0))
                cells = [percent(outside), percent(inside), percent(undecided), f"{found.runs.mean():.1f}"]
                table.rows.append([name, f"{delta:g} sd", f"{shift:+g} sd", *cells])
                case = f"{name}, effect {delta:g} sd, shift {shift:+g} sd"
                if shift == 0.0:
                    table.rates.append(Rate("until decided, false alarms", case, ALPHA, outside, is_bound=True))
                elif abs(shift) >= delta:
                    table.rates.append(Rate("until decided, misses", case, BETA, inside, is_bound=True))
    return table


def effect_in_units(generator: np.random.Generator) -> Table:
    """Return the rates where the effect is given in the metric's unit, so that it is an estimated number of deviations."""
    table = Table(
        "--until-decided --effect X: decisions in %, Gaussian",
        ["effect, true sd", "true shift", "outside", "reproduced", "undecided"],
    )
    for effect in (1.0, 2.0, 3.0):
        for shift in (0.0, -effect):
            reference, own = _reference(generator, DISTRIBUTIONS["Gaussian"])
            new = generator.standard_normal((_TRIALS, CAP)) + own + shift
            found = in_turn(reference, new, delta=effect / reference.spread).decision
            rates = [float(np.mean(found == which)) for which in (1, -1, 0)]
            table.rows.append([f"{effect:g}", f"{shift:+g}", *map(percent, rates)])
            name, nominal, actual = ("false alarms", ALPHA, rates[0]) if shift == 0.0 else ("misses", BETA, rates[1])
            table.rates.append(Rate(f"until decided, {name}", f"--effect {effect:g} sd", nominal, actual, is_bound=True))
    return table


def peeking(generator: np.random.Generator) -> Table:
    """Return how often a t test at 1 % ever alarms on clean runs when it is looked at after each."""
    table = Table(
        "What --until-decided is not: a band at 1 % looked at after each clean run, ever outside in %", ["looks", "Gaussian"]
    )
    reference, own = _reference(generator, DISTRIBUTIONS["Gaussian"])
    new, ever = generator.standard_normal((_TRIALS, CAP)) + own, np.zeros(_TRIALS, dtype=bool)
    for k in range(1, CAP + 1):
        error = reference.spread * np.sqrt(1.0 / k + 1.0 / reference.n_effective)
        statistic = (new[:, :k].mean(axis=1) - reference.mean) / error
        ever |= 2.0 * special.stdtr(reference.degrees_of_freedom, -np.abs(statistic)) < ALPHA
        if k in (1, 3, 6, 12):
            table.rows.append([str(k), percent(float(ever.mean()))])
    return table

"""Evidence run by run: the e-value against quadrature and scipy, its two error rates, and a peeking test that breaks them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from benchmarks.calibration.in_turn import in_turn
from vigil.statistics.pooling import Pool
from vigil.statistics.sequential import ALPHA, BETA, CAP, INSIDE, OUTSIDE, decide, log_e_value, looks

TRIALS = 6000


def by_quadrature(statistic: float, *, freedom: float, noncentrality: float) -> float:
    """Return the log of the e-value from the definition of T: a normal over the root of a chi square, integrated."""

    def log_density(shift: float) -> float:
        def log_integrand(u: float) -> float:
            return -((statistic * u / math.sqrt(freedom) - shift) ** 2) / 2.0 + freedom * math.log(u) - u * u / 2.0

        grid = np.linspace(1e-3, 60.0, 60_001)
        peak = max(log_integrand(u) for u in grid[::50])
        values = np.exp(np.array([log_integrand(u) for u in grid]) - peak)
        return peak + math.log(integrate.simpson(values, x=grid))

    sides = np.logaddexp(log_density(noncentrality), log_density(-noncentrality)) - math.log(2.0)
    return float(sides - log_density(0.0))


@pytest.mark.parametrize(
    ("statistic", "freedom", "n", "delta"),
    [
        (0.0, 9.0, 2.0, 2.0),
        (2.0, 9.0, 3.0, 2.0),
        (-2.0, 9.0, 3.0, 2.0),
        (15.0, 7.0, 0.9, 2.0),
        (-40.0, 20.5, 6.0, 4.0),
        (3.0, 27.3, 5.0, 8.0),
    ],
)
def test_the_e_value_agrees_with_quadrature(statistic, freedom, n, delta):
    """From e^26 to e^-89, far out in the tails and with degrees of freedom that are not whole."""
    ours = log_e_value(statistic, freedom=freedom, n=n, delta=delta)
    assert ours == pytest.approx(
        by_quadrature(statistic, freedom=freedom, noncentrality=delta * math.sqrt(n)), rel=1e-7, abs=1e-7
    )


def test_the_e_value_agrees_with_scipy_in_the_middle():
    """Where scipy's noncentral t is right, the mean of its two densities over the central one."""
    statistic = np.linspace(-6.0, 6.0, 25)
    shift = 2.0 * math.sqrt(3.0)
    mixed = (stats.nct.pdf(statistic, 12, shift) + stats.nct.pdf(statistic, 12, -shift)) / 2.0
    expected = np.log(mixed / stats.t.pdf(statistic, 12))
    assert log_e_value(statistic, freedom=12.0, n=3.0, delta=2.0) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_one_sided_e_value_would_differ():
    """The evidence is the same on either side: a drop and a gain of one size."""
    both = log_e_value(np.array([3.0, -3.0]), freedom=12.0, n=3.0, delta=2.0)
    assert both[0] == both[1]
    shift = 2.0 * math.sqrt(3.0)
    one_sided = math.log(stats.nct.pdf(3.0, 12, shift) / stats.t.pdf(3.0, 12))
    assert one_sided == pytest.approx(both[0] + math.log(2.0), abs=1e-3)


def test_its_mean_is_one_while_nothing_differs():
    """Integrated over Student's t it is 1, whatever the effect that is looked for."""
    for delta in (0.5, 2.0):
        mean, _ = integrate.quad(
            lambda x, delta=delta: math.exp(log_e_value(x, freedom=9.0, n=2.0, delta=delta)) * stats.t.pdf(x, 9),
            -400.0,
            400.0,
            points=[0],
            limit=400,
        )
        assert mean == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(("statistic", "delta"), [(1e6, 50.0), (math.inf, 50.0), (0.0, 300.0)])
def test_nothing_overflows(statistic, delta):
    """Statistics and effects beyond all reason have finite logarithms."""
    assert math.isfinite(log_e_value(statistic, freedom=30.0, n=9.0, delta=delta))


@pytest.mark.parametrize("freedom", [1.0, 20.0, 120.0])
def test_an_effect_of_hundreds_of_deviations_has_an_e_value(freedom):
    """Where the series would need too many terms the asymptotic one stands in its place, and meets it where it takes over."""
    settings = {"freedom": freedom, "n": 2.0}
    scale = math.sqrt(1.0 + freedom / 1e12)  # of x = delta^2 n / 2 T^2 / (f + T^2) at T = 1e6
    series, asymptotic = (log_e_value(1e6, **settings, delta=math.sqrt(x) * scale) for x in (10_000.0 - 1e-3, 10_000.0 + 1e-3))
    assert asymptotic == pytest.approx(series, abs=1e-4)
    assert math.isfinite(log_e_value(1e6, **settings, delta=4000.0))
    found = looks([10.0], mean=88.7, spread=0.3, n_reference=10.0, freedom=freedom, delta=400.0)
    assert found[-1].decision == OUTSIDE


def reference(generator, n=16) -> Pool:
    rows = generator.standard_normal((TRIALS, n))
    return Pool(rows.mean(axis=1), rows.std(axis=1, ddof=1), float(n), n - 1.0)


def test_the_loop_on_arrays_is_the_one_that_judges():
    """What the benchmark and the rates below are measured with decides as `looks` does, and after as many runs."""
    generator = np.random.default_rng(1)
    known, new = reference(generator), generator.standard_normal((TRIALS, CAP)) - 1.5
    decided = in_turn(known, new)
    names = {OUTSIDE: 1, INSIDE: -1, None: 0}
    for trial in range(40):
        found = looks(list(new[trial]), mean=known.mean[trial], spread=known.spread[trial], n_reference=16.0, freedom=15.0)
        assert (names[found[-1].decision], found[-1].n) == (decided.decision[trial], decided.runs[trial])
        assert all(each.decision is None for each in found[:-1])
    assert len(set(decided.decision[:40])) == 3


@pytest.mark.parametrize("delta", [1.0, 2.0])
def test_false_alarms_stay_below_alpha_at_any_stop(delta):
    """Looked at after each of 12 clean runs: at most 1 % ever outside (and 3 standard errors)."""
    generator = np.random.default_rng(2)
    decided = in_turn(reference(generator), generator.standard_normal((TRIALS, CAP)), delta=delta).decision
    assert np.mean(decided == 1) < ALPHA + 3.0 * math.sqrt(ALPHA / TRIALS)


@pytest.mark.parametrize("shift", [-2.0, 2.0, 3.0])
def test_misses_stay_below_beta(shift):
    """Runs off by the effect or more are called reproduced at most 10 % of the time."""
    generator = np.random.default_rng(3)
    decided = in_turn(reference(generator), generator.standard_normal((TRIALS, CAP)) + shift).decision
    assert np.mean(decided == -1) < BETA
    assert np.mean(decided == 1) > 0.8


def test_clean_runs_are_decided_early():
    """At the default effect most clean cells end as reproduced before the cap."""
    generator = np.random.default_rng(4)
    decided = in_turn(reference(generator), generator.standard_normal((TRIALS, CAP))).decision
    assert np.mean(decided == -1) > 0.9


def test_a_run_at_chance_level_needs_no_second():
    """Sixty deviations below, the first look decides, also where the effect looked for is small."""
    for delta in (0.5, 1.0, 2.0):
        found = looks([10.0], mean=88.7, spread=0.9, n_reference=10.0, freedom=16.0, delta=delta)
        assert found[-1].decision == OUTSIDE
        assert log_e_value(-80.0, freedom=16.0, n=10.0 / 11.0, delta=0.5) < math.log(1.0 / ALPHA)


@pytest.mark.parametrize("failed_at", [0, 1])
@pytest.mark.parametrize(("n_reference", "freedom", "spread"), [(5.0, 4.0, 0.3), (5.0, 4.0, 0.9), (10.0, 16.0, 0.9)])
def test_a_run_that_fails_is_not_reproduced_by_the_spread_it_makes(failed_at, n_reference, freedom, spread):
    """Its own distance is in the spread of the runs together, in which any mean lies; the reference's spread says outside."""
    values = [88.0, 88.0]
    values[failed_at] = 10.0
    found = looks(values, mean=88.7, spread=spread, n_reference=n_reference, freedom=freedom)
    assert (found[-1].decision, found[-1].n) == (OUTSIDE, failed_at + 1)
    assert found[-1].p_reference <= ALPHA


def test_what_a_fixed_number_of_runs_would_call_outside_is_not_reproduced():
    """An e-value that leaves little of a large effect decides nothing while the mean is outside by the reference's spread."""
    little = math.log(0.01)
    assert decide(little, 0.5, alpha=0.01, beta=0.1, planned=12) == -1
    assert decide(little, 0.009, alpha=0.01, beta=0.1, planned=12) == 0
    assert decide(little, 1.7e-5, alpha=0.01, beta=0.1, planned=12) == 0
    assert decide(little, 1.6e-5, alpha=0.01, beta=0.1, planned=12) == 1


def test_a_t_test_that_peeks_breaks_its_rate():
    """A t test at 1 % after each of 12 clean runs alarms at over 2.5 %: the simulation can see a broken rule."""
    generator = np.random.default_rng(2)
    known = reference(generator)
    new, ever = generator.standard_normal((TRIALS, CAP)), np.zeros(TRIALS, dtype=bool)
    for k in range(1, CAP + 1):
        statistic = (new[:, :k].mean(axis=1) - known.mean) / (known.spread * math.sqrt(1.0 / k + 1.0 / 16.0))
        ever |= 2.0 * special.stdtr(15.0, -np.abs(statistic)) < ALPHA
    assert ever.mean() > 0.025


def test_degrees_of_freedom_off_by_one_are_not_the_same_evidence():
    """One more or one fewer changes the e-value by percents: the quadrature above would see it."""
    right = log_e_value(6.0, freedom=9.0, n=3.0, delta=2.0)
    for wrong in (8.0, 10.0):
        assert abs(log_e_value(6.0, freedom=wrong, n=3.0, delta=2.0) - right) > 0.01


def test_the_floor_lifts_the_spread_of_the_statistic():
    """Runs that agree by chance with a spread below the floor are no strong evidence."""
    settings = {"mean": 80.0, "spread": 0.01, "n_reference": 10.0, "freedom": 9.0}
    assert looks([80.2], **settings)[-1].decision == OUTSIDE
    assert looks([80.2], **settings, spread_floor=0.5)[-1].decision is None


@pytest.mark.parametrize("wrong", [{"spread": 0.0}, {"delta": 0.0}, {"alpha": 1.0}, {"beta": 0.0}])
def test_a_rule_without_sense_is_refused(wrong):
    """No spread, no effect, and rates of 0 or 1."""
    with pytest.raises(ValueError, match="allowed are"):
        looks([80.0], **{"mean": 80.0, "spread": 1.0, "n_reference": 10.0, "freedom": 9.0, **wrong})

"""Findings on planted histories: what is found, with which night, who else moved, and what must not be found."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.calibration.draws import gaussian
from benchmarks.drift_detection import examined
from benchmarks.simulated_nights import PLANS, VERIFICATIONS, planted, simulate
from reports.drift_table import rows
from vigil.drift.findings import detect, judge, something_drifts
from vigil.drift.questions import ReferenceSamples, examine, since
from vigil.drift.series import NO_RELEASE, collect
from vigil.drift.timeline_tags import pooled_drifts

MODES, PRECISIONS = ("eager", "jit", "compile"), ("fp32", "bf16")
RELEASES = ["0.9.2"] * 11 + ["0.10.2"] * 9
REFERENCE = ReferenceSamples(
    tuple((88.0 + 0.8 * stats.norm.ppf((np.arange(30) + 0.5) / 30)).tolist()), tuple(range(1000, 1030)), ("torch",) * 30, 0.25
)


def report_of(samples, verifications=VERIFICATIONS, *, reference=None, **options):
    """Return what is detected, every cell with the same reference."""
    return detect(samples, verifications, reference_for=lambda cell: reference, **options)


def noise(seed: int, count: int = 20, *, spread: float = 0.8) -> np.ndarray:
    """Return clean values around 88."""
    return 88.0 + spread * np.random.default_rng(seed).standard_normal(count)


@pytest.fixture
def family(cell_runs):
    """Return a function that makes twelve cells of two frameworks, `drop(framework, mode, precision)` lower from night 11 on."""

    def make(drop) -> pd.DataFrame:
        cells = [(framework, mode, precision) for framework in ("jax", "torch") for mode in MODES for precision in PRECISIONS]
        after = np.arange(20) >= 11
        return pd.concat(
            [
                cell_runs(
                    (noise(number) - 0.8 * drop(*cell) * after).tolist(),
                    seeds=[night % 5 for night in range(20)],
                    releases=RELEASES,
                    framework=cell[0],
                    mode=cell[1],
                    precision=cell[2],
                )
                for number, cell in enumerate(cells)
            ]
        )

    return make


def test_a_clean_history_has_no_finding(family):
    """Nothing is found where nothing was planted, and the report says what was looked at."""
    report = report_of(family(lambda *cell: 0.0), reference=REFERENCE)
    assert report.drifts == ()
    assert not something_drifts(report)
    seen = report.looked_at
    assert (seen["cells"], seen["tested"], seen["pools"], seen["nights"]) == (12, 12, 3, 20)
    assert seen["releases"]["jax"] == ["0.9.2", "0.10.2"]
    assert 1.0 < seen["detectable_sd"]["with all others"] < seen["detectable_sd"]["alone"] < 4.0


@pytest.mark.parametrize(("size", "what", "worse"), [(4.0, "dropped", True), (-4.0, "rose", False)])
def test_a_drop_and_a_rise_are_both_found_with_night_and_release(family, size, what, worse):
    """One of twelve cells changes by four standard deviations at night 11: found alone, and a rise is as suspicious as a drop."""
    report = report_of(family(lambda *cell: size * (cell == ("jax", "jit", "fp32"))), reference=REFERENCE)
    (drift,) = report.drifts
    assert (drift.label, drift.what, drift.worse) == ("resnet_cifar quick jax-jit-fp32-x1", what, worse)
    assert (report.nights[drift.since.night], drift.since.release, drift.since.release_before) == ("night-11", "0.10.2", "0.9.2")
    assert drift.since.before == 10
    assert drift.low < -0.8 * size < drift.high
    assert drift.q < 0.05
    assert drift.siblings.summary == "only this cell of 6; not torch"


def test_a_drop_of_values_without_spread_is_a_drop(cell_runs):
    """All right night after night, then 90 %: no test of seeds has a spread, and the size is the step, with no interval."""
    samples = cell_runs([100.0] * 8 + [90.0] * 8, releases=["0.9.2"] * 8 + ["0.10.2"] * 8)
    report = report_of(samples)
    (drift,) = report.drifts
    assert (drift.what, drift.worse, drift.size) == ("dropped", True, pytest.approx(-10.0))
    assert np.isnan([drift.low, drift.high, drift.size_sd]).all()
    assert rows(report)[0][2:5] == ("-10 points [the values have no spread]", "-", "night-08")


def test_without_a_direction_nothing_is_called_worse_or_better(cell_runs):
    """A drop of a metric of which nobody recorded which way is better is told as a drop."""
    values = (noise(1) - 4.0 * (np.arange(20) >= 11)).tolist()
    report = report_of(cell_runs(values, direction=None))
    assert [(drift.what, drift.worse) for drift in report.drifts] == [("dropped", None)]
    assert something_drifts(report)


@pytest.mark.parametrize("unknown", [range(20), range(5), [19], [3, 12]])
def test_a_release_that_nobody_recorded_hides_no_drift(family, unknown):
    """Some or all nights lack the release's name: the drop is found around its night, and no bits are said to have moved."""
    samples = family(lambda *cell: 4.0 * (cell == ("jax", "jit", "fp32")))
    lost = samples["night"].isin([f"night-{night:02d}" for night in unknown])
    report = report_of(samples.assign(release=samples["release"].where(~lost)), reference=REFERENCE)
    (found,) = (drift for drift in report.drifts if drift.label == "resnet_cifar quick jax-jit-fp32-x1")
    assert found.since.low <= 11 <= found.since.high
    json.dumps(report.as_json(), allow_nan=False)
    known = {found.new_release for _, found in report.moves} | {found.old_release for _, found in report.moves}
    assert NO_RELEASE not in known


def test_where_lower_is_better_a_drop_is_no_worsening(cell_runs):
    """The direction of the metric decides what is worse, not the sign."""
    values = (noise(1) - 4.0 * (np.arange(20) >= 11)).tolist()
    (drift,) = report_of(cell_runs(values, direction="lower", unit="nats")).drifts
    assert (drift.what, drift.worse) == ("dropped", False)


def test_siblings_tell_one_mode_from_a_framework_and_from_the_machine(family):
    """Only jit of jax, all of jax, and everything at once are told apart."""
    for who, words in (
        (lambda framework, mode, precision: framework == "jax" and mode == "jit", "only jit; not torch"),
        (lambda framework, mode, precision: framework == "jax", "all of jax; not torch"),
        (lambda framework, mode, precision: True, "torch: look at the machine, the data, or Vigil"),
    ):
        report = report_of(family(lambda *cell, who=who: 4.0 * who(*cell)), reference=REFERENCE)
        found = [drift.siblings.summary for drift in report.drifts if drift.label.startswith("resnet_cifar quick jax-jit")]
        assert len(found) == 2
        assert all(words in summary for summary in found), (words, found)


def test_a_small_change_of_all_cells_is_found_in_the_pool(family):
    """A change of one standard deviation in every cell of jax is found in the pool of jax, and not in that of torch."""
    report = report_of(family(lambda framework, mode, precision: 1.0 * (framework == "jax")))
    pools = {drift.cell["framework"]: drift for drift in report.drifts if "cells" in drift.cell}
    assert "torch" not in pools
    assert pools["jax"].what == "dropped"
    assert pools["jax"].since.release == "0.10.2"


@pytest.mark.parametrize(
    ("drop", "told"),
    [
        (lambda framework, mode, precision: 0.4 * (framework == "jax"), ["jax"]),
        (lambda framework, mode, precision: 4.0 * (framework == "jax"), []),
        (lambda framework, mode, precision: 0.0, []),
    ],
)
def test_a_pool_is_told_to_mlflow_where_no_cell_of_it_drifts(family, drop, told):
    """What a cell shows has a timeline already; the pool of all frameworks says nothing beside that of the one that moved."""
    report = report_of(family(drop))
    pools = pooled_drifts(report)
    assert [pool.framework for pool in pools] == told
    for pool in pools:
        assert (pool.cells, len(pool.values), set(pool.values)) == (6, 20, set(report.nights))
        assert (pool.tags["drift"], pool.tags["drift_release"]) == ("moved", "0.9.2 -> 0.10.2")
        assert re.match(r"-0\.9\d+ sd \[-1", pool.tags["drift_size"])
        assert np.mean([pool.values[night] for night in report.nights[11:]]) < np.mean(list(pool.values.values()))


def test_a_pool_is_told_beside_a_cell_that_drifts_the_other_way(family):
    """One cell that rises explains no drop of the others; one that drops does; so does the pool of one framework that of all."""
    report = report_of(family(lambda framework, mode, precision: 1.0 * (framework == "jax")))
    jax, every = (next(drift for drift in report.drifts if drift.label.startswith(name)) for name in ("jax, 6", "every"))
    cell = next(drift for drift in report.drifts if "jax-eager-bf16" in drift.label)
    for other, told in (
        (cell, []),
        (dataclasses.replace(cell, size=-cell.size), ["jax"]),
        (dataclasses.replace(cell, cell=cell.cell | {"framework": "torch"}), ["jax"]),
        (every, ["jax"]),
    ):
        found = dataclasses.replace(report, drifts=(jax, other))
        assert [pool.framework for pool in pooled_drifts(found)] == told


def test_cells_that_share_a_night_are_not_independent_witnesses(cell_runs):
    """Thirty cells that share what a night did to them are judged night by night: noise of nights is no drift of a framework."""
    night = 0.8 * np.random.default_rng(12).standard_normal(20)
    night -= np.where(np.arange(20) >= 11, night[11:].mean() - night[:11].mean() + 0.3, 0.0)
    samples = pd.concat(
        [
            cell_runs((noise(number, spread=0.1) + night).tolist(), releases=RELEASES, recipe=f"recipe_{number:02d}")
            for number in range(30)
        ]
    )
    assert report_of(samples).drifts == ()
    # Taken for thirty witnesses, the same values are significant beyond doubt.
    values = samples["value"].to_numpy().reshape(30, 20)
    assert stats.ttest_ind(values[:, 11:].ravel(), values[:, :11].ravel()).pvalue < 1e-3


def test_repeated_bits_do_not_make_a_finding(cell_runs):
    """Two seeds whose luck changed with the release are four samples, though forty nights repeat them: no drift is claimed."""
    before, after = [88.4, 88.1], [87.5, 87.9]
    values, states, releases = before * 10 + after * 10, ["a", "b"] * 10 + ["c", "d"] * 10, ["0.9.2"] * 20 + ["0.10.2"] * 20
    repeated = cell_runs(values, seeds=[0, 1] * 20, states=states, releases=releases)
    assert report_of(repeated).drifts == ()
    assert len(report_of(repeated.assign(state_sha256=[f"s{place}" for place in range(40)])).drifts) == 1


def test_a_gap_is_told_and_is_no_drift(cell_runs):
    """A cell that crashes for three nights has no value since then; that is neither a drift nor nothing."""
    report = report_of(cell_runs([*noise(2, 15).tolist(), None, None, None]))
    assert report.drifts == ()
    (gap,) = report.gaps
    assert (report.nights[gap.last_night], gap.tries, gap.reason) == ("night-14", 3, "failed:crash: the runner died")


def test_a_cell_that_is_left_behind_by_a_new_release_is_told(cell_runs):
    """A cell not run for over a week is told when others of its framework ran a new release, and not under the old one."""
    stopped = cell_runs(noise(3, 8).tolist(), mode="eager")
    for release, count in (("0.10.2", 1), ("0.9.2", 0)):
        going = cell_runs(noise(4).tolist(), releases=["0.9.2"] * 11 + [release] * 9)
        gaps = report_of(pd.concat([stopped, going])).gaps
        assert len(gaps) == count
    assert stopped["context"].iloc[0] == "jax-eager-fp32-x1"


def test_a_change_of_the_recipe_is_no_drift(cell_runs):
    """Values ten points lower under a new hash are a new series; under the old hash they are a drift."""
    old, new = cell_runs(noise(5, 11).tolist()), cell_runs((noise(6, 9) - 10.0).tolist(), nights=range(11, 20))
    assert report_of(pd.concat([old, new.assign(recipe_hash="bb22")])).drifts == ()
    (drift,) = report_of(pd.concat([old, new])).drifts
    assert (drift.since.night, drift.since.release, drift.since.release_before) == (11, "0.9.2", "0.9.2")


def test_a_cell_that_was_always_away_from_the_reference_is_so_all_along(cell_runs):
    """No night is blamed for a distance that was there in every release."""
    (drift,) = report_of(cell_runs((noise(8, spread=0.3) - 4.0).tolist(), releases=RELEASES), reference=REFERENCE).drifts
    assert drift.since.night is None
    assert drift.low < -4.0 < drift.high


def test_a_drift_that_creeps_is_found(cell_runs):
    """A tenth of a standard deviation more each night is found after thirty, though no two releases differ much."""
    values = noise(9, 30) - 0.08 * np.arange(30)
    (drift,) = report_of(cell_runs(values.tolist(), releases=[f"0.{night}" for night in range(30)]), reference=REFERENCE).drifts
    assert drift.what == "dropped"


def test_a_short_series_is_asked_about_every_release(cell_runs):
    """Six values that changed with the release before the newest are found by the direct tests."""
    values = [88.0, 88.3, 84.0, 84.2, 84.1, 84.3]
    samples = cell_runs(values, seeds=[0, 1] * 3, releases=["0.9.2"] * 2 + ["0.10.1"] * 2 + ["0.10.2"] * 2)
    (drift,) = report_of(samples, reference=REFERENCE).drifts
    assert (drift.since.release_before, drift.since.release) == ("0.9.2", "0.10.1")


def test_too_few_values_are_counted_and_not_passed(cell_runs):
    """Two values and no reference can be asked nothing, and the report says so."""
    seen = report_of(cell_runs([88.0, 60.0])).looked_at
    assert (seen["cells"], seen["tested"], seen["too_short"]) == (1, 0, 1)


def test_the_report_is_json(family):
    """Everything that is found goes into JSON without NaN, and says night, release, p and siblings."""
    report = report_of(family(lambda *cell: 4.0 * (cell == ("jax", "jit", "fp32"))), reference=REFERENCE)
    found = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert found["drifts"][0]["since"]["release"] == "0.10.2"
    assert found["drifts"][0]["siblings"]["groups"][0]["state"] == "not moved"
    assert found["nights"][found["drifts"][0]["since"]["night"]] == "night-11"


def test_alarms_on_clean_cells_stay_below_the_stated_rate():
    """Of 200 clean histories of a cell no more alarm at 5 % than the binomial allows once in a thousand; at least one does."""
    generator = np.random.default_rng(11)
    cells = examined(generator, gaussian, simulate(generator, gaussian, plan=PLANS[0], cells=200))
    alarms = sum(each.p_value <= 0.05 for each in cells)
    assert 1 <= alarms <= stats.binom.ppf(0.999, 200, 0.05)


@pytest.mark.parametrize(("size", "found", "right"), [(1.0, 0.6, 0.6), (2.0, 0.985, 0.85), (4.0, 0.999, 0.99)])
def test_a_drop_from_night_12_of_20_is_found_as_often_as_documented(size, found, right):
    """Of 60 drops from night 12 on, as many are found, and on the right night, as docs/drift-tables.md says (binomial, 0.1 %)."""
    generator = np.random.default_rng(12)
    samples = simulate(generator, gaussian, plan=PLANS[0], cells=60, shift=planted(60, size=size))
    hits = [each for each in examined(generator, gaussian, samples) if each.p_value <= 0.05]
    assert len(hits) >= stats.binom.ppf(0.001, 60, found)
    assert sum(since(each).night == 11 for each in hits) >= stats.binom.ppf(0.001, len(hits), right)


def test_a_night_off_by_one_would_be_noticed():
    """Almost no drop of four standard deviations is placed on the night before or after: the check above can fail."""
    generator = np.random.default_rng(12)
    samples = simulate(generator, gaussian, plan=PLANS[0], cells=60, shift=planted(60, size=4.0))
    places = [since(each).night for each in examined(generator, gaussian, samples)]
    assert sum(place in (10, 12) for place in places) < stats.binom.ppf(0.001, 60, 0.99)


def test_p_values_that_few_permutations_leave_open_are_refined(cell_runs):
    """A clear step among a hundred clean cells gets a p-value far below one in a thousand."""
    samples = pd.concat(
        [
            cell_runs((noise(number) - 3.0 * (number == 0) * (np.arange(20) >= 11)).tolist(), recipe=f"recipe_{number:03d}")
            for number in range(30)
        ]
    )
    cells = [examine(series) for series in collect(samples).series]
    q_values = judge(cells)
    assert cells[0].scan.permuted > 10_000
    assert q_values[0] < 0.01 < q_values[1:].min()

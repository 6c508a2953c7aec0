"""Charts draw what was measured, losses are read from records, and the envelope is made of what it says."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from reports.site.cell_results import results_of
from reports.site.charts import history_chart, loss_chart, ratio_chart
from reports.site.losses import Losses, binned, envelope
from tests.reports.site_frames import HASH, KEY, ago, frames, sample, sample_row, verification, write_record


def looks_at(samples=(), verifications=()):
    """Return the looks at the one cell of these rows."""
    history = frames(samples, verifications)
    return results_of(history.samples, history.verifications)[KEY]


def assert_draws_the_bands(figure, looks):
    """Raise unless every run with a band lies over the very band that its row holds."""
    drawn = {}
    for trace in figure["data"]:
        if trace.get("legendgroup") == "band":
            side = "high" if trace.get("fill") else "low"
            drawn |= {(when, side): value for when, value in zip(trace["x"], trace["y"], strict=True)}
    for look in looks:
        run = look.runs[0]
        if run.band_low is not None:
            when = f"{look.created:%Y-%m-%d %H:%M:%S}"
            assert drawn.get((when, "low")) == run.band_low, when
            assert drawn.get((when, "high")) == run.band_high, when


HISTORY = [
    sample(0, invocation="a", created=ago(days=5), release="0.10.1", value=88.0),
    sample(1, invocation="a", created=ago(days=5), release="0.10.1", value=92.0, verdict="better-than-reference"),
    sample(0, invocation="b", created=ago(days=4), release="0.10.1", value=89.0, band_low=80.0, band_high=95.0),
    sample(0, invocation="c", created=ago(days=3), release="0.10.2", value=math.nan, band_low=math.nan, band_high=math.nan,
           verdict="failed:died"),
    sample(0, invocation="d", created=ago(days=2), release="0.10.2", value=84.0, verdict="regressed"),
    sample(0, invocation="e", created=ago(days=1), release="0.10.2", value=85.0, verdict="regressed"),
]  # fmt: skip


def test_every_seed_is_a_point_with_the_shape_of_its_verdict():
    """Points stand at the values of their rows; a run without a number lies at the foot, on an axis of its own."""
    figure = history_chart(looks_at(HISTORY))
    points = {trace["name"]: trace for trace in figure["data"] if trace["mode"] == "markers"}
    assert {name: trace["y"] for name, trace in points.items()} == {
        "reproduced": [88.0, 89.0], "better-than-reference": [92.0], "regressed": [84.0, 85.0], "failed:died (no number)": [0.02],
    }  # fmt: skip
    assert points["failed:died (no number)"]["yaxis"] == "y2"
    assert len({trace["marker"]["symbol"] for trace in points.values()}) == len(points)


def test_a_wrong_band_on_a_chart_is_caught():
    """The band drawn over each run is the one that it was held to; one that is shifted, or another night's, fails."""
    looks = looks_at(HISTORY)
    figure = history_chart([look for look in looks if look.identity != "d"])
    assert_draws_the_bands(history_chart(looks), looks)
    with pytest.raises(AssertionError):
        assert_draws_the_bands(figure, looks)
    figure = history_chart(looks)
    figure["data"][0]["y"][1] += 0.5
    with pytest.raises(AssertionError):
        assert_draws_the_bands(figure, looks)


def test_the_band_has_a_gap_where_there_was_none():
    """No band is drawn across the night that had no band, and one night alone still shows its band."""
    figure = history_chart(looks_at(HISTORY))
    bands = [trace for trace in figure["data"] if trace.get("legendgroup") == "band"]
    assert [len(trace["x"]) for trace in bands] == [2, 2, 2, 2]
    assert [trace["showlegend"] for trace in bands] == [False, True, False, False]
    alone = history_chart(looks_at(HISTORY[:1]))
    assert [len(trace["x"]) for trace in alone["data"] if trace.get("legendgroup") == "band"] == [2, 2]


def test_a_release_change_is_a_line_at_its_first_run():
    """One line for two releases, at the first look of the second; both are named."""
    layout = history_chart(looks_at(HISTORY))["layout"]
    assert [shape["x0"] for shape in layout["shapes"]] == [f"{HISTORY[3]['created']:%Y-%m-%d %H:%M:%S}"]
    assert [note["text"] for note in layout["annotations"]] == ["0.10.1", "0.10.2"]


def test_worst_ratios_lie_on_a_logarithmic_axis_whatever_they_are():
    """Zero and infinity have a place, a crash without a number has none, and the hover text has the true number."""
    rows = [
        verification("a", created=ago(days=4), worst_ratio=4.0, worst_score=0.5),
        verification("b", created=ago(days=3), worst_ratio=0.0, worst_score=0.0),
        verification("c", created=ago(days=2), worst_ratio=math.inf, worst_score=math.inf),
        verification("d", created=ago(days=1), worst_ratio=math.nan, worst_score=math.nan, verdict="failed:died"),
    ]
    figure = ratio_chart(looks_at([], rows))
    assert (figure["layout"]["yaxis"]["type"], figure["layout"]["yaxis"]["tickformat"]) == ("log", "~g")
    assert figure["data"][0]["y"] == [4.0, 1e-6, 1e12]
    assert "infinite" in figure["data"][0]["text"][2]
    json.dumps(figure, allow_nan=False)


def test_short_verifications_are_no_line_with_whole_ones():
    """They see less, so the two are drawn apart."""
    rows = [verification("a", created=ago(days=2)), verification("b/verify", invocation_id="b", worst_ratio=1.0)]
    found = {trace["name"]: (trace["mode"], trace["y"]) for trace in ratio_chart(looks_at([], rows))["data"]}
    assert found["worst distance, in noise floors"] == ("lines+markers", [4.0])
    assert found["worst distance, in noise floors (short)"] == ("markers", [1.0])


@pytest.mark.parametrize("draw", [
    lambda times: ratio_chart(looks_at([], [verification(str(when), created=when) for when in times])),
    lambda times: history_chart(looks_at([sample(invocation=str(when), created=when) for when in times])),
])  # fmt: skip
def test_a_single_look_stands_in_its_day(draw):
    """Around one point plotly would number milliseconds; several choose the axis themselves."""
    assert draw([ago(days=1)])["layout"]["xaxis"]["range"] == [f"{ago(days=1, hours=hours):%F %T}" for hours in (12, -12)]
    assert "range" not in draw([ago(days=2), ago(days=1)])["layout"]["xaxis"]


def test_what_was_never_measured_is_no_chart():
    """Without a reproduction, a verification or a curve there is no figure to draw."""
    assert history_chart(looks_at([], [verification()])) is None
    assert ratio_chart(looks_at([sample()])) is None
    assert loss_chart([], None) is None


def test_a_curve_is_the_mean_of_its_bins():
    """Every step is in one bin; a loss that is not a number is not hidden by its neighbours."""
    means, width = binned(list(range(1000)))
    assert width == 5
    assert means[0] == 2.0
    assert len(means) == 200
    means, width = binned([1.0, 2.0, math.nan])
    assert (width, list(means[:2])) == (1, [1.0, 2.0])
    assert math.isnan(means[2])
    assert np.allclose(binned(list(range(7)))[0], range(7))


def many(runs, *, count, recipe_hash=HASH, first=0, **changes):
    """Leave records of reproduced runs of other contexts, and return their rows."""
    rows = []
    for index in range(first, first + count):
        name = f"other{index}"
        rows.append(sample(index, invocation=name, context="torch-jit-fp32-x1", recipe_hash=recipe_hash, **changes))
        write_record(runs, rows[-1], [2.0 + 0.1 * index, 1.0 + 0.1 * index])
    return rows


def test_the_envelope_is_made_of_reproduced_runs_that_are_not_drawn(tmp_path):
    """Runs of another hash or verdict, with a planted fault or a wrong step, drawn here, or of another length are not in it."""
    own = sample()
    write_record(tmp_path, own, [9.0, 9.0])
    good = many(tmp_path, count=3)
    bad = many(tmp_path, count=1, first=30, recipe_hash="older") + many(tmp_path, count=1, first=40, verdict="regressed")
    bad += many(tmp_path, count=1, first=50, fault="x.py")
    bad += many(tmp_path, count=1, first=60, reason=None)
    rung = verification("other60/verify", invocation_id="other60", context="torch-jit-fp32-x1", verdict="regressed")
    longer = sample(7, invocation="longer", context="torch-jit-fp32-x1")
    write_record(tmp_path, longer, [1.0] * 5)
    history = frames([own, *good, *bad, longer], [rung])
    looks = results_of(history.samples, history.verifications)
    losses = Losses(tmp_path)
    drawn = losses.newest(looks[KEY])
    around = envelope(losses.reproduced(looks)["resnet_cifar", "quick", HASH], drawn=drawn)
    assert sorted(curve.row.run_id for curve in around.curves) == ["other0-seed0", "other1-seed1", "other2-seed2"]
    assert np.allclose(around.low, [2.0, 1.0])
    assert np.allclose(around.high, [2.2, 1.2])
    assert around.outside(drawn[0]) == 2
    figure = loss_chart(drawn, around)
    assert [trace["y"] for trace in figure["data"]] == [[2.0, 1.0], [2.2, 1.2], [9.0, 9.0]]


def test_two_runs_are_no_envelope(tmp_path):
    """Fewer than three others say nothing of what is usual."""
    own = sample()
    write_record(tmp_path, own, [2.0, 1.0])
    history = frames([own, *many(tmp_path, count=2)], [])
    looks = results_of(history.samples, history.verifications)
    losses = Losses(tmp_path)
    assert envelope(losses.reproduced(looks)["resnet_cifar", "quick", HASH], drawn=losses.newest(looks[KEY])) is None


@pytest.mark.parametrize(
    ("invocation", "run"),
    [("../outside", "../outside-seed0"), ("one", "one-../seed0"), ("..", "..-seed0"), ("one", "one-seed\0"), ("", "-seed0")],
)
def test_a_name_that_leads_out_of_the_runs_directory_is_not_followed(tmp_path, invocation, run):
    """No record outside of the runs directory is read, whatever an id says."""
    outside = tmp_path / "outside" / "seed0"
    outside.mkdir(parents=True)
    (outside / "record.json").write_text(json.dumps({"run_id": run, "losses": [1.0]}), encoding="utf-8")
    (tmp_path / "runs" / "one").mkdir(parents=True)
    assert Losses(tmp_path / "runs").curve(dataclasses.replace(sample_row(), invocation_id=invocation, run_id=run)) is None


def test_a_run_whose_name_no_file_can_have_has_no_curve(tmp_path):
    """Ids come from MLflow, where anybody may have edited them: one that is too long ends no report."""
    assert Losses(tmp_path).curve(sample_row(invocation="long" * 400)) is None


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"run_id": "one-seed0", "losses": ["x"]}', '{"run_id": "another", "losses": [1.0]}']
)
def test_a_broken_record_is_no_curve(tmp_path, content):
    """A record that is torn, or another run's, is left out."""
    place = tmp_path / "one" / "seed0"
    place.mkdir(parents=True)
    (place / "record.json").write_text(content, encoding="utf-8")
    assert Losses(tmp_path).curve(sample_row()) is None


def test_a_run_that_ended_early_is_drawn_as_far_as_it_came(tmp_path):
    """It is shorter than the envelope, and no share of it is said to lie outside."""
    long, short = sample(0, invocation="long", created=ago(days=1)), sample(0, invocation="short", verdict="failed:died")
    write_record(tmp_path, long, [2.0, 1.0])
    write_record(tmp_path, short, [2.0])
    history = frames([long, short, *many(tmp_path, count=3)], [])
    looks = results_of(history.samples, history.verifications)
    losses = Losses(tmp_path)
    drawn = losses.newest(looks[KEY])
    around = envelope(losses.reproduced(looks)["resnet_cifar", "quick", HASH], drawn=drawn)
    assert [around.outside(curve) for curve in drawn] == [None, 0]

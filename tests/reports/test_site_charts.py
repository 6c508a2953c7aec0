"""Charts draw what was measured, losses are read from records, and the envelope is made of what it says."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from reports.site.cell_results import results_of
from reports.site.charts import history_chart, judged, loss_chart, ratio_chart, sparkline
from reports.site.losses import Losses, binned, envelope
from tests.reports.site_frames import HASH, KEY, ago, frames, sample, sample_row, verification, write_record


def looks_at(samples=(), verifications=()):
    """Return the looks at the one cell of these rows."""
    history = frames(samples, verifications)
    return results_of(history.samples, history.verifications)[KEY]


def one_for_all(n):
    """The band for a mean is that for one run: nobody knows better."""
    return None


def drawn(picture):
    """Return a chart as XML."""
    return ElementTree.fromstring(str(picture))


def values_at(picture):
    """Return what turns a height into a value, from the labels of the axis alone."""
    labels = [(float(each.text), float(each.get("y")) - 3) for each in drawn(picture).iter("text") if each.get("class") == "y"]
    (low, foot), (high, head) = labels[0], labels[-1]
    return lambda y: low + (y - foot) / (head - foot) * (high - low)


def points_of(picture):
    """Return the points of a chart that say their number: class, height, title."""
    found = []
    for each in drawn(picture).iter("path"):
        if (each.get("class") or "").startswith(("p p-", "p-")) and each.find("title") is not None:
            numbers = [float(text) for text in re.findall(r"-?[\d.]+", each.get("d"))]
            name = each.get("class").split("p-")[1]
            y = numbers[1] if each.get("d").endswith("h0") else (numbers[1] * 1 + numbers[-1] * 0.7) / 1.7
            found.append((name, y, each.find("title").text))
    return found


def edges_of(picture):
    """Return the heights at which the band has its edges."""
    [band] = [each for each in drawn(picture).iter("path") if each.get("class") == "band"]
    path = band.get("d")
    return [float(y) for y in re.findall(r"V([\d.]+)|M[\d.]+ ([\d.]+)", path) for y in y if y], path.count("M")


def assert_draws_the_bands(picture, looks):
    """Raise unless the band's edges are those that the rows hold, and no others."""
    value, (heights, _) = values_at(picture), edges_of(picture)
    held = {edge for look in looks for run in look.runs[:1] if run.band_low is not None for edge in (run.band_low, run.band_high)}
    found = {round(value(y), 1) for y in heights}
    assert all(any(abs(edge - each) < 0.2 for each in found) for edge in held), (held, found)
    assert all(any(abs(edge - each) < 0.2 for edge in held) for each in found), (held, found)


HISTORY = [
    sample(0, invocation="a", created=ago(days=5), release="0.10.1", value=88.0),
    sample(1, invocation="a", created=ago(days=5), release="0.10.1", value=92.0, verdict="better-than-reference"),
    sample(0, invocation="b", created=ago(days=4), release="0.10.1", value=89.0, band_low=80.0, band_high=95.0),
    sample(0, invocation="c", created=ago(days=3), release="0.10.2", value=math.nan, band_low=math.nan, band_high=math.nan,
           verdict="failed:died"),
    sample(0, invocation="d", created=ago(days=2), release="0.10.2", value=84.0, verdict="regressed"),
    sample(0, invocation="e", created=ago(days=1), release="0.10.2", value=85.0, verdict="regressed"),
]  # fmt: skip


def test_what_was_judged_is_a_point_with_the_shape_of_its_verdict():
    """A mean stands at its height, worse points down and better up; a run without a number is a cross at the foot."""
    picture = history_chart(looks_at(HISTORY), one_for_all)
    value, found = values_at(picture), points_of(picture)
    assert [name for name, _, _ in found] == ["reproduced", "reproduced", "regressed", "regressed", "failed"]
    heights = [round(value(y), 1) for name, y, _ in found if name != "failed"]
    assert heights == pytest.approx([90.0, 89.0, 84.0, 85.0], abs=0.15)
    assert "mean of 2 runs: 90.00" in found[0][2]
    assert "seed 0: 84.00; band 85.98 to 91.43, -4.71 from its middle" in found[2][2]
    seeds = [each for each in drawn(picture).iter("path") if each.get("class") == "p p-seed"]
    assert [each.get("d").count("M") for each in seeds] == [2]
    shapes = {name: re.sub(r"[\d.]+", "", each.get("d")) for each in drawn(picture).iter("path") for name in [each.get("class")]}
    assert len({shapes["p p-reproduced"], shapes["p-failed"], shapes["p-regressed"]}) == 3


def test_a_number_in_its_band_is_not_drawn_as_worse_for_a_step_that_is_wrong():
    """The step has a chart of its own; on this one a point is worse where its number is."""
    looks = looks_at([sample()], [verification("one/verify", invocation_id="one", verdict="regressed")])
    assert [name for name, _, _ in points_of(history_chart(looks, one_for_all))] == ["reproduced"]
    assert [name for name, _, _ in points_of(ratio_chart(looks))] == ["regressed short"]


def test_a_mean_is_drawn_in_the_band_for_a_mean():
    """Of four runs the band is half as wide, where a reference says so; where none does, it says that it is that for one."""
    rows = [sample(seed, value=90.0, reason="shared") for seed in range(4)]
    [look] = looks_at(rows)
    known, unknown = judged(look, lambda n: 1 / math.sqrt(n)), judged(look, one_for_all)
    assert (known.high - known.low) * 2 == pytest.approx(unknown.high - unknown.low) == pytest.approx(91.43 - 85.98)
    assert (known.is_one, unknown.is_one) == (False, True)
    assert "band for one run 85.98 to 91.43" in points_of(history_chart([look], one_for_all))[0][2]


def test_a_wrong_band_on_a_chart_is_caught():
    """The band drawn is the one that each run was held to; one that lacks a night's, or is shifted, fails."""
    looks = looks_at(HISTORY)
    assert_draws_the_bands(history_chart(looks, one_for_all), looks)
    with pytest.raises(AssertionError):
        assert_draws_the_bands(history_chart([look for look in looks if look.identity != "b"], one_for_all), looks)
    shifted = looks_at([row | {"band_low": row["band_low"] + 0.5} for row in HISTORY])
    with pytest.raises(AssertionError):
        assert_draws_the_bands(history_chart(shifted, one_for_all), looks)


def test_the_band_has_a_gap_where_there_was_none():
    """No band is drawn across the night that had no band, and one night alone still shows its band."""
    assert edges_of(history_chart(looks_at(HISTORY), one_for_all))[1] == 2
    assert edges_of(history_chart(looks_at(HISTORY[:1]), one_for_all))[1] == 1


def test_a_release_change_is_a_line_at_its_first_run():
    """One line for two releases, at the first look of the second; both are named."""
    picture = drawn(history_chart(looks_at(HISTORY), one_for_all))
    [line] = [each for each in picture.iter("path") if each.get("class") == "release"]
    [cross] = [each for each in picture.iter("path") if each.get("class") == "p-failed"]
    x = float(re.match(r"M([\d.]+)", line.get("d"))[1])
    assert line.get("d").count("M") == 1
    assert x == pytest.approx(float(re.match(r"M([\d.]+)", cross.get("d"))[1]) + 2.5, abs=0.11)
    assert [each.text for each in picture.iter("text") if each.get("class") == "release"] == ["0.10.1", "0.10.2"]


def test_worst_tensors_lie_on_a_logarithmic_axis_whatever_they_are():
    """Zero and infinity have a place, a crash without a number has none, and the title has the true number."""
    rows = [
        verification("a", created=ago(days=4), worst_ratio=4.0, worst_score=0.5),
        verification("b", created=ago(days=3), worst_ratio=0.0, worst_score=0.0),
        verification("c", created=ago(days=2), worst_ratio=math.inf, worst_score=math.inf),
        verification("d", created=ago(days=1), worst_ratio=math.nan, worst_score=math.nan, verdict="failed:died"),
    ]
    picture = ratio_chart(looks_at([], rows))
    half, none, infinite = points_of(picture)
    assert none[1] > half[1] > infinite[1]
    assert "infinite of what is accepted" in infinite[2]
    [limit] = [each for each in drawn(picture).iter("path") if each.get("class") == "limit"]
    assert none[1] > half[1] > float(limit.get("d").split(" ")[1].split("H")[0]) > infinite[1]


def test_short_verifications_are_told_from_whole_ones():
    """They see less, so their points are smaller."""
    rows = [verification("a", created=ago(days=2)), verification("b/verify", invocation_id="b", worst_ratio=1.0)]
    assert [name for name, _, _ in points_of(ratio_chart(looks_at([], rows)))] == ["reproduced", "reproduced short"]


def test_a_single_look_stands_in_the_middle():
    """Around one point there is a day, and the picture has no place that is not a number."""
    picture = history_chart(looks_at([sample()]), one_for_all)
    assert "nan" not in str(picture)
    assert re.search(r'p-reproduced" d="M277\.0 ', str(picture))


def test_old_points_are_drawn_and_silent():
    """Of many results each is a point; the newest ones say their numbers, for a report is to be light."""
    rows = [sample(invocation=str(n), created=ago(hours=3 * n)) for n in range(100)]
    picture = history_chart(looks_at(rows), one_for_all)
    points = [each for each in drawn(picture).iter("path") if each.get("class") == "p p-reproduced"]
    silent = [each for each in points if each.find("title") is None]
    assert [each.get("d").count("M") for each in silent] == [60]
    assert len(points_of(picture)) == 40


def test_a_sparkline_shows_the_night_at_which_it_began():
    """In small: the points, the band, and a line before the first bad night; two results at least."""
    looks = looks_at([row | {"night": str(place)} for place, row in enumerate(HISTORY)])
    picture = sparkline(looks, one_for_all, kind="reproduce", begin="4")
    [line] = [each for each in drawn(picture).iter("path") if each.get("class") == "since"]
    assert len(points_of(picture)) == 5
    assert float(line.get("d")[1:].split(" ")[0]) > 100
    assert sparkline(looks[:1], one_for_all, kind="reproduce", begin=None) is None


def test_what_was_never_measured_is_no_chart():
    """Without a reproduction, a verification or a curve there is no figure to draw."""
    assert history_chart(looks_at([], [verification()]), one_for_all) is None
    assert ratio_chart(looks_at([sample()])) is None
    assert loss_chart([], None) is None


def test_a_curve_is_the_mean_of_its_bins():
    """Every step is in one bin; a loss that is not a number is not hidden by its neighbours."""
    means, width = binned(list(range(1000)))
    assert width == 10
    assert means[0] == 4.5
    assert len(means) == 100
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
    picture = ElementTree.fromstring(str(loss_chart(drawn, around)))
    assert [each.get("class") for each in picture.iter("path")] == ["grid", "band", "loss l0"]


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

"""What drifts, on a terminal: the answer in one line, a block a finding, and what was looked at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from reports.tables import Block, print_blocks, print_notes
from vigil.drift.bits import NOT_WORSE, WORSE, BitChange
from vigil.drift.findings import Drift, DriftReport, Gap, something_drifts
from vigil.statistics.metric import unit_of_difference
from vigil.terminal import answer


class DriftRow(NamedTuple):
    """One finding in words, column by column; `told` says who else moved, what float64 says, or why there is no value."""

    cell: str
    what: str
    size: str
    in_sd: str
    since: str
    release: str
    p: str
    q: str
    told: str


def rows(report: DriftReport) -> list[DriftRow]:
    """Return one row a finding: what drifts, what is worse against float64, what gives no value, and what moved and is not worse.

    Cells of one framework that moved between the same releases with the same outcome are one row.
    """
    drifts = [drift_line(each, report.nights) for each in report.drifts]
    gaps = [gap_line(each, report.nights) for each in report.gaps]
    told = {NOT_WORSE: 1, WORSE: 0}
    moves = sorted(report.moves, key=lambda pair: (told.get(pair[1].what, 2), *_transition(pair)))
    moved = [moved_line(list(cells)) for _, cells in groupby(moves, key=_transition)]
    return [*drifts, *(row for row in moved if row.what == WORSE), *gaps, *(row for row in moved if row.what != WORSE)]


def notes(report: DriftReport, *, remarks: Sequence[str]) -> list[str]:
    """Return what was looked at, what could have been seen, and how often the table is wrong by chance."""
    seen, asked, rate = report.looked_at, report.looked_at["asked"], f"{report.looked_at['false_discovery_rate']:.0%}"
    nights = f"{seen['nights']} nights, {seen['first_night']} to {seen['last_night']}" if seen["nights"] else "no night"
    releases = "; ".join(f"{name} {_range(found)}" for name, found in seen["releases"].items())
    return [
        f"looked at: {seen['cells']} cells, {nights}, {releases}",
        f"{seen['independent_values']} independent values from {seen['values']} nights: the same bits again are no new value",
        f"tested: {seen['tested']} cells and {seen['pools']} pools; {asked['reference']} against the reference, "
        f"{asked['release']} newest release against earlier ones, {asked['step']} for a step anywhere; "
        f"{seen['too_short']} cells have too few values for any test",
        f"false discovery rate {rate}: of {len(report.drifts)} findings {seen['expected_false']:.2f} are expected to be false; "
        f"where nothing drifts, any finding at all is expected in {rate} of such tables",
        *_detectable(seen["detectable_sd"]),
        *_left_out(seen),
        *remarks,
    ]


def show(report: DriftReport, *, title: str, remarks: Sequence[str]) -> None:
    """Print the answer, a block a finding, and the notes."""
    answer(f"{title}: {summary(report)}")
    print_blocks(map(_block, rows(report)))
    print_notes(notes(report, remarks=remarks))


def summary(report: DriftReport) -> str:
    """Return the answer: how many findings there are of which sort, and the surest of them; or that there is none."""
    wrong = [each for _, each in report.moves if each.what == WORSE]
    words = {True: "drift for the worse", False: "drift for the better", None: "drift together"}
    told = [(sum(each.worse is worse for each in report.drifts), text) for worse, text in words.items()]
    told += [(len(wrong), WORSE), (len(report.gaps), "give no value any more")]
    counts = [f"{count} {text}" for count, text in told if count]
    if not something_drifts(report):
        counts.insert(0, "nothing drifts" if report.looked_at["tested"] else "nothing could be tested")
    if report.drifts:  # the first is the surest
        row = drift_line(report.drifts[0], report.nights)
        counts.append(f"the surest is {row.cell}, since {row.since}, {row.release}")
    return "; ".join(counts)


def _block(row: DriftRow) -> Block:
    """Return a finding as text; what it has no value for, as a gap has no size, is left out."""
    in_sd = "" if row.in_sd == "-" else f", {row.in_sd} sd"
    lines = (
        ("size", "" if row.size == "-" else row.size + in_sd),
        ("since", ", ".join(part for part in (row.since, row.release) if part != "-")),
        ("how sure", "" if row.q == "-" else f"q {row.q}, p {row.p}"),
        ("others", row.told),
    )
    return Block(f"{row.cell}: {row.what}", lines)


def drift_line(drift: Drift, nights: Sequence[str]) -> DriftRow:
    """Return what is said of a series that drifts."""
    words = [drift.siblings.summary] if drift.siblings is not None else []
    if drift.moved is not None:
        words += _float64(drift.moved)
    began = drift.since
    since, release = "all along", "away from the reference in every release"
    if began.night is not None and began.low is not None and began.high is not None:
        since, release = nights[began.night], _release(began.release, began.release_before)
        if began.low != began.high:
            since += f" (90 %: {nights[began.low]} to {nights[began.high]})"
    p_values = ", ".join(f"{name} {p:.1g}" for name, p in drift.p_values.items())
    return DriftRow(
        drift.label,
        drift.what + {True: ", worse", False: ", better", None: ""}[drift.worse],
        _size(drift),
        f"{drift.size_sd:+.1f}" if math.isfinite(drift.size_sd) else "-",
        since,
        release,
        f"{drift.p:.1g} ({p_values})",
        f"{drift.q:.1g}",
        "; ".join(words),
    )


def _float64(change: BitChange) -> list[str]:
    """Return how far from float64 both sides are; nothing where that was not decided."""
    if change.what not in (NOT_WORSE, WORSE) or change.old is None or change.new is None:
        return []
    said = "float64: within limits before and after" if change.what == NOT_WORSE else WORSE
    return [f"{said}, worst ratio {change.old.worst_ratio:.3g} -> {change.new.worst_ratio:.3g}"]


def _size(drift: Drift) -> str:
    unit = unit_of_difference(drift.cell["unit"])
    within = f"[{drift.low:+.3g}, {drift.high:+.3g}]" if math.isfinite(drift.low) else "[the values have no spread]"
    return f"{drift.size:+.3g} {unit} {within}"


def _release(release: str | None, before: str | None) -> str:
    if not release:
        return "of several frameworks"
    return f"{release}, no new release" if release == before else f"{before} -> {release}"


def gap_line(gap: Gap, nights: Sequence[str]) -> DriftRow:
    """Return what is said of a cell that gives no value any more."""
    tries = f"{gap.tries} night{'s' * (gap.tries != 1)} tried since; " if gap.tries else ""
    return DriftRow(gap.label, "no value since", "-", "-", nights[gap.last_night], "-", "-", "-", f"{tries}{gap.reason}")


def _transition(pair: tuple[dict, BitChange]) -> tuple[str, str, str, str]:
    cell, found = pair
    return cell["framework"], found.what, str(found.old_release), found.new_release


def moved_line(moves: Sequence[tuple[dict, BitChange]]) -> DriftRow:
    """Return what is said of cells of one framework that moved between the same releases with the same outcome."""
    cell, found = moves[0]
    label = f"{cell['framework']}, {len(moves)} cells"
    if len(moves) == 1:
        label = f"{cell['recipe']} {cell['profile']} {cell['context']}"
    reasons = list(dict.fromkeys(each.reason for _, each in moves))
    sides = [(each.old.worst_ratio, each.new.worst_ratio) for _, each in moves if each.old is not None and each.new is not None]
    if len(sides) == len(moves) > 1:
        old, new = (max(side) for side in zip(*sides, strict=True))
        reasons = [f"largest worst ratio {old:.3g} before, {new:.3g} after"]
    more = f", and {len(reasons) - 1} others" if len(reasons) > 1 else ""
    release = found.new_release if found.old_release is None else f"{found.old_release} -> {found.new_release}"
    return DriftRow(label, found.what, "-", "-", "-", release, "-", "-", f"{reasons[0]}{more}")


def _detectable(seen: dict[str, float | None]) -> Iterable[str]:
    if seen["alone"] is not None:
        yield (
            "could have been seen nine times in ten, median over cells, newest release against earlier ones: "
            f"{seen['alone']:.1f} sd in one cell alone, {seen['with all others']:.1f} sd where many cells move"
        )


def _left_out(seen: dict) -> Iterable[str]:
    words = {
        "ended_by_a_new_recipe": "series ended because their recipe changed",
        "without_any_value": "cells never gave a value",
        "runs_outside_nights": "runs belong to no night (--all-runs takes them by day)",
        "runs_with_fault": "runs have a planted fault (--include-faults takes them)",
    }
    told = [f"{seen[key]} {text}" for key, text in words.items() if seen[key]]
    if told:
        yield f"left out: {'; '.join(told)}"


def _range(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{len(releases)} releases, {releases[0]} to {releases[-1]}"

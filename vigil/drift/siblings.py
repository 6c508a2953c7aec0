"""Who else moved: cells of a framework pooled, and each kind of sibling at the night when a cell began to drift.

Cells of one night share seeds, machine and data, so that a hundred of them are not a hundred witnesses. The unit is the night:
the mean over cells of the values of that night, each in standard deviations of its own cell from its own cell's mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vigil.drift.questions import ExaminedSeries
from vigil.drift.series import Series
from vigil.drift.steps import Step, step_at

# How siblings may differ, in the order in which it is said.
KINDS = ("mode", "precision", "devices", "device", "recipe")
_MOVED = 0.01
_COVERAGE = 0.95
# A sibling that moved by less than this share of the cell's own change did not move with it.
_SHARE = 0.5


@dataclass(frozen=True)
class SiblingGroup:
    """Siblings of one kind at one night: `moved`, `not moved` or `cannot tell`; the step in standard deviations."""

    name: str
    cells: int
    state: str
    step: Step | None


@dataclass(frozen=True)
class Siblings:
    """What is said of a finding's siblings, and what it stands on."""

    summary: str
    groups: tuple[SiblingGroup, ...]


@dataclass(frozen=True)
class Points:
    """The values of every series night by night, in standard deviations from its own mean.

    z: [series, night], NaN where there is no new value; releases: [series, night]. framework, and by kind what else siblings may
    differ in: [series]. keys: [night], its seeds.
    """

    z: np.ndarray
    releases: np.ndarray
    framework: np.ndarray
    kinds: dict[str, np.ndarray]
    keys: np.ndarray

    @property
    def present(self) -> np.ndarray:
        """Whether a series has any value here: [series]."""
        return np.isfinite(self.z).any(axis=1)


def standardised(examined: Sequence[ExaminedSeries]) -> Points:
    """Return the points of the series that have a spread; several of one night are their mean."""
    nights = 1 + max((int(each.series.first[-1]) for each in examined), default=-1)
    z, releases = np.full((len(examined), nights), np.nan), np.full((len(examined), nights), "", dtype=object)
    seeds: list[set[int]] = [set() for _ in range(nights)]
    for row, each in enumerate(examined):
        series, spread = each.series, each.spread
        if spread and len(series.values) > 1:
            counts = np.bincount(series.first, minlength=nights)
            sums = np.bincount(series.first, weights=(series.values - series.values.mean()) / spread, minlength=nights)
            z[row, counts > 0] = sums[counts > 0] / counts[counts > 0]
            releases[row, series.first] = series.releases
            for night, seed in zip(series.first.tolist(), series.seeds.tolist(), strict=True):
                seeds[night].add(seed)
    return Points(
        z=z,
        releases=releases,
        framework=np.array([each.series.cell["framework"] for each in examined], dtype=object),
        kinds={kind: np.array([str(each.series.cell[kind]) for each in examined], dtype=object) for kind in KINDS},
        keys=np.array([" ".join(map(str, sorted(each))) for each in seeds], dtype=object),
    )


def pooled(points: Points, chosen: np.ndarray, *, name: str, one_timeline: bool) -> Series | None:
    """Return the nights' medians over chosen series [series] as one series, or None for fewer than two cells or nights.

    Its seed is the set of seeds of the night. `one_timeline`: the cells are of one framework, and each night has its release.
    """
    cells = int((chosen & points.present).sum())
    nights, medians = _medians(points, chosen)
    if cells < 2 or len(nights) < 2:
        return None
    releases = np.full(len(nights), "", dtype=object)
    if one_timeline:
        releases = np.array([max(points.releases[chosen, night]) for night in nights], dtype=object)
    return Series(
        cell={"framework": name, "unit": "standard deviations", "cells": cells},
        values=medians,
        seeds=points.keys[nights],
        first=nights,
        last=nights,
        releases=releases,
        boundaries=np.arange(1, len(nights)),
        visits=nights,
        visit_releases=releases,
        attempts=(),
    )


def _medians(points: Points, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nights on which chosen series have a value, and the median of each."""
    ordered = np.sort(points.z[chosen], axis=0)  # NaN is last
    counts = np.isfinite(ordered).sum(axis=0)
    nights = np.flatnonzero(counts)
    counts = counts[nights]
    return nights, 0.5 * (ordered[(counts - 1) // 2, nights] + ordered[counts // 2, nights])


def siblings_of(number: int, points: Points, *, night: int, size: float) -> Siblings:
    """Return who else moved at a night by what a series did, `size` in standard deviations."""
    if not points.present[number]:
        return Siblings("cannot tell", ())
    framework = points.framework[number]
    siblings = points.framework == framework
    siblings[number] = False

    def group(name: str, chosen: np.ndarray) -> SiblingGroup:
        return _group(name, points, chosen, night=night, size=size)

    groups = [group(f"other cells of {framework}", siblings)]
    kinds: dict[str, list[tuple[SiblingGroup, bool]]] = {}
    for kind in KINDS:
        here, levels = points.kinds[kind][number], points.kinds[kind]
        found = sorted(set(levels[siblings].tolist()))
        if len({*found, here}) > 1:
            kinds[kind] = [(group(_named(kind, level), siblings & (levels == level)), level == here) for level in found]
            groups += [each for each, _ in kinds[kind]]
    elsewhere = sorted(set(points.framework.tolist()) - {framework})
    frameworks = [group(name, points.framework == name) for name in elsewhere]
    own_names = {kind: _named(kind, points.kinds[kind][number]) for kind in kinds}
    return Siblings(_summary(framework, groups[0], kinds, frameworks, own_names=own_names), (*groups, *frameworks))


def _named(kind: str, level: str) -> str:
    if kind == "devices":
        return f"{level} device{'s' * (level != '1')}"
    return f"recipe {level}" if kind == "recipe" else level


def _group(name: str, points: Points, chosen: np.ndarray, *, night: int, size: float) -> SiblingGroup:
    """Return whether a group moved at a night by about `size`: seen at 1 % on the same side, or excluded at 95 %, or neither."""
    cells, step = int((chosen & points.present).sum()), None
    if cells:
        nights, medians = _medians(points, chosen)
        boundary = int(np.searchsorted(nights, night))
        if 0 < boundary < len(nights):
            step = step_at(medians, points.keys[nights], boundary)
    if step is None:
        return SiblingGroup(name, cells, "cannot tell", None)
    low, high = step.interval(_COVERAGE)
    if step.p_value < _MOVED and step.size * size > 0.0:
        state = "moved"
    elif (high if size > 0.0 else -low) < _SHARE * abs(size):
        state = "not moved"
    else:
        state = "cannot tell"
    return SiblingGroup(name, cells, state, step)


def _summary(
    framework: str,
    family: SiblingGroup,
    kinds: dict[str, list[tuple[SiblingGroup, bool]]],
    frameworks: Sequence[SiblingGroup],
    *,
    own_names: dict[str, str],
) -> str:
    told = [group for group in frameworks if group.state != "cannot tell"]
    if told and all(group.state == "moved" for group in told):
        return f"{framework} and {', '.join(group.name for group in told)}: look at the machine, the data, or Vigil"
    others = f"; not {', '.join(group.name for group in told if group.state == 'not moved')}" if told else ""
    only = []
    for kind, levels in kinds.items():
        away = [group for group, is_own in levels if not is_own]
        here = [group for group, is_own in levels if is_own]
        if away and all(group.state == "not moved" for group in away) and all(group.state == "moved" for group in here):
            only.append(own_names[kind])
    split = {
        kind: ([group.name for group, _ in levels if group.state == "moved"], _not_moved(levels))
        for kind, levels in kinds.items()
    }
    if only:
        return f"only {', '.join(only)}{others}"
    if family.cells == 0:
        return f"the only cell of {framework}{others}"
    if family.state == "moved" and not any(still for _, still in split.values()):
        return f"all of {framework}{others}"
    if family.state == "not moved" and not any(moved for moved, _ in split.values()):
        return f"only this cell of {family.cells + 1}{others}"
    # What tells them apart is of interest: kinds of which some moved and some did not.
    parts = [f"{_some(moved)} moved, not {_some(still)}" for moved, still in split.values() if moved and still]
    return f"{'; '.join(parts) or 'cannot tell'}{others}"


def _not_moved(levels: Sequence[tuple[SiblingGroup, bool]]) -> list[str]:
    return [group.name for group, _ in levels if group.state == "not moved"]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"

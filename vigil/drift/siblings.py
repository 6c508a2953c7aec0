"""Who else moved: cells of a framework pooled, and each kind of sibling at the night when a cell began to drift.

Cells of one night share seeds, machine and data, so that a hundred of them are not a hundred witnesses. The unit is the night:
the mean over cells of the values of that night, each in standard deviations of its own cell from its own cell's mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vigil.drift.examine import Examined
from vigil.drift.series import Series
from vigil.drift.steps import Step, step_at

# How siblings may differ, in the order in which it is said.
KINDS = ("mode", "precision", "devices", "device", "recipe")
_MOVED = 0.01
_COVERAGE = 0.95
# A sibling that moved by less than this share of the cell's own change did not move with it.
_SHARE = 0.5


@dataclass(frozen=True)
class Group:
    """Siblings of one kind at one night: `moved`, `not moved` or `cannot tell`; the step in standard deviations."""

    name: str
    cells: int
    state: str
    step: Step | None


@dataclass(frozen=True)
class Siblings:
    """What is said of a finding's siblings, and what it stands on."""

    summary: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Points:
    """The points of every series, in standard deviations.

    series, night, z, release: [point]. framework, and by kind what else siblings may differ in: [series]. keys: [night], its
    seeds. present: [series], whether it has any point.
    """

    series: np.ndarray
    night: np.ndarray
    z: np.ndarray
    release: np.ndarray
    framework: np.ndarray
    kinds: dict[str, np.ndarray]
    keys: np.ndarray
    present: np.ndarray


def standardised(examined: Sequence[Examined]) -> Points:
    """Return the points of the series that have a spread, each from its series' mean."""
    present = np.array([bool(each.spread) and len(each.series.values) > 1 for each in examined], dtype=bool)
    kept = [(number, each) for number, each in enumerate(examined) if present[number]]
    series = [each.series for _, each in kept]

    def joined(parts: Sequence[np.ndarray], kind: type) -> np.ndarray:
        return np.concatenate([np.array([], dtype=kind), *parts])

    night, seeds = joined([each.first for each in series], int), joined([each.seeds for each in series], int)
    of_night: dict[int, set[int]] = {}
    for one_night, seed in zip(night.tolist(), seeds.tolist(), strict=True):
        of_night.setdefault(one_night, set()).add(seed)
    return Points(
        series=joined([np.full(len(each.series.values), number) for number, each in kept], int),
        night=night,
        z=joined([(each.series.values - each.series.values.mean()) / each.spread for _, each in kept], float),
        release=joined([each.releases for each in series], object),
        framework=np.array([each.series.cell["framework"] for each in examined], dtype=object),
        kinds={kind: np.array([str(each.series.cell[kind]) for each in examined], dtype=object) for kind in KINDS},
        keys=np.array([_key(of_night.get(number, set())) for number in range(max(of_night, default=-1) + 1)], dtype=object),
        present=present,
    )


def _key(seeds: set[int]) -> str:
    return " ".join(map(str, sorted(seeds)))


def pooled(points: Points, chosen: np.ndarray, *, name: str, one_timeline: bool) -> Series | None:
    """Return the nights' means of chosen series [series] as one series, or None for fewer than two cells or nights.

    Its seed is the set of seeds of the night. `one_timeline`: the cells are of one framework, and each night has its release.
    """
    cells = int((chosen & points.present).sum())
    nights, means = _means(points, chosen)
    if cells < 2 or len(nights) < 2:
        return None
    releases = np.full(len(nights), "", dtype=object)
    if one_timeline:
        those = chosen[points.series]
        releases[np.searchsorted(nights, points.night[those])] = points.release[those]
    return Series(
        cell={"framework": name, "unit": "standard deviations", "cells": cells},
        values=means,
        seeds=points.keys[nights],
        first=nights,
        last=nights,
        releases=releases,
        boundaries=np.arange(1, len(nights)),
        visits=nights,
        visit_releases=releases,
        attempts=(),
    )


def _means(points: Points, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nights that points of chosen series lie on, and the mean of each."""
    those = chosen[points.series]
    counts = np.bincount(points.night[those], minlength=len(points.keys))
    sums = np.bincount(points.night[those], weights=points.z[those], minlength=len(points.keys))
    nights = np.flatnonzero(counts)
    return nights, sums[nights] / counts[nights]


def siblings_of(number: int, points: Points, *, night: int, size: float) -> Siblings:
    """Return who else moved at a night by what a series did, `size` in standard deviations."""
    if not points.present[number]:
        return Siblings("cannot tell", ())
    framework = points.framework[number]
    siblings = points.framework == framework
    siblings[number] = False

    def group(name: str, chosen: np.ndarray) -> Group:
        return _group(name, points, chosen, night=night, size=size)

    groups = [group(f"other cells of {framework}", siblings)]
    kinds: dict[str, list[tuple[Group, bool]]] = {}
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


def _group(name: str, points: Points, chosen: np.ndarray, *, night: int, size: float) -> Group:
    """Return whether a group moved at a night by about `size`: seen at 1 % on the same side, or excluded at 95 %, or neither."""
    cells, step = int((chosen & points.present).sum()), None
    if cells:
        nights, means = _means(points, chosen)
        boundary = int(np.searchsorted(nights, night))
        if 0 < boundary < len(nights):
            step = step_at(means, points.keys[nights], boundary)
    if step is None:
        return Group(name, cells, "cannot tell", None)
    low, high = step.interval(_COVERAGE)
    if step.p_value < _MOVED and step.size * size > 0.0:
        state = "moved"
    elif (high if size > 0.0 else -low) < _SHARE * abs(size):
        state = "not moved"
    else:
        state = "cannot tell"
    return Group(name, cells, state, step)


def _summary(
    framework: str,
    family: Group,
    kinds: dict[str, list[tuple[Group, bool]]],
    frameworks: Sequence[Group],
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


def _not_moved(levels: Sequence[tuple[Group, bool]]) -> list[str]:
    return [group.name for group, _ in levels if group.state == "not moved"]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"

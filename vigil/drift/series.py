"""From the runs of a history to one series of independent values for each cell.

A deterministic cell that runs one seed again on unchanged numerics gives the same bits again. That is no new sample, however
many nights repeat it: such runs are one point, with the first and the last night on which it was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

CELL = ("recipe", "profile", "context")
# In the place of a release that nobody recorded. It sorts before every number, so that it names no pool's night that has one.
NO_RELEASE = "(unknown)"
CARRIED = (
    *("recipe", "recipe_version", "recipe_hash", "profile", "context", "framework", "mode", "precision", "device", "devices"),
    *("determinism", "randomness", "metric", "unit", "direction"),
)


@dataclass(frozen=True)
class Nights:
    """The nights of a history, the earliest first. `number` is from 0."""

    names: tuple[str, ...]
    created: tuple[pd.Timestamp, ...]


@dataclass(frozen=True)
class Series:
    """The values of one cell under one recipe hash, in the order in which they first appeared.

    values, seeds, first, last, releases: [point]; first and last are the nights on which a point was seen.
    boundaries: [boundary], the place of the first point after; no point was seen on both sides of one.
    visits: the nights with a value; visit_releases the release of each.
    attempts: nights after the last value on which the cell was tried and gave none, and why.
    """

    cell: dict[str, Any]
    values: np.ndarray
    seeds: np.ndarray
    first: np.ndarray
    last: np.ndarray
    releases: np.ndarray
    boundaries: np.ndarray
    visits: np.ndarray
    visit_releases: np.ndarray
    attempts: tuple[tuple[int, str], ...]

    @property
    def label(self) -> str:
        """The cell as it stands in tables."""
        return f"{self.cell['recipe']} {self.cell['profile']} {self.cell['context']}"

    def release_of(self, night: int) -> str:
        """Return the release that ran on a night of this series."""
        return str(self.visit_releases[np.searchsorted(self.visits, night)])

    def visit_before(self, night: int) -> int | None:
        """Return the last night before `night` that has a value."""
        earlier = self.visits[self.visits < night]
        return int(earlier[-1]) if len(earlier) else None


@dataclass(frozen=True)
class CollectedSeries:
    """Every series of a history that still goes on, and what is not among them."""

    series: tuple[Series, ...]
    runs: pd.DataFrame  # what they were made from
    nights: Nights
    ended: int  # series of an earlier recipe hash
    never: int  # cells without any value
    outside_nights: int  # runs of no night, left out
    with_fault: int  # runs with a planted fault, left out


def collect(samples: pd.DataFrame, *, include_faults: bool = False, all_runs: bool = False) -> CollectedSeries:
    """Return the series of the newest recipe hash of each cell.

    A run of no night is left out, or, with `all_runs`, belongs to the night of its day. A run with a planted fault is left out
    unless they are included. A value that is not finite is a gap, never a value. A release that is missing is NO_RELEASE.
    """
    faulty = samples["fault"].fillna("none") != "none"
    frame = samples if include_faults else samples[~faulty]
    frame = frame.assign(release=frame["release"].astype(object).where(frame["release"].notna(), NO_RELEASE))
    no_night = frame["night"].isna()
    frame = (
        frame.assign(night=frame["night"].where(~no_night, frame["created"].dt.strftime("%Y-%m-%d")))
        if all_runs
        else frame[~no_night]
    )
    starts = frame.groupby("night")["created"].min().sort_values(kind="stable")
    nights = Nights(tuple(map(str, starts.index)), tuple(starts))
    number = {name: place for place, name in enumerate(starts.index)}
    frame = frame.assign(number=frame["night"].map(number).astype(int)).sort_values(["number", "created"], kind="stable")
    groups = frame.groupby(list(CELL), sort=True)
    frame = frame.assign(cell=groups.ngroup(), newest=groups["recipe_hash"].transform("last"))
    ended = len(frame.loc[frame["recipe_hash"] != frame["newest"], ["cell", "recipe_hash"]].drop_duplicates())
    frame = frame[frame["recipe_hash"] == frame["newest"]].sort_values(["cell", "number", "created"], kind="stable")
    runs = _Runs.of(frame)
    carried = frame.drop_duplicates("cell", keep="last")[list(CARRIED)].to_dict("records")
    edges = np.flatnonzero(np.diff(frame["cell"].to_numpy(), prepend=-1, append=-1))
    made = [_series(runs.part(low, high), cell) for low, high, cell in zip(edges[:-1], edges[1:], carried, strict=True)]
    found = tuple(series for series in made if series is not None)
    left_out = 0 if include_faults else int(faulty.sum())
    return CollectedSeries(found, frame, nights, ended, len(made) - len(found), 0 if all_runs else int(no_night.sum()), left_out)


@dataclass(frozen=True)
class _Runs:
    """Runs in the order of time, column by column; a number stands for each state of a cell, -1 for one that is not known."""

    night: np.ndarray
    value: np.ndarray
    seed: np.ndarray
    release: np.ndarray
    state: np.ndarray
    verdict: np.ndarray
    reason: np.ndarray

    @staticmethod
    def of(frame: pd.DataFrame) -> _Runs:
        return _Runs(
            night=frame["number"].to_numpy(dtype=int),
            value=frame["value"].to_numpy(dtype=float),
            seed=frame["seed"].to_numpy(dtype=int),
            release=frame["release"].astype(object).to_numpy(),
            state=pd.factorize(frame["state_sha256"])[0],
            verdict=frame["verdict"].astype(object).to_numpy(),
            reason=frame["reason"].astype(object).to_numpy(),
        )

    def part(self, low: int, high: int) -> _Runs:
        return self.chosen(slice(low, high))

    def chosen(self, which: Any) -> _Runs:
        return _Runs(*(getattr(self, name)[which] for name in self.__dataclass_fields__))


def _series(runs: _Runs, cell: dict[str, Any]) -> Series | None:
    """Return the series of one cell from its runs, or None if none has a value."""
    has_value = np.isfinite(runs.value)
    if not has_value.any():
        return None
    valued = runs.chosen(has_value)
    failed = runs.chosen(~has_value & (runs.night > valued.night[-1]))
    attempts = {
        night: f"{verdict}: {reason}"
        for night, verdict, reason in zip(failed.night.tolist(), failed.verdict, failed.reason, strict=True)
    }
    points, last = _points(valued)
    visits, index = np.unique(valued.night[::-1], return_index=True)
    return Series(
        cell=cell,
        values=points.value,
        seeds=points.seed,
        first=points.night,
        last=last,
        releases=points.release,
        boundaries=_boundaries(points.night, last),
        visits=visits,
        visit_releases=valued.release[::-1][index],
        attempts=tuple(attempts.items()),
    )


def _points(valued: _Runs) -> tuple[_Runs, np.ndarray]:
    """Return the first of each row of equal results of a seed, and the last night of each.

    Equal are the same bits, or, where no bits are known, the same value under the same release: under another release it may be
    another result that happens to agree. Such results are one sample, but no proof that nothing changed between.
    """
    order = np.lexsort((valued.night, valued.seed))
    ordered = valued.chosen(order)
    same_bits = (ordered.state[1:] == ordered.state[:-1]) & (
        (ordered.state[1:] >= 0) | (ordered.release[1:] == ordered.release[:-1])
    )
    same = (ordered.seed[1:] == ordered.seed[:-1]) & (ordered.value[1:] == ordered.value[:-1]) & same_bits
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    ends = np.append(starts[1:], len(order)) - 1
    points = ordered.chosen(starts)
    last = np.where(points.state >= 0, ordered.night[ends], points.night)
    in_time = np.lexsort((points.seed, points.night))
    return points.chosen(in_time), last[in_time]


def _boundaries(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return the places of points that begin a night across which no point reaches: before it every bit was another one."""
    starts = np.flatnonzero(np.diff(first, prepend=first[0]) > 0)
    latest = np.maximum.accumulate(last)
    return starts[latest[starts - 1] < first[starts]]

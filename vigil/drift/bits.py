"""Numbers that moved: the same seed of the same cell gives other bits under another release, and which side is nearer to float64.

Other bits are no fault: a release may sum in another order. Whether they are worse is not decided by looking at the metric
harder, but by the verification of both releases, one step at a time against float64. Other bits under the same release are
something else: the cell is not deterministic (or ran on another machine), and then nothing follows from bits that differ
between releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from vigil.documents.verification import SHORT
from vigil.drift.series import CARRIED, CELL, NO_RELEASE, CollectedSeries, Series

NOT_WORSE, WORSE, UNDECIDED, NOT_DETERMINISTIC = (
    "moved, not worse",
    "worse against float64",
    "moved, cannot tell",
    "not deterministic",
)

CellKey = tuple[str, ...]
"""Recipe, profile, context and recipe hash."""


@dataclass(frozen=True)
class VerifiedRelease:
    """The last verification of a cell under one release; its worst tensor in noise floors (ratio) and of its limit (score)."""

    release: str
    night: str | None
    verdict: str
    worst_ratio: float
    worst_score: float

    @property
    def within(self) -> bool:
        """Whether every tensor was within its limit."""
        return self.verdict == "reproduced" and self.worst_score <= 1.0

    @property
    def outside(self) -> bool:
        """Whether a tensor was out and no known finding excuses it. What failed or is not known is neither."""
        return self.verdict == "regressed" or (self.verdict == "reproduced" and self.worst_score > 1.0)

    @property
    def is_unanswered(self) -> bool:
        """Whether it ended without an answer."""
        return _is_unanswered(self.verdict)


@dataclass(frozen=True)
class BitChange:
    """What the bits of a cell's two newest releases say. `seeds` are those that were compared and differ."""

    what: str
    old_release: str | None
    new_release: str
    seeds: tuple[int, ...]
    old: VerifiedRelease | None
    new: VerifiedRelease | None
    reason: str


@dataclass(frozen=True)
class Moves:
    """What moved. of_series: by the place of the series. others: the cell and what moved, where no series goes on."""

    of_series: Mapping[int, BitChange]
    others: Sequence[tuple[dict[str, Any], BitChange]]


def moved(collected: CollectedSeries, verifications: pd.DataFrame, *, all_runs: bool = False) -> Moves:
    """Return what moved; cells whose bits are the same or not known are not in it.

    Bits are those of the runs that the series were made from: a planted fault has other bits, and so may a run by hand.
    A cell that was verified alone can be worse against float64 too, and a release before it was trained.
    """
    clean = verifications[verifications["fault"].fillna("none") == "none"]
    of_nights = clean if all_runs else clean[clean["night"].notna()]
    bits, sides = _bits(collected.runs), _sides(clean)
    worse = _worse(_looks(collected.runs, of_nights), sides)
    found = {}
    for number, each in enumerate(collected.series):
        result = _one(each, bits, sides, worse.pop(_key(each), None))
        if result is not None:
            found[number] = result
    last = clean.sort_values("created", kind="stable").drop_duplicates([*CELL, "recipe_hash"], keep="last")
    cells = {tuple(row[name] for name in (*CELL, "recipe_hash")): row for row in last.to_dict("records")} if worse else {}
    others = [
        ({name: cells[key][name] for name in CARRIED if name in cells[key]}, _worse_than(before, after, ()))
        for key, (before, after) in sorted(worse.items())
    ]
    return Moves(found, others)


def _key(series: Series) -> CellKey:
    return (*(series.cell[name] for name in CELL), series.cell["recipe_hash"])


def _looks(samples: pd.DataFrame, verifications: pd.DataFrame) -> dict[CellKey, list[str]]:
    """Return by cell and newest hash the releases that gave an answer, trained or verified, the last one looked at first."""
    columns = [*CELL, "recipe_hash", "release", "created"]
    answered = [samples[samples["value"].notna()], verifications[~verifications["verdict"].map(_is_unanswered).astype(bool)]]
    looks = pd.concat([frame[columns] for frame in answered if len(frame)] or [samples[columns]])
    looks = looks[looks["release"].notna() & (looks["release"] != NO_RELEASE)].sort_values("created", kind="stable")
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for *cell, digest, release, _ in looks.iloc[::-1].itertuples(index=False, name=None):
        found.setdefault(tuple(cell), {}).setdefault(digest, []).append(release)
    newest = {cell: next(iter(by_hash.items())) for cell, by_hash in found.items()}
    return {(*cell, digest): list(dict.fromkeys(releases)) for cell, (digest, releases) in newest.items()}


def _worse(
    looks: Mapping[CellKey, Sequence[str]], sides: Mapping[tuple[str, ...], VerifiedRelease]
) -> dict[CellKey, tuple[VerifiedRelease, VerifiedRelease]]:
    """Return the cells whose newest verified release is out, with the last one before it that was within its limits.

    A release between that is out as well excuses nothing, nor does a newest one that nobody has verified yet.
    """
    found = {}
    for key, releases in looks.items():
        verified = [each for release in releases if (each := sides.get((*key, release))) and not each.is_unanswered]
        right = next((each for each in verified[1:] if each.within), None)
        if verified and verified[0].outside and right is not None:
            found[key] = (right, verified[0])
    return found


def _worse_than(before: VerifiedRelease, after: VerifiedRelease, seeds: tuple[int, ...]) -> BitChange:
    return BitChange(WORSE, before.release, after.release, seeds, before, after, _distances(before, after))


def _is_unanswered(verdict: Any) -> bool:
    return not isinstance(verdict, str) or verdict == "unknown" or verdict.startswith("failed")


def _bits(samples: pd.DataFrame) -> dict[CellKey, dict[tuple[str, int], frozenset[str]]]:
    """Return by cell and hash, then by release and seed, the states that came out; those of no release tell nothing."""
    known = samples[samples["state_sha256"].notna() & (samples["release"] != NO_RELEASE)]
    known = known.drop_duplicates([*CELL, "recipe_hash", "release", "seed", "state_sha256"])
    found: dict[CellKey, dict[tuple[str, int], set[str]]] = {}
    columns = [*CELL, "recipe_hash", "release", "seed", "state_sha256"]
    for *cell, release, seed, state in known[columns].itertuples(index=False, name=None):
        found.setdefault(tuple(cell), {}).setdefault((release, seed), set()).add(state)
    return {cell: {key: frozenset(states) for key, states in by_seed.items()} for cell, by_seed in found.items()}


def _sides(clean: pd.DataFrame) -> dict[tuple[str, ...], VerifiedRelease]:
    """Return by cell, hash and release the last verification; one that failed, or saw less and found nothing, takes none back."""
    is_short = clean["form"] == SHORT if "form" in clean else False
    saw_less = (is_short & (clean["verdict"] == "reproduced")).astype(int)
    answered = 2 * (~clean["verdict"].map(_is_unanswered).astype(bool)).astype(int)
    clean = clean.assign(weight=answered - saw_less).sort_values(["weight", "created"], kind="stable")
    columns = [*CELL, "recipe_hash", "release", "night", "verdict", "worst_ratio", "worst_score"]
    return {
        tuple(row[:5]): VerifiedRelease(row[4], row[5] if isinstance(row[5], str) else None, row[6], float(row[7]), float(row[8]))
        for row in clean[columns].itertuples(index=False, name=None)
    }


def _one(
    series: Series,
    bits: dict[CellKey, dict[tuple[str, int], frozenset[str]]],
    sides: dict[tuple[str, ...], VerifiedRelease],
    worse: tuple[VerifiedRelease, VerifiedRelease] | None,
) -> BitChange | None:
    key, newest, by_seed = _key(series), str(series.visit_releases[-1]), bits.get(_key(series), {})
    earlier = list(dict.fromkeys(str(release) for release in series.visit_releases[::-1] if release != newest))
    seeds = {release: {seed for under, seed in by_seed if under == release} for release in (newest, *earlier)}
    # Seeds come in turn: the release before may have run none of those that the newest has run.
    old = next((release for release in earlier if seeds[release] & seeds[newest]), None)
    differ: tuple[int, ...] = ()
    if old is not None:
        differ = tuple(seed for seed in sorted(seeds[newest] & seeds[old]) if by_seed[newest, seed] != by_seed[old, seed])
    # Training need not repeat itself for this: verification asks single steps.
    if worse is not None:
        return _worse_than(*worse, differ if worse[1].release == newest else ())
    unsteady = tuple(
        dict.fromkeys(sorted(seed for (release, seed), states in by_seed.items() if release in (old, newest) and len(states) > 1))
    )
    if unsteady:
        reason = f"seed {unsteady[0]} gave different bits under one release: not deterministic, or not the same machine"
        return BitChange(NOT_DETERMINISTIC, old, newest, unsteady, None, None, reason)
    if old is None or not differ:
        return None
    before, after = sides.get((*key, old)), sides.get((*key, newest))
    if before is None or after is None:
        missing = [release for release, side in ((old, before), (newest, after)) if side is None]
        return BitChange(UNDECIDED, old, newest, differ, before, after, f"no verification of {' and '.join(missing)}")
    what = NOT_WORSE if before.within and after.within else UNDECIDED
    return BitChange(what, old, newest, differ, before, after, _distances(before, after))


def _distances(before: VerifiedRelease, after: VerifiedRelease) -> str:
    told = [
        f"{side.release}: worst ratio {side.worst_ratio:.3g}, {side.worst_score:.2g} of its limit, {side.verdict}"
        for side in (before, after)
    ]
    return "; ".join(told)

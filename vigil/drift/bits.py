"""Numbers that moved: the same seed of the same cell gives other bits under another release, and which side is nearer to float64.

Other bits are no fault: a release may sum in another order. Whether they are worse is not decided by looking at the metric
harder, but by the verification of both releases, one step at a time against float64. Other bits under the same release are
something else: the cell is not deterministic (or ran on another machine), and then nothing follows from bits that differ
between releases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from vigil.drift.series import CELL, NO_RELEASE, Series

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


def moved(series: Sequence[Series], samples: pd.DataFrame, verifications: pd.DataFrame) -> dict[int, BitChange]:
    """Return, by the place of the series, what moved; series whose bits are the same or not known are not in it.

    Args:
        samples: the runs that the series were made from: a planted fault has other bits, and so may a run by hand.
    """
    bits, sides = _bits(samples), _sides(verifications)
    found = {}
    for number, each in enumerate(series):
        result = _one(each, bits, sides)
        if result is not None:
            found[number] = result
    return found


def _key(series: Series) -> CellKey:
    return (*(series.cell[name] for name in CELL), series.cell["recipe_hash"])


def _bits(samples: pd.DataFrame) -> dict[CellKey, dict[tuple[str, int], frozenset[str]]]:
    """Return by cell and hash, then by release and seed, the states that came out; those of no release tell nothing."""
    known = samples[samples["state_sha256"].notna() & (samples["release"] != NO_RELEASE)]
    known = known.drop_duplicates([*CELL, "recipe_hash", "release", "seed", "state_sha256"])
    found: dict[CellKey, dict[tuple[str, int], set[str]]] = {}
    columns = [*CELL, "recipe_hash", "release", "seed", "state_sha256"]
    for *cell, release, seed, state in known[columns].itertuples(index=False, name=None):
        found.setdefault(tuple(cell), {}).setdefault((release, seed), set()).add(state)
    return {cell: {key: frozenset(states) for key, states in by_seed.items()} for cell, by_seed in found.items()}


def _sides(verifications: pd.DataFrame) -> dict[tuple[str, ...], VerifiedRelease]:
    """Return by cell, hash and release the last verification."""
    clean = verifications[verifications["fault"].fillna("none") == "none"].sort_values("created", kind="stable")
    columns = [*CELL, "recipe_hash", "release", "night", "verdict", "worst_ratio", "worst_score"]
    return {
        tuple(row[:5]): VerifiedRelease(row[4], row[5] if isinstance(row[5], str) else None, row[6], float(row[7]), float(row[8]))
        for row in clean[columns].itertuples(index=False, name=None)
    }


def _one(
    series: Series, bits: dict[CellKey, dict[tuple[str, int], frozenset[str]]], sides: dict[tuple[str, ...], VerifiedRelease]
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
    after = sides.get((*key, newest))
    verified = next((sides[key_of] for release in earlier if (key_of := (*key, release)) in sides), None)
    if after is not None and after.outside and verified is not None and verified.within:
        return BitChange(WORSE, verified.release, newest, differ, verified, after, _distances(verified, after))
    unsteady = tuple(
        dict.fromkeys(sorted(seed for (release, seed), states in by_seed.items() if release in (old, newest) and len(states) > 1))
    )
    if unsteady:
        reason = f"seed {unsteady[0]} gave different bits under one release: not deterministic, or not the same machine"
        return BitChange(NOT_DETERMINISTIC, old, newest, unsteady, None, None, reason)
    if old is None or not differ:
        return None
    before = sides.get((*key, old))
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

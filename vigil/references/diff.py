"""What a change does to the references: rows and entries of a revision beside those of the working tree, and the bands of both.

Appending is all that may happen to a row. One that was edited or removed is a problem, and so is a sample that stands twice;
everything else is shown, for a reviewer to judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vigil.digests import read_listed
from vigil.documents.identity import Identity
from vigil.documents.judgement import Metric, RunBand
from vigil.documents.reference_row import ReferenceError_, ReferenceRow, Sample
from vigil.documents.superseding import FILE_NAME, SupersedingEntry
from vigil.documents.verdict import Verdict
from vigil.errors import DataError
from vigil.paths import project_root
from vigil.recipes.loading import Recipe, identity_of
from vigil.references.judge import judge
from vigil.references.overview import (
    Bands,
    SampleLot,
    bands_of,
    by_context,
    group_of,
    have_band,
    mean_of,
    no_bands,
    spread_of,
    why_not_used,
)
from vigil.references.revision import (
    Kept,
    Revision,
    Texts,
    other_changes,
    recipe_at,
    recipe_now,
    texts_at,
    texts_now,
    unknown_commits,
)
from vigil.references.samples import PlacedEntry, newest_checksum, parse_entries, parse_rows, superseded_by

# What stands in a message for a key that one side does not have.
_ABSENT = "(no such key)"

Interval = tuple[float, float]


@dataclass(frozen=True)
class ReferenceSide:
    """One recipe's references on one side: rows by run, entries with their places, and the recipe as that side has it."""

    rows: Mapping[str, ReferenceRow]
    entries: Sequence[PlacedEntry]
    recipe: Recipe | None

    @property
    def standing(self) -> dict[str, ReferenceRow]:
        """Rows by run that no entry supersedes."""
        superseded = {run_id for _, entry in self.entries for run_id in entry.run_ids}
        return {run_id: row for run_id, row in self.rows.items() if run_id not in superseded}


@dataclass(frozen=True)
class SideSummary:
    """What judges a profile on one side. identity: None where that side has no such recipe or profile. checksum: of the data."""

    identity: Identity | None
    unit: str | None
    rows: int
    seeds: int
    mean: float | None
    spread: float | None
    checksum: str | None
    bands: Bands


@dataclass(frozen=True)
class BandMove:
    """Which values were inside the old band and are outside the new one, and the other way round."""

    now_outside: tuple[Interval, ...] = ()
    now_inside: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class AddedLot:
    """Added rows of one context and release; by_the_old_band: their verdict, None where that band is of something else."""

    lot: SampleLot
    recipe: Identity
    by_the_old_band: str | None


@dataclass(frozen=True)
class AddedEntry:
    """An entry that was added, and the rows that it supersedes by context."""

    entry: SupersedingEntry
    contexts: Sequence[SampleLot]


@dataclass(frozen=True)
class ProfileDiff:
    """What changed in one profile of a recipe. dirty, unknown_commits, unverified: added runs that a reviewer should ask of."""

    recipe: str
    profile: str
    old: SideSummary
    new: SideSummary
    moves: Mapping[str, BandMove]
    added: Sequence[AddedLot]
    superseded: Sequence[AddedEntry]
    dirty: Sequence[str]
    unknown_commits: Sequence[str]
    unverified: Sequence[str]


@dataclass(frozen=True)
class ReferenceDiff:
    """All that a working tree does to references. problems: what is no appending. others: what else changed beside samples."""

    base: Revision
    problems: Sequence[str]
    profiles: Sequence[ProfileDiff]
    others: Sequence[str]


def diff_references(kept: Kept, base: Revision) -> ReferenceDiff:
    """Return what the working tree does to the references of a revision.

    Raises:
        ReferenceError_: A file of either side cannot be read, with file and line.
    """
    before, now = texts_at(kept, base.commit), texts_now(kept)
    problems: list[str] = []
    profiles: list[ProfileDiff] = []
    for name in sorted({*before, *now} if kept.recipe is None else {*before, *now} & {kept.recipe}):
        old = _side(name, before, recipe_at(kept, base.commit, name), place=f"{base.commit[:12]}:{kept.folder}/{name}")
        new = _side(name, now, recipe_now(kept, name), place=f"{kept.folder}/{name}")
        problems += _problems(old, new) or _not_listed(kept.directory / name)
        # Samples are made by Vigil's code, wherever they are kept.
        strangers = unknown_commits(project_root() if kept.own else kept.root, (row.commit for row in _added(old, new)))
        for profile in sorted({row.recipe.profile for side in (old, new) for row in side.rows.values()}):
            change = _profile_diff(name, profile, old, new, strangers=strangers)
            if change is not None:
                profiles.append(change)
    return ReferenceDiff(base, problems, profiles, other_changes(kept, base.commit))


def band_move(old: RunBand | None, new: RunBand | None) -> BandMove:
    """Return which values changed sides between two bands; none where either is missing."""
    if old is None or new is None:
        return BandMove()
    a, b = (old.low, old.high), (new.low, new.high)
    return BandMove(now_outside=_without(a, b), now_inside=_without(b, a))


def _without(left: Interval, right: Interval) -> tuple[Interval, ...]:
    """Return the parts of one interval that another does not hold."""
    if right[1] < left[0] or right[0] > left[1]:
        return (left,)
    parts = ((left[0], min(left[1], right[0])), (max(left[0], right[1]), left[1]))
    return tuple((low, high) for low, high in parts if low < high)


def _side(name: str, texts: Texts, recipe: Recipe | None, *, place: str) -> ReferenceSide:
    files = dict(texts.get(name, {}))
    entries = parse_entries(files.pop(FILE_NAME, ""), where=f"{place}/{FILE_NAME}")
    return ReferenceSide({row.run_id: row for row in parse_rows(files, recipe_name=name, place=place)}, entries, recipe)


def _added(old: ReferenceSide, new: ReferenceSide) -> list[ReferenceRow]:
    return [row for run_id, row in new.rows.items() if run_id not in old.rows]


def _not_listed(folder: Path) -> list[str]:
    """Return that a recipe's files are not as they are listed, with the first: after a merge, none of them could be read."""
    try:
        read_listed(folder, "*.jsonl")
    except DataError as error:
        return [f"NOT AS LISTED: {error}"]
    return []


def _problems(old: ReferenceSide, new: ReferenceSide) -> list[str]:
    """Return everything that is no appending."""
    problems = []
    for run_id, row in old.rows.items():
        if run_id not in new.rows:
            problems.append(f"REMOVED: {_name(row)}, value {row.value}. Restore it; to take it out of the bands: supersede it")
        elif _canonical(new.rows[run_id].as_json()) != _canonical(row.as_json()):
            edits = _changes(row.as_json(), new.rows[run_id].as_json())
            problems.append(f"EDITED: {_name(row)}: {', '.join(edits)}. Restore it")
    kept = Counter(_canonical(entry.as_json()) for _, entry in new.entries)
    for where, entry in old.entries:
        content = _canonical(entry.as_json())
        kept[content] -= 1
        if kept[content] < 0:
            problems.append(f"ENTRY EDITED OR REMOVED: {where}, {len(entry.run_ids)} rows superseded: {entry.reason}. Restore it")
    try:
        superseded_by(new.entries, list(new.rows.values()))
    except ReferenceError_ as error:
        problems.append(f"ENTRY THAT CANNOT BE: {error}")
    added = {row.run_id for row in _added(old, new)}
    first: dict[Sample, ReferenceRow] = {}
    for row in sorted(new.standing.values(), key=lambda row: row.run_id in added):
        same = first.setdefault(row.sample, row)
        if same is not row and row.run_id in added:
            problems.append(f"REPEATED: {_name(row)} is the same sample as run {same.run_id}. A repeat is no new sample")
    return problems


def _name(row: ReferenceRow) -> str:
    return f"{row.recipe.name} {row.recipe.profile}, {row.context} seed {row.seed} (run {row.run_id})"


def _changes(old: Any, new: Any, *, at: str = "") -> list[str]:
    """Return each key whose value differs, with both."""
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = {key: (old.get(key, _ABSENT), new.get(key, _ABSENT)) for key in {**old, **new}}
        return [
            text
            for key, (before, now) in pairs.items()
            if _canonical(before) != _canonical(now)
            for text in _changes(before, now, at=f"{at}.{key}" if at else key)
        ]
    return [f"{at} {_canonical(old)} is now {_canonical(new)}"]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _profile_diff(
    name: str, profile: str, old: ReferenceSide, new: ReferenceSide, *, strangers: set[str | None]
) -> ProfileDiff | None:
    """Return what changed in one profile of a recipe; None where nothing did."""
    before, now = _summary(old, profile), _summary(new, profile)
    added = [row for row in _added(old, new) if row.recipe.profile == profile]
    known = {_canonical(entry.as_json()) for _, entry in old.entries}
    entries = [entry for _, entry in new.entries if _canonical(entry.as_json()) not in known and entry.recipe.profile == profile]
    if not added and not entries and before == now:
        return None
    return ProfileDiff(
        recipe=name,
        profile=profile,
        old=before,
        new=now,
        moves={framework: band_move(before.bands[framework].band, now.bands[framework].band) for framework in before.bands},
        added=_added_lots(added, old, before, profile),
        superseded=[
            AddedEntry(entry, by_context([new.rows[run_id] for run_id in entry.run_ids if run_id in new.rows]))
            for entry in entries
        ],
        dirty=[row.run_id for row in added if row.dirty is not False],
        unknown_commits=[row.run_id for row in added if row.commit in strangers],
        unverified=[row.run_id for row in added if not row.is_verified],
    )


def _summary(side: ReferenceSide, profile: str) -> SideSummary:
    """Return what judges a profile on one side: the rows of the recipe as that side has it, of the data of the newest of them."""
    standing = [row for row in side.standing.values() if row.recipe.profile == profile]
    if side.recipe is None or profile not in side.recipe.profiles:
        why = "there is no such recipe" if side.recipe is None else f"the recipe has no profile {profile}"
        reason = f"{why}: no band" if standing else "no samples"
        return SideSummary(None, None, len(standing), 0, None, None, None, no_bands(reason))
    current = [row for row in standing if why_not_used(row, side.recipe) is None]
    checksum = newest_checksum(current)
    used = [row for row in current if row.data.checksum == checksum]
    return SideSummary(
        identity=identity_of(side.recipe, profile),
        unit=side.recipe.resolve(profile)["metric"]["unit"],
        rows=len(used),
        seeds=len({row.seed for row in used}),
        mean=mean_of(used),
        spread=spread_of(used),
        checksum=checksum or None,
        bands=bands_of(standing, recipe=side.recipe, profile=profile, checksum=checksum),
    )


def _added_lots(added: Sequence[ReferenceRow], old: ReferenceSide, summary: SideSummary, profile: str) -> list[AddedLot]:
    """Return the added rows by what they are samples of, context and release, each lot judged as runs by the old band."""
    groups: dict[tuple[object, ...], list[ReferenceRow]] = {}
    for row in added:
        groups.setdefault((*group_of(row), row.context.text, row.framework_version), []).append(row)
    return [
        AddedLot(lot, rows[0].recipe, _verdict_of(rows, old, summary, profile))
        for _, rows in sorted(groups.items(), key=lambda item: str(item[0]))
        for lot in by_context(rows)
    ]


def _verdict_of(rows: Sequence[ReferenceRow], old: ReferenceSide, summary: SideSummary, profile: str) -> str | None:
    """Return the verdict that these runs get from the old band; None where it is of another recipe, metric or data."""
    first = rows[0]
    is_other = why_not_used(first, old.recipe) or first.data.checksum != summary.checksum
    if old.recipe is None or is_other or not have_band(summary.bands):
        return None
    training = old.recipe.resolve(profile)
    verdict = judge(
        list({row.seed: row.value for row in rows}.items()),
        rows=list(old.standing.values()),
        recipe=identity_of(old.recipe, profile),
        metric=Metric.of(training),
        checksum=summary.checksum,
        n_test=training["data"]["n_test"],
        context=first.context,
    )
    return verdict.name if verdict.name is Verdict.REPRODUCED else f"{verdict.name}: {verdict.reason}"

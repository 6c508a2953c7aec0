"""What each cell is now: the newest result of each kind, unless it is too old to say anything of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reports.site.appearance import APPEARANCES, LEFT, NEVER, STALE, Appearance, appearance_of, word_of
from reports.site.cell_results import KINDS, WRONG_STEP, CellResult, Key
from reports.site.sources import Sources
from reports.site.words import shortened
from vigil.documents.night import DONE, VERIFY, CellKind, CellRow, Night, NightRelease
from vigil.documents.verdict import Verdict

FRESH = timedelta(days=7)
_FINDS_NOTHING = (Verdict.REPRODUCED, Verdict.RAN, Verdict.UNKNOWN, Verdict.UNSUPPORTED)


@dataclass(frozen=True)
class Standing:
    """What is known of one kind of result of a cell.

    stale: why the result says nothing of today, or None. remark: what else a reader must know.
    """

    verdict: str
    reason: str
    when: datetime | None = None
    release: str | None = None
    night: str | None = None
    seconds: float | None = None
    stale: str | None = None
    remark: str | None = None

    @property
    def appearance(self) -> Appearance:
        """How it looks: what is stale looks stale, whatever its verdict was."""
        return APPEARANCES[STALE] if self.stale else appearance_of(self.verdict)

    def word(self, kind: CellKind) -> str:
        """Return the word that stands in its field."""
        is_step = kind == VERIFY or self.reason.startswith(WRONG_STEP)
        word = shortened(word_of(self.verdict, is_step=is_step), 60)
        return f"{APPEARANCES[STALE].word}: {word}" if self.stale else word


@dataclass(frozen=True)
class ReportedCell:
    """A recipe's profile in one context: all its results, oldest first, and how it stands."""

    key: Key
    framework: str
    results: tuple[CellResult, ...]
    standings: Mapping[CellKind, Standing]
    planted: int

    @property
    def title(self) -> str:
        return " ".join(self.key)

    def clean(self, kind: CellKind) -> list[CellResult]:
        """Return its results of a kind without a planted fault, oldest first."""
        return [each for each in self.results if each.kind == kind and each.is_clean]

    def newest(self, kind: CellKind) -> CellResult | None:
        """Return the last of them."""
        return next((each for each in reversed(self.results) if each.kind == kind and each.is_clean), None)


def cells_of(sources: Sources, results: Mapping[Key, Sequence[CellResult]]) -> dict[Key, ReportedCell]:
    """Return every cell that history or the night's document knows, in order."""
    planned: dict[Key, dict[CellKind, CellRow]] = {}
    for row in sources.night.cells if sources.night else ():
        planned.setdefault(key_of(row), {})[row.kind] = row
    newest, tested = _newest_hashes(results), _tested(sources, results)
    cells = {}
    for key in sorted({*results, *planned}):
        of_key = results.get(key, ())
        clean = [result for result in of_key if result.is_clean]
        framework = framework_of(key)
        standings: dict[CellKind, Standing] = {}
        for kind in KINDS:
            last, remark = _chosen([result for result in clean if result.kind == kind], tested.get(framework))
            known = replace(_of_result(last), remark=remark) if last else None
            standing, is_last = _with_night(known, planned.get(key, {}).get(kind), sources.night)
            of_hash = last.recipe_hash if last and is_last else _hash_of(sources.night, key[0])
            stale = _stale(standing, of_hash, key, sources=sources, newest=newest, tested=tested.get(framework))
            standings[kind] = replace(standing, stale=stale)
        if problem := problem_of(sources.night.releases.get(framework) if sources.night else None):
            untested = f"the release that night {sources.night_id} asked for could not be tested: {problem}"
            standings = {kind: replace(standing, remark=standing.remark or untested) for kind, standing in standings.items()}
        cells[key] = ReportedCell(key, framework, tuple(of_key), standings, planted=len(of_key) - len(clean))
    return cells


def key_of(row: CellRow) -> Key:
    """Return the cell of a row of a night's document."""
    return row.recipe, row.profile, row.context.text


def framework_of(key: Key) -> str:
    """Return the framework of a cell, with which the text of every context begins."""
    return key[2].split("-")[0]


def last_of(results: Sequence[CellResult]) -> CellResult | None:
    """Return the result that tells how a cell stands: the newest, but a short verification takes back no whole one.

    The short one sees less. Where it finds nothing, a whole one of the same release and hash says more, though it is older.
    """
    newest = next(reversed(results), None)
    whole = next((result for result in reversed(results) if not result.is_short), None)
    if newest is None or whole is None or not newest.is_short or newest.verdict not in _FINDS_NOTHING:
        return newest
    is_same = (whole.release, whole.recipe_hash) == (newest.release, newest.recipe_hash)
    return whole if is_same else newest


def _chosen(results: Sequence[CellResult], tested: str | None) -> tuple[CellResult | None, str | None]:
    """Return the result that tells how a cell stands, and what must be said of that choice.

    One of the release that the night tested comes first: somebody may have compared it with an older one since.
    """
    of_tested = [result for result in results if public(result.release) == tested] if tested else []
    last, newest = last_of(of_tested or results), last_of(results)
    if last is None or newest is None:
        return None, None
    remarks = []
    if last.is_short:
        remarks.append("a verification in the short form, which sees less than a whole one")
    if tested and not of_tested:
        remarks.append(f"the night tested release {tested}, of which there is no look")
    if newest is not last:
        remarks.append(f"looked at later under release {newest.release}: {newest.verdict}")
    return last, "; ".join(remarks) or None


def _tested(sources: Sources, results: Mapping[Key, Sequence[CellResult]]) -> dict[str, str | None]:
    """Return the release that the night tested of each framework: as its document says, else as its results do."""
    tested: dict[str, str | None] = {}
    for key, of_key in results.items():
        for result in of_key:
            if result.is_clean and result.night is not None and result.night == sources.night_id and result.release:
                tested[framework_of(key)] = public(result.release)
    for name, release in sources.night.releases.items() if sources.night else ():
        if release.version:
            tested[name] = public(release.version)
    return tested


def public(release: str | None) -> str | None:
    """Return a release without its local part: `2.13.0+cpu` is a build of 2.13.0."""
    return release.split("+")[0] if release else None


def _of_result(result: CellResult) -> Standing:
    return Standing(
        verdict=result.verdict,
        reason=result.reason or "",
        when=result.created,
        release=result.release,
        night=result.night,
        seconds=result.seconds,
    )


def _with_night(known: Standing | None, row: CellRow | None, night: Night | None) -> tuple[Standing, bool]:
    """Return how a cell stands with what the night's document says of it, and whether that is what history's last result says.

    The document holds the verdict on all runs together. A result after the night is later than it, and stays.
    """
    if row is None or night is None:
        return known or Standing(NEVER, "never run, as far as the history goes"), known is not None
    if row.status != DONE or row.verdict is None:
        text = f"night {night.id}: {row.status} ({row.reason or row.chosen or 'no reason recorded'})"
        if known is None:
            return Standing(LEFT, text), False
        return replace(known, remark="; ".join(filter(None, (text, known.remark)))), True
    of_night = known if known is not None and known.night == night.id else None
    if known and of_night is None and known.when is not None and known.when > night.when:
        return known, True
    told = Standing(
        verdict=row.verdict,
        reason=row.reason or (of_night.reason if of_night else ""),
        when=of_night.when if of_night else night.when,
        release=of_night.release if of_night else night.release_of(row).version,
        night=night.id,
        seconds=row.seconds,
        remark="among so many cells, chance may explain it: the night does not count it" if row.stands is False else None,
    )
    return told, of_night is not None


def problem_of(release: NightRelease | None) -> str | None:
    """Return why a release could not be tested, or None."""
    return release.error.reason if release and release.error else None


def _stale(
    standing: Standing,
    of_hash: str | None,
    key: Key,
    *,
    sources: Sources,
    newest: Mapping[tuple[str, str], str],
    tested: str | None,
) -> str | None:
    """Return why a result says nothing of today, or None. tested: the release that the night tests."""
    if standing.when is None:
        return None
    days = (sources.now - standing.when) / timedelta(days=1)
    if days > FRESH.days:
        return f"{days:.0f} days old"
    recipe = sources.recipes.get(key[0])
    profile = recipe.profiles.get(key[1]) if recipe else None
    # A recipe from elsewhere is not in the checkout: the newest of its hashes is then the best that is known.
    current = profile.hash if profile else newest.get(key[:2])
    if None not in (current, of_hash) and of_hash != current:
        return f"of recipe hash {of_hash}; it is {current} now"
    release = public(standing.release)
    # What a new release has not been asked yet, the one before has not answered for it.
    if None not in (release, tested) and release != tested:
        return f"of release {release}; the night tests {tested}"
    return None


def _hash_of(night: Night | None, recipe: str) -> str | None:
    """Return the hash of a recipe that a night trained, where its document says."""
    return night.recipes[recipe].hash if night and recipe in night.recipes else None


def _newest_hashes(results: Mapping[Key, Sequence[CellResult]]) -> dict[tuple[str, str], str]:
    last: dict[tuple[str, str], CellResult] = {}
    for key, of_key in results.items():
        place = key[:2]
        if place not in last or of_key[-1].created > last[place].created:
            last[place] = of_key[-1]
    return {place: result.recipe_hash for place, result in last.items()}

"""What each cell is now: the newest look of each kind, unless it is too old to say anything of today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from reports.site.looks import KINDS, Key, Look
from reports.site.sources import Sources, begun, context_text
from reports.site.verdicts import APPEARANCES, LEFT, NEVER, STALE, Appearance, appearance_of
from reports.site.words import plain, shortened

FRESH = timedelta(days=7)
DONE = "done"
_FINDS_NOTHING = ("reproduced", "unknown", "unsupported")


@dataclass(frozen=True)
class Standing:
    """What is known of one kind of look at a cell.

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

    @property
    def word(self) -> str:
        """The word that stands in its field."""
        known = appearance_of(self.verdict)
        word = known.word
        if known is APPEARANCES["other"]:
            word = f"{word}: {shortened(plain(self.verdict), 16)}"
        return f"{APPEARANCES[STALE].word}: {word}" if self.stale else word


@dataclass(frozen=True)
class Cell:
    """A recipe's profile in one context: every look at it, oldest first, and how it stands."""

    key: Key
    framework: str
    looks: tuple[Look, ...]
    standings: Mapping[str, Standing]
    planted: int

    @property
    def title(self) -> str:
        return " ".join(self.key)


def cells_of(sources: Sources, looks: Mapping[Key, Sequence[Look]]) -> dict[Key, Cell]:
    """Return every cell that history or the night's document knows, in order."""
    planned: dict[Key, dict[str, Mapping[str, Any]]] = {}
    for row in sources.night["cells"] if sources.night else ():
        planned.setdefault((row["recipe"], row["profile"], context_text(row)), {})[row["kind"]] = row
    newest, tested = _newest_hashes(looks), _tested(sources, looks)
    cells = {}
    for key in sorted({*looks, *planned}):
        clean = [look for look in looks.get(key, ()) if look.is_clean]
        standings = {}
        for kind in KINDS:
            last, remark = _chosen([look for look in clean if look.kind == kind], tested.get(key[2].split("-")[0]))
            known = replace(_of_look(last), remark=remark) if last else None
            standing, is_last = _with_night(known, planned.get(key, {}).get(kind), sources.night)
            of_hash = last.recipe_hash if last and is_last else _hash_of(sources.night, key[0])
            stale = _stale(standing, of_hash, key, sources=sources, newest=newest)
            standings[kind] = replace(standing, stale=stale)
        of_key = looks.get(key, ())
        framework = key[2].split("-")[0]
        if problem := problem_of(release_of(sources.night, framework)):
            untested = f"the release that night {sources.night_id} asked for could not be tested: {problem}"
            standings = {kind: replace(each, remark=each.remark or untested) for kind, each in standings.items()}
        cells[key] = Cell(key, framework, tuple(of_key), standings, planted=len(of_key) - len(clean))
    return cells


def last_of(looks: Sequence[Look]) -> Look | None:
    """Return the look that tells how a cell stands: the newest, but a short verification takes back no whole one.

    The short one sees less. Where it finds nothing, a whole one of the same release and hash says more, though it is older.
    """
    newest = next(reversed(looks), None)
    whole = next((look for look in reversed(looks) if not look.is_short), None)
    if newest is None or whole is None or not newest.is_short or newest.verdict not in _FINDS_NOTHING:
        return newest
    is_same = (whole.release, whole.recipe_hash) == (newest.release, newest.recipe_hash)
    return whole if is_same else newest


def _chosen(looks: Sequence[Look], tested: str | None) -> tuple[Look | None, str | None]:
    """Return the look that tells how a cell stands, and what must be said of that choice.

    A look at the release that the night tested comes first: somebody may have compared it with an older one since.
    """
    of_tested = [look for look in looks if _public(look.release) == tested] if tested else []
    last, newest = last_of(of_tested or looks), last_of(looks)
    if last is None:
        return None, None
    remarks = []
    if last.is_short:
        remarks.append("the short verification before a reproduction, which sees less than a whole one")
    if tested and not of_tested:
        remarks.append(f"the night tested release {tested}, of which there is no look")
    if newest is not last:
        remarks.append(f"looked at later under release {newest.release}: {newest.verdict}")
    return last, "; ".join(remarks) or None


def _tested(sources: Sources, looks: Mapping[Key, Sequence[Look]]) -> dict[str, str]:
    """Return the release that the night tested of each framework: as its document says, else as its looks do."""
    found: dict[str, str] = {}
    for key, of_key in looks.items():
        for look in of_key:
            if look.is_clean and look.night is not None and look.night == sources.night_id and look.release:
                found[key[2].split("-")[0]] = _public(look.release)
    for name in (sources.night or {}).get("releases") or {}:
        if version := release_of(sources.night, name).get("version"):
            found[name] = _public(version)
    return found


def _public(release: str | None) -> str | None:
    """Return a release without its local part: `2.13.0+cpu` is a build of 2.13.0."""
    return release.split("+")[0] if release else None


def _of_look(look: Look) -> Standing:
    return Standing(
        verdict=look.verdict,
        reason=look.reason or "",
        when=look.created,
        release=look.release,
        night=look.night,
        seconds=look.seconds,
    )


def _with_night(known: Standing | None, row: Mapping[str, Any] | None, night: Mapping[str, Any] | None) -> tuple[Standing, bool]:
    """Return how a cell stands with what the night's document says of it, and whether that is what history's last look says.

    The document holds the verdict on all runs together. A look after the night is later than it, and stays.
    """
    if row is None:
        return known or Standing(NEVER, "never run, as far as the history goes"), known is not None
    if row["status"] != DONE or not row.get("verdict"):
        why = row.get("reason") or row.get("chosen") or "no reason recorded"
        text = f"night {night['id']}: {row['status']} ({why})"
        if known is None:
            return Standing(LEFT, text), False
        return replace(known, remark="; ".join(filter(None, (text, known.remark)))), True
    began = begun(night)
    if known and known.night != night["id"] and known.when > began:
        return known, True
    is_same = known is not None and known.night == night["id"]
    chance = row.get("stands") is False
    told = Standing(
        verdict=row["verdict"],
        reason=row.get("reason") or (known.reason if is_same else ""),
        when=known.when if is_same else began,
        release=known.release if is_same else release_of(night, context_text(row).split("-")[0]).get("version"),
        night=night["id"],
        seconds=row.get("seconds"),
        remark="among so many cells, chance may explain it: the night does not count it" if chance else None,
    )
    return told, is_same


def release_of(night: Mapping[str, Any] | None, framework: str) -> Mapping[str, Any]:
    """Return what a night's document says of the release of a framework; nothing where it says nothing."""
    return ((night or {}).get("releases") or {}).get(framework) or {}


def problem_of(release: Mapping[str, Any]) -> str | None:
    """Return why a release could not be tested, or None."""
    error = release.get("error")
    return error.get("reason", "no reason recorded") if isinstance(error, Mapping) else error


def _stale(
    standing: Standing, of_hash: str | None, key: Key, *, sources: Sources, newest: Mapping[tuple[str, str], str]
) -> str | None:
    """Return why a result says nothing of today, or None."""
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
    return None


def _hash_of(night: Mapping[str, Any] | None, recipe: str) -> str | None:
    """Return the hash of a recipe that a night trained, where its document says."""
    return (((night or {}).get("recipes") or {}).get(recipe) or {}).get("hash")


def _newest_hashes(looks: Mapping[Key, Sequence[Look]]) -> dict[tuple[str, str], str]:
    last: dict[tuple[str, str], Look] = {}
    for key, of_key in looks.items():
        place = key[:2]
        if place not in last or of_key[-1].created > last[place].created:
            last[place] = of_key[-1]
    return {place: look.recipe_hash for place, look in last.items()}

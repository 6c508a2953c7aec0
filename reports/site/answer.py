"""The first screen in words: is anything wrong, what, since when, how sure, and what to do now.

`Fine` is said only where every look has an answer of today. Whatever is stale, left, unknown or was never run takes it back.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import scipy
from markupsafe import Markup

from reports.site.appearance import APPEARANCES, FAILED, LEFT, NEUTRAL, OTHER, Appearance, appearance_of, word_of
from reports.site.causes import BETTER, STEP, WORSE, Cause, Found, Nights, Trouble, families, is_looked_at, where_of
from reports.site.cell_results import CellResult, Key
from reports.site.charts import MeanBands, judged, sparkline, strip
from reports.site.commands import compare_command, reproduce_command, verify_command
from reports.site.glance import TestedRelease
from reports.site.known import Known, known_of
from reports.site.power_table import RUNS, ProfilePower
from reports.site.sources import Sources
from reports.site.standing import ReportedCell, public
from reports.site.words import count, number, plain, points, shortened
from vigil.documents.night import REPRODUCE, VERIFY, CellKind, StepRow
from vigil.documents.verdict import Verdict
from vigil.recipes.loading import DEFAULT_PROFILE
from vigil.statistics.discoveries import FALSE_ALARMS, expected_alarms
from vigil.statistics.metric import unit_of_difference

_STRIP = 30
_MOST_TOLD = 6
# A night with so unlikely many numbers outside their bands is told as one that is wrong. Measured with 36 cells
# (`python -m benchmarks.cause_settings`, 2026-11-24): none of 288 clean nights is, at 0.01 two are; of those with 8 cells 3 sd
# lower 74 % are, and at 1e-4 57 %.
_ODD = 1e-3
_ANSWERED = (Verdict.REPRODUCED.value, Verdict.KNOWN_FINDING.value, Verdict.UNSUPPORTED.value)
_LONGEST = 200


@dataclass(frozen=True)
class Answer:
    """Is anything wrong? name: whose colour it has. title: the sentence, also of the page."""

    name: str
    mark: str
    title: str
    details: Sequence[str]


@dataclass(frozen=True)
class CauseRow:
    """One cause as it is told. state: new, ongoing, stale, or nothing. key: the cell that shows it most, None for none.

    what: a name in bold, and what is said of it. more: its other cells. kind: of the look that shows it.
    known: where somebody may know it.
    """

    appearance: Appearance
    word: str
    state: str
    key: Key | None
    where: str
    bold: str
    what: str
    told: str
    since: str
    change: str
    advice: str
    sure: str
    spark: Markup | None
    command: str | None
    kind: CellKind
    known: Known
    more: Sequence[Key]
    anchor: str


@dataclass(frozen=True)
class Tile:
    """A framework: what was tested, since when, how it stands, and its last nights."""

    framework: str
    release: str
    since: str
    counts: Sequence[tuple[Appearance, str]]
    nights: Markup


class Teller:
    """Tells causes as rows. bands: how wide the band for a mean is (`power_table.mean_bands`)."""

    def __init__(
        self, sources: Sources, cells: Mapping[Key, ReportedCell], found: Found, bands: Callable[[str, str, str], MeanBands]
    ) -> None:
        self.sources, self.cells, self.found, self.bands = sources, cells, found, bands

    def row(self, cause: Cause, index: int) -> CauseRow:
        """Return a cause as it is told."""
        lead = cause.troubles[0] if cause.troubles else None
        key = lead.key if lead is not None else None
        bold, what = self._what(cause, lead)
        since, change, advice = self._since(cause)
        kind: CellKind = VERIFY if cause.sort == STEP or (lead is not None and list(lead.kinds) == [VERIFY]) else REPRODUCE
        return CauseRow(
            appearance=cause.appearance,
            word=cause.word if lead is None or cause.sort != FAILED else _failed_word(lead),
            state=self._state(cause),
            key=key,
            where=plain(where_of(cause)),
            bold=bold,
            what=what,
            told=self._siblings(cause),
            since=since,
            change=change,
            advice=advice,
            sure=self._sure(cause, lead),
            spark=self._spark(cause, key, kind),
            command=self._command(cause, lead, kind),
            kind=kind,
            known=known_of(cause, self.sources.known),
            more=cause.keys[1:],
            anchor=f"cause{index}",
        )

    def when(self, night: int | None) -> str:
        """Return a night by its name and day."""
        if night is None:
            return ""
        name = self.found.nights.names[night]
        day = self.found.nights.day(name)
        return plain(name) if not day or _day_of(name) else f"{plain(name)}, {day}"

    def _what(self, cause: Cause, lead: Trouble | None) -> tuple[str, str]:
        if lead is None:
            return "", f"{plain(cause.problem)}. Its cells stand as an earlier release left them."
        if cause.sort == STEP:
            return self._wrong_step(lead)
        if cause.sort in (FAILED, OTHER):
            reasons = [each.reason for each in lead.kinds.values()] or [lead.found.line.told if lead.found else ""]
            return "", shortened(plain(reasons[0]) or "no reason recorded", _LONGEST)
        return self._number(cause, lead)

    def _wrong_step(self, lead: Trouble) -> tuple[str, str]:
        row = lead.measured
        if row is None:
            reasons = [each.reason for each in lead.kinds.values()] or [lead.found.line.told if lead.found else ""]
            return "", shortened(plain(reasons[0]), _LONGEST)
        origin = ", ".join(plain(each) for each in (row.origin_phase, row.origin_quantity) if each)
        told = f"{number(row.worst_ratio, digits=3)}x its rounding noise, {number(row.worst_score, digits=3)}x what is accepted"
        out = f"; {row.tensors_out:.0f} of {row.tensors:.0f} tensors out" if row.tensors_out and row.tensors else ""
        begins = f", {origin}: the worst tensor has " if row.origin_layer else "the worst tensor has "
        newest = self._newest(lead.key)
        is_in_band = newest is not None and all(run.verdict == Verdict.REPRODUCED for run in newest.runs)
        return plain(row.origin_layer), f"{begins}{told}{out}.{' Its metric is still in its band.' if is_in_band else ''}"

    def _number(self, cause: Cause, lead: Trouble) -> tuple[str, str]:
        drift = lead.found.drift if lead.found is not None else None
        newest = self._newest(lead.key)
        tonight = ""
        metric = next((run.metric for run in newest.runs if run.metric), None) if newest else None
        if newest is not None:
            unit = next((run.unit for run in newest.runs if run.unit), None)
            values = [points(run.value, unit) for run in newest.runs if run.value is not None and math.isfinite(run.value)]
            banded = next((run for run in newest.runs if run.band_low is not None and run.band_high is not None), None)
            band = f", band for one run {points(banded.band_low, unit)} to {points(banded.band_high, unit)}" if banded else ""
            tonight = f"; last {' and '.join(values)}{band}" if values else ""
        if drift is None:
            standing = lead.kinds.get(REPRODUCE)
            reason = shortened(plain(standing.reason), _LONGEST).rstrip(".") if standing else ""
            told = f" {self._from_middle(lead.key, newest)}{reason or 'outside its band'}{tonight}."
            return plain(metric), told
        among = " in the worst of them" if len(cause.keys) > 1 else ""
        unit_of_size = plain(unit_of_difference(drift.cell["unit"]))
        within = f" [{_signed(drift.low)}, {_signed(drift.high)}]" if math.isfinite(drift.low) else ""
        sd = f", {abs(drift.size_sd):.1f} sd" if math.isfinite(drift.size_sd) and lead.key is not None else ""
        return plain(metric) or "the median", f" {_signed(drift.size)} {unit_of_size}{within}{sd}{among}{tonight}."

    def _from_middle(self, key: Key | None, newest: CellResult | None) -> str:
        """Return how far the newest result lies from the middle of its band, with half the band's width."""
        if key is None or newest is None:
            return ""
        row = judged(newest, self.bands(key[0], key[1], newest.framework))
        if row.difference is None or row.low is None or row.high is None:
            return ""
        return f"{_signed(row.difference)} from the middle of its band, allowed is {(row.high - row.low) / 2:.2f} either way: "

    def _siblings(self, cause: Cause) -> str:
        """Return who else is wrong and who is not."""
        if not cause.keys:
            return ""
        lead = cause.lead
        summary = lead.found.drift.siblings.summary if lead.found and lead.found.drift and lead.found.drift.siblings else ""
        clean, alike = families(cause, self.cells, self.found.causes)
        told = []
        if len(cause.keys) > 1 or not summary:
            family = sum(is_looked_at(cell) for cell in self.cells.values() if cell.framework == cause.framework)
            others = family - len(cause.keys)
            if len(cause.keys) == 1:
                told.append(f"only this cell of {family} in {plain(cause.framework)}")
            elif others > 0:
                told.append(f"not the other {others} cells of {plain(cause.framework)}")
            told += [f"not {', '.join(map(plain, clean))}"] if clean else []
            told += [f"{', '.join(map(plain, alike))} too: look at the machine, the data, or Vigil"] if alike else []
        else:
            told.append(plain(summary))
        if cause.sort in (WORSE, BETTER) and self._steps_are_clean(cause):
            told.append("its steps verify clean: look at data, schedule, evaluation")
        return shortened("; ".join(told), _LONGEST)

    def _steps_are_clean(self, cause: Cause) -> bool:
        """Did a whole verification of every cell find nothing since?"""
        standings = [self.cells[key].standings[VERIFY] for key in cause.keys]
        return all(each.verdict == Verdict.REPRODUCED and not each.stale and each.when is not None for each in standings)

    def _since(self, cause: Cause) -> tuple[str, str, str]:
        begin, lead = cause.begin, cause.troubles[0] if cause.troubles else None
        if cause.is_stale:
            standing = next(iter(lead.kinds.values())) if lead and lead.kinds else None
            return f"not looked at since: {standing.stale}" if standing and standing.stale else "stale", "", ""
        if begin.night is None:
            release = f"every look so far, {public(begin.release)}" if begin.release else "in every release so far"
            return "all along", plain(release), ""
        last = len(self.found.nights.names) - 1
        many = last - begin.night + 1
        since = "tonight, first time" if self._is_new(cause) else f"{self.when(begin.night)} · {count(many, 'night')}"
        if begin.low is not None and begin.high is not None and begin.low < begin.high and not begin.is_of_release:
            since += f" (90 %: {self.when(begin.low)} to {self.when(begin.high)})"
        name = plain(cause.framework)
        if begin.is_of_release:
            return since, f"with {name} {plain(public(begin.before))} → {plain(public(begin.release))}", ""
        release = f"{name} {plain(public(begin.release))}" if begin.release else ""
        advice = "no new release: look at this machine, the data, the runner" if begin.release and cause.sort != FAILED else ""
        return since, release, advice

    def _is_new(self, cause: Cause) -> bool:
        night = self.sources.night_id
        return night is not None and cause.begin.night == self.found.nights.number.get(night) and not cause.is_stale

    def _state(self, cause: Cause) -> str:
        if cause.is_stale:
            return "stale"
        if self.sources.night_id is None:
            return ""
        return "new" if self._is_new(cause) else "ongoing"

    def _sure(self, cause: Cause, lead: Trouble | None) -> str:
        if lead is None:
            return "certain: nothing of it ran"
        if cause.sort == STEP:
            return "certain: a limit of rounding, no chance in it"
        if cause.sort in (FAILED, OTHER):
            return f"{lead.nights_wrong} of {count(lead.nights, 'look')}"
        drifts = [each.found.drift for each in (*cause.troubles, *cause.pools) if each.found and each.found.drift]
        if drifts:
            surest = min(drifts, key=lambda drift: drift.p)
            q = max((drift.q for drift in drifts if "recipe" in drift.cell), default=surest.q)
            if len(cause.keys) == 1 or not cause.keys:
                return f"q {q:.0e}"
            return f"{len(cause.keys)} of {cause.of} cells moved together, each with q {q:.0e} or less"
        if lead.p is not None:
            return f"p {lead.p:.0e} among {self.found.judged} judged"
        return "outside its band"

    def _spark(self, cause: Cause, key: Key | None, kind: CellKind) -> Markup | None:
        if key is None:
            return None
        cell = self.cells[key]
        begin = self.found.nights.names[cause.begin.night] if cause.begin.night is not None else None
        return sparkline(cell.results, self.bands(key[0], key[1], cell.framework), kind=kind, begin=begin)

    def _command(self, cause: Cause, lead: Trouble | None, kind: CellKind) -> str | None:
        if lead is None or lead.key is None:
            return None
        source = source_of(self.sources, lead.key)
        newest = self.cells[lead.key].newest(kind)
        release = newest.release if newest is not None else cause.begin.release
        if cause.sort == STEP or kind == VERIFY:
            return verify_command(lead.key, release, source=source)
        compared = (
            compare_command(lead.key, cause.begin.before, cause.begin.release, source=source)
            if cause.sort in (WORSE, BETTER)
            else None
        )
        return compared or reproduce_command(lead.key, release, source=source)

    def _newest(self, key: Key | None) -> CellResult | None:
        return self.cells[key].newest(REPRODUCE) if key is not None else None


def source_of(sources: Sources, key: Key) -> str | None:
    """Return where the night found a recipe; a run by hand has its name alone."""
    recipe = sources.night.recipes.get(key[0]) if sources.night else None
    return recipe.source if recipe is not None else None


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "\u2212")


def _day_of(name: str) -> bool:
    return len(name) >= 10 and name[:4].isdigit() and name[4] == "-"


def _failed_word(lead: Trouble) -> str:
    """Return that it failed, and how: died, hang, crash."""
    verdicts = {each.verdict.partition(":")[2] for each in lead.kinds.values()} - {""}
    return shortened(word_of(f"{FAILED}:{sorted(verdicts)[0]}"), 30) if len(verdicts) == 1 else FAILED


def answer_of(
    sources: Sources,
    cells: Mapping[Key, ReportedCell],
    found: Found,
    powers: Sequence[ProfilePower],
    *,
    tested: int,
) -> Answer:
    """Return whether anything is wrong. tested: how many cells drift could test."""
    standings = [standing for cell in cells.values() for standing in cell.standings.values()]
    counts = Counter(each.appearance.name for each in standings)
    answered, total = sum(counts[name] for name in _ANSWERED), len(standings)
    today = [each for each in found.causes if not each.is_stale]
    open_words = [
        f"{counts[name]} {APPEARANCES[name].word}"
        for name in ("stale", "left", "never", Verdict.UNKNOWN, NEUTRAL, OTHER)
        if counts[name]
    ]
    details = [_states(sources, found)] if sources.night_id else []
    rest = f"{answered} of {total} looks are fine, known or unsupported"
    details.append(f"{rest}; {', '.join(open_words)}." if open_words else f"{rest}.")
    if found.outside or found.by_chance:
        details.append(
            f"{found.outside} of {found.judged} judged numbers lie outside their bands, where chance alone puts "
            f"{expected_alarms(found.judged):.2g}."
        )
    if not today:
        return _nothing_wrong(cells, found, counts, powers, details, tested=tested, is_whole=answered == total)
    told = _causes_told(today)
    is_failure_alone = all(each.sort == FAILED for each in today)
    if is_failure_alone and not counts[Verdict.REPRODUCED]:
        title = f"Nothing was tested: {told}."
    else:
        title = f"{'Wrong' if any(each.sort in (STEP, WORSE, FAILED, OTHER) for each in today) else 'Changed'}: {told}."
    name = min((each.appearance.name for each in today), key=list(APPEARANCES).index)
    return Answer(name, APPEARANCES[name].mark, f"{title}{_all_in(today)}", details)


def with_own_steps(answer: Answer, steps: Sequence[StepRow]) -> Answer:
    """Return the answer with what is known of users' own steps, and of audits.

    Causes are of recipes alone, and `fine` is not said beside a step that is wrong, nor beside one that has no answer.
    """
    found = [(plain(step.recipe), appearance_of(step.ended_as or LEFT)) for step in steps]
    bad = [(name, appearance) for name, appearance in found if appearance.name in (Verdict.REGRESSED, FAILED)]
    rest = [answer.title.replace("Fine: ", "Of recipes ", 1), *answer.details]
    if not bad:
        unanswered = [name for name, appearance in found if appearance.name in (Verdict.UNKNOWN, LEFT)]
        if not unanswered or answer.name != Verdict.REPRODUCED:
            return answer
        told = f"Nothing wrong seen, but {_own_told(unanswered, 'unknown or left')} That is not yet fine."
        return Answer(NEUTRAL, "~", told, rest)
    told = _own_told([name for name, _ in bad], "wrong or failed")
    worst = min((appearance for _, appearance in bad), key=lambda each: list(APPEARANCES).index(each.name))
    if list(APPEARANCES).index(answer.name) < list(APPEARANCES).index(worst.name):
        return replace(answer, title=f"{answer.title} And {told}")
    return Answer(worst.name, worst.mark, f"Wrong: {told}", rest)


def _own_told(names: Sequence[str], what: str) -> str:
    are = "is" if len(names) == 1 else "are"
    return f"{count(len(names), 'context')} of your own steps and audits {are} {what}: {', '.join(dict.fromkeys(names))}."


def _causes_told(causes: Sequence[Cause]) -> str:
    """Return how many causes in how many cells, and of which sort: 3 causes in 60 cells, 2 worse and 1 failed."""
    n_cells = len({key for each in causes for key in each.keys})
    sorts = Counter(each.word for each in causes)
    parts = [f"{many} {word}" for word, many in sorts.items()]
    if len(sorts) == 1:
        parts = [f"all {word}" if len(causes) > 1 else word for word in sorts]
    told = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    cells = f" in {count(n_cells, 'cell')}" if n_cells else ""
    return f"{count(len(causes), 'cause')}{cells}, {told}"


def _all_in(causes: Sequence[Cause]) -> str:
    """Return the framework in which all causes are, or all but one, with the release that they have."""
    (framework, many), *_ = Counter(each.framework for each in causes).most_common(1)
    if len(causes) < 2 or many < 2 or len(causes) - many > 1:
        return ""
    releases = {public(each.begin.release) for each in causes if each.framework == framework and each.begin.release}
    release = f" {plain(releases.pop())}" if len(releases) == 1 else ""
    return f" {'All' if many == len(causes) else 'All but one'} in {plain(framework)}{release}."


def _states(sources: Sources, found: Found) -> str:
    night = found.nights.number.get(sources.night_id or "")
    new = [each for each in found.causes if each.begin.night == night and not each.is_stale]
    ongoing = [each for each in found.causes if each not in new and not each.is_stale]
    named = [where_of(each) for each in found.fixed]
    fixed = f" ({', '.join(plain(name) for name in named[:2])}{', ...' if len(named) > 2 else ''})" if named else ""
    stale = sum(each.is_stale for each in found.causes)
    told = f" Wrong when last looked at, and stale: {stale}." if stale else ""
    return f"New tonight: {len(new)}. Ongoing: {len(ongoing)}. Fixed tonight: {len(found.fixed)}{fixed}.{told}"


def _nothing_wrong(
    cells: Mapping[Key, ReportedCell],
    found: Found,
    counts: Mapping[str, int],
    powers: Sequence[ProfilePower],
    details: list[str],
    *,
    tested: int,
    is_whole: bool,
) -> Answer:
    fine, seen = counts[Verdict.REPRODUCED], seen_drops(cells, powers)
    if not fine:
        left = "Nothing is known of today" if any(cell.results for cell in cells.values()) else "Nothing was tested"
        return Answer(Verdict.UNKNOWN.value, "?", f"{left}: no look is both of today and judged.", details)
    stale = [each for each in found.causes if each.is_stale]
    looks = sum(counts.values())
    if not is_whole or stale or not found.judged:
        why = "" if is_whole else f" in {sum(counts[name] for name in _ANSWERED)} of {looks} looks"
        old = f", and {len(stale)} that was wrong has not been looked at since" if stale else ""
        none = "" if found.judged else "; no number was judged by a band"
        return Answer(NEUTRAL, "~", f"Nothing wrong seen{why}{old}{none}. That is not yet fine.", [seen, *details])
    drift = "" if tested else " Drift could not be tested yet: too short a history."
    return Answer(Verdict.REPRODUCED.value, "✓", f"Fine: all {looks} looks are answered, none is wrong. {seen}{drift}", details)


def seen_drops(cells: Mapping[Key, ReportedCell], powers: Sequence[ProfilePower]) -> str:
    """Return what would have been seen nine times in ten in each recipe that was reproduced of today, by its fewest runs."""
    runs: dict[tuple[str, str], int] = {}
    for key, cell in cells.items():
        newest = cell.newest(REPRODUCE)
        if newest is not None and not cell.standings[REPRODUCE].stale:
            runs[key[:2]] = min(runs.get(key[:2], 10_000), len(newest.runs))
    known = {(each.recipe, each.profile): each for each in powers if not each.why_none}
    told = []
    for place, n in sorted(runs.items()):
        if place in known:
            drop, unit = known[place].drops[max((each for each in RUNS if each <= n), default=RUNS[0])], known[place].unit
            size = f"{drop:{'.1f' if unit == 'percent' else '.2g'}} {plain(unit_of_difference(unit))}"
            profile = "" if place[1] == DEFAULT_PROFILE else f" {plain(place[1])}"
            told.append(f"{size} in {plain(place[0])}{profile} ({count(n, 'run')})")
    if not told:
        return "How small a change would have been seen is not known: there is no reference."
    unknown = len(runs) - len(told)
    rest = f"; not known for {count(unknown, 'other')}" if unknown else ""
    shown = ", ".join(told[:_MOST_TOLD]) + (", ..." if len(told) > _MOST_TOLD else "")
    return f"Nine times in ten a change would have been seen of {shown}{rest}."


def tiles_of(cells: Mapping[Key, ReportedCell], found: Found, releases: Sequence[TestedRelease]) -> list[Tile]:
    """Return a tile for each framework that was tested, the known ones first."""
    states = _nights_told(cells, found)
    tiles = []
    for release in releases:
        name = release.framework
        own = [each for each in found.causes if each.framework == name and not each.is_stale]
        sorts = Counter(each.word for each in own)
        counts = [(next(each.appearance for each in own if each.word == word), f"{many} {word}") for word, many in sorts.items()]
        if not counts:
            standings = [each for cell in cells.values() if cell.framework == name for each in cell.standings.values()]
            is_fine = any(each.verdict == Verdict.REPRODUCED and not each.stale for each in standings)
            shown = APPEARANCES[Verdict.REPRODUCED if is_fine else Verdict.UNKNOWN]
            counts = [(shown, "nothing wrong seen" if is_fine else "nothing of today")]
        tiles.append(
            Tile(
                name,
                release.version or release.request or "-",
                _release_age(name, release, cells, found.nights),
                counts,
                strip(states.get(name, [])[-_STRIP:]),
            )
        )
    return tiles


def _release_age(name: str, release: TestedRelease, cells: Mapping[Key, ReportedCell], nights: Nights) -> str:
    """Return since when a release is the one that runs, and the one before it."""
    if release.problem:
        return "could not be tested"
    by_night: dict[int, Counter[str]] = {}
    for cell in cells.values():
        if cell.framework == name:
            for result in cell.results:
                if result.night is not None and result.release and result.is_clean:
                    by_night.setdefault(nights.number[result.night], Counter())[public(result.release) or ""] += 1
    order = [(night, held.most_common(1)[0][0]) for night, held in sorted(by_night.items())]
    own = public(release.version)
    begin = next((place for place in range(len(order) - 1, -1, -1) if order[place][1] != own), None)
    if not order or order[-1][1] != own:
        return ""
    if begin is None:
        return f"in all {count(len(order), 'night')}"
    night = nights.names[order[begin + 1][0]]
    many = len(order) - begin - 1
    return f"since {nights.day(night)}, {count(many, 'night')} (was {plain(order[begin][1])})"


def _nights_told(cells: Mapping[Key, ReportedCell], found: Found) -> dict[str, list[dict[str, str]]]:
    """Return, of each framework, every night with the worst that was found in it: its appearance, and what it says of itself."""
    held: dict[str, list[Counter[str]]] = {}
    for cell in cells.values():
        of_framework = held.setdefault(cell.framework, [Counter() for _ in found.nights.names])
        for result in cell.results:
            if result.night is not None and result.is_clean:
                name = appearance_of(result.verdict).name
                counter = of_framework[found.nights.number[result.night]]
                counter[f"{result.kind} {name}"] += 1
    told: dict[str, list[dict[str, str]]] = {}
    for framework, nights in held.items():
        causes = [each for each in found.causes if each.framework == framework and each.begin.night is not None]
        for number_of, counter in enumerate(nights):
            told.setdefault(framework, []).append(_night_told(found.nights.names[number_of], number_of, counter, causes))
    return told


def _night_told(name: str, place: int, counter: Counter[str], causes: Sequence[Cause]) -> dict[str, str]:
    begun = [
        each.appearance.name
        for each in causes
        if each.begin.night is not None and each.begin.night <= place and each.sort != FAILED
    ]
    judged = sum(counter[f"{REPRODUCE} {each}"] for each in (Verdict.REPRODUCED, Verdict.REGRESSED, Verdict.BETTER))
    outside = counter[f"{REPRODUCE} {Verdict.REGRESSED}"] + counter[f"{REPRODUCE} {Verdict.BETTER}"]
    failed = counter[f"{REPRODUCE} {FAILED}"] + counter[f"{VERIFY} {FAILED}"]
    wrong_steps = counter[f"{VERIFY} {Verdict.REGRESSED}"]
    looks = sum(counter.values())
    if not looks:
        state = "never"
    elif wrong_steps or is_odd(outside, judged):
        state = Verdict.REGRESSED.value
    elif begun:
        state = min(begun, key=list(APPEARANCES).index)
    elif failed:
        state = FAILED
    else:
        is_fine = counter[f"{REPRODUCE} {Verdict.REPRODUCED}"] + counter[f"{VERIFY} {Verdict.REPRODUCED}"]
        state = Verdict.REPRODUCED.value if is_fine else Verdict.UNKNOWN.value
    parts = [
        f"{wrong_steps} wrong step" if wrong_steps else "",
        f"{outside} of {judged} outside" if judged else "",
        f"{failed} failed" if failed else "",
    ]
    return {
        "name": state,
        "title": f"{plain(name)}: {', '.join(part for part in parts if part) or ('no look' if not looks else f'{looks} looks')}",
    }


def is_odd(outside: int, judged: int, *, least: float = _ODD) -> bool:
    """Would chance put so many of so many numbers outside their bands less often than `least`?"""
    return outside > 0 and bool(scipy.stats.binom.sf(outside - 1, judged, FALSE_ALARMS) < least)


def night_counts(cells: Mapping[Key, ReportedCell]) -> list[tuple[Appearance, int]]:
    """Return how many looks stand how, what needs none first: of what does not occur nothing is said."""
    counts = Counter(standing.appearance.name for cell in cells.values() for standing in cell.standings.values())
    return [(APPEARANCES[name], counts[name]) for name in APPEARANCES if counts[name]]

"""A night as a person and as a machine reads it: Markdown, JSON, JUnit XML. Made from its night.json alone."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reports.tables import markdown_table
from reports.verification_table import IN_SHORT_FORM, without_answer
from runners.contract.files import replace_text
from vigil.documents.context import parse_context
from vigil.documents.night import (
    AUDIT,
    DONE,
    REPRODUCE,
    SAME_BITS,
    STEP,
    VERIFY,
    CellRow,
    Night,
    NightVerdict,
    StepRow,
)
from vigil.documents.verdict import Verdict
from vigil.progress import duration
from vigil.recipes.command_line import own_command

MARKDOWN, JSON, JUNIT = "summary.md", "summary.json", "junit.xml"
COLUMNS = ("recipe", "framework", "release", "verified", "reproduced", "wrong", "failed", "other", "left")
STEPS = "steps of your own, and audits of operators"
NARROWED = "narrowed"
NARROWED_COLUMNS = ("cause", "state", "found", "directory")
LOST = "time lost to failures"
LOST_COLUMNS = ("category", "failures", "time lost", "tries again", "of those useless")
STEP_COLUMNS = ("what", "context", "verdict", "since", "reason")
_WORDS = {0: "fine", 1: "wrong", 3: "could not run", 4: "unknown"}
# XML 1.0, section 2.2: characters that no document may hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_REASON = 400


def write_summary(directory: Path, document: Night) -> list[Path]:
    """Write summary.md, summary.json and junit.xml into a night's directory, each as a whole; return their paths."""
    contents = {
        MARKDOWN: markdown(document),
        JSON: json.dumps(summary(document), indent=1) + "\n",
        JUNIT: junit(document),
    }
    for name, content in contents.items():
        replace_text(directory / name, content.encode("utf-8", "backslashreplace").decode("utf-8"))
    return [directory / name for name in contents]


def summary(document: Night) -> dict[str, Any]:
    """Return what summary.json holds: the night without the cells that are fine."""
    keys = ("id", "number", "created", "finished", "command", "budget_seconds", "spent_seconds", "jobs", "profile", "seeds")
    content = document.as_json()
    facts = {key: content[key] for key in (*keys, "releases", "covered", "verdict")}
    facts["table"] = [dict(zip(COLUMNS, row, strict=True)) for row in table(document)]
    facts |= {"standing": content["standing"], "seconds_lost": seconds_lost(document)}
    facts["lost"] = [each.as_json() for each in document.lost]
    facts["steps"] = [row.as_json() for row in document.steps]
    facts["narrowed"] = [each.as_json() for each in document.narrowed]
    tonight = [row.as_json() for row in document.rows if row.is_done and not is_fine(row)]
    return facts | {"not_fine": [*tonight, *content["standing"]]}


def headline(document: Night) -> str:
    """Return a night in one line."""
    verdict = _verdict(document)
    counts = sorted(verdict.counts.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{count} {name}" for name, count in counts)
    done = sum(row.is_done for row in document.rows)
    word = _WORDS[verdict.exit_code]
    return f"Night {document.id}: {word}. {done} cells in {duration(document.spent_seconds)}: {shown}."


def _verdict(document: Night) -> NightVerdict:
    """Return the verdict of a night that is finished. Raises ValueError for another."""
    if document.verdict is None:
        raise ValueError(f"night {document.id} is not finished")
    return document.verdict


def table(document: Night) -> list[tuple[str, ...]]:
    """Return a row for each recipe and framework."""
    groups: dict[tuple[str, str], list[CellRow]] = {}
    for row in document.cells:
        groups.setdefault((row.recipe, row.context.framework), []).append(row)
    return [
        (recipe, framework, document.releases[framework].version or "none", *_counts(rows))
        for (recipe, framework), rows in sorted(groups.items())
    ]


def _counts(rows: Sequence[CellRow]) -> tuple[str, ...]:
    done = sum(row.is_done for row in rows)
    fine = [row.kind for row in rows if row.ended_as is Verdict.REPRODUCED]
    wrong = sum(row.is_outside for row in rows)
    failed = sum(row.is_failed for row in rows)
    other = done - len(fine) - wrong - failed
    numbers = (fine.count(VERIFY), fine.count(REPRODUCE), wrong, failed, other, len(rows) - done)
    return tuple(str(number) for number in numbers)


def steps(document: Night) -> list[tuple[str, ...]]:
    """Return a row for each context of a user's own step, and each audit: its verdict, and since which night it has that."""
    return [
        (row.recipe, row.context.text, str(row.ended_as or row.status), row.since or "-", _short(row.reason or row.chosen))
        for row in own_rows(document)
    ]


def own_rows(document: Night) -> list[StepRow]:
    """Return the rows of users' own steps and of audits, and of those that are not fine since an earlier night a row as well."""
    rows = {row.key: row for row in document.steps}
    for finding in document.standing:
        kind, recipe, profile, context = _parts(finding.key)
        if kind not in (STEP, AUDIT) or (finding.key in rows and rows[finding.key].is_done):
            continue
        rows[finding.key] = StepRow(
            key=finding.key, kind=STEP if kind == STEP else AUDIT, recipe=recipe, profile=profile, context=parse_context(context),
            basis="", chosen="", status=DONE, since=finding.night,
            verdict=finding.verdict, reason=finding.reason, directory=finding.directory, stands=finding.verdict.is_outside,
        )  # fmt: skip
    return list(rows.values())


def narrowed(document: Night) -> list[tuple[str, ...]]:
    """Return a row for each cause that was narrowed: what is wrong, how far it came, and what was found."""
    return [(each.cause, each.state, _short(each.reason), each.directory or "-") for each in document.narrowed]


def lost(document: Night) -> list[tuple[str, ...]]:
    """Return a row for each category of failures, what cost most first: that is what to fix first."""
    return [(each.name, str(each.failures), duration(each.seconds), str(each.tries), str(each.useless)) for each in document.lost]


def _parts(key: str) -> tuple[str, str, str, str]:
    """Return kind, name, profile and context of a cell's key; a file's name may have spaces."""
    kind, _, rest = key.partition(" ")
    name, profile, context = rest.rsplit(" ", 2)
    return kind, name, profile, context


def step_commands(document: Night) -> list[str]:
    """Return the commands that show steps of a user's own, and audits, again which are not fine."""
    return [
        own_command(document, row.kind, row.recipe, row.context) for row in own_rows(document) if row.is_done and not is_fine(row)
    ]


def is_fine(row: CellRow) -> bool:
    """Is there nothing that a person should know of a cell that is done?"""
    return row.verdict in (Verdict.REPRODUCED, Verdict.UNSUPPORTED)


def not_fine(document: Night) -> list[tuple[str, ...]]:
    """Return cell, verdict, reason and directory of what is not fine; cells that have all but their name in common together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in document.rows:
        if not row.is_done or is_fine(row):
            continue
        verdict = str(row.verdict)
        if row.stands is False:
            verdict = f"outside its band, not beyond chance among {_verdict(document).judged} cells ({verdict})"
        if row.triage:
            verdict += f" ({row.triage.name})"
        name = f"{row.kind} {row.recipe} {row.context}"
        where = row.context.framework if row.directory is None else row.key
        groups.setdefault((verdict, _short(row.reason), row.directory or "-", where), []).append(name)
    return [
        (names[0] if len(names) == 1 else f"{len(names)} cells of {where}", verdict, reason, directory)
        for (verdict, reason, directory, where), names in groups.items()
    ]


def seconds_lost(document: Night) -> float:
    """Return the seconds that went into cells that failed, and into environments that could not be built."""
    failed = [row.seconds or 0.0 if row.is_failed else sum(each.seconds for each in row.tries) for row in document.rows]
    builds = [release.error.seconds for release in document.releases.values() if release.error]
    return round(sum(failed) + sum(builds), 1)


def notes(document: Night) -> list[str]:
    """Return what a reader must know besides the table."""
    verdict = _verdict(document)
    left = [row for row in document.rows if not row.is_done]
    lines = [
        f"{document.covered} cells were covered by earlier nights on the same basis; {len(left)} are left to coming nights",
        f"{verdict.judged} numbers judged at 1% false alarms each: {verdict.false_alarms_expected} expected outside by "
        "chance; those that stand are held to 5% false discoveries (Benjamini-Hochberg)",
    ]
    too_long = sum((row.estimate_seconds or 0.0) > document.budget_seconds for row in left)
    if too_long:
        lines.append(f"{too_long} of these take longer than the whole budget: only a longer one reaches them")
    if verdict.by_chance:
        lines.append(f"{len(verdict.by_chance)} outside, not beyond chance: they come first in the next night")
    if short := sum(row.is_done and row.is_short for row in document.cells):
        lines.append(f"{short} verifications in the short form, {IN_SHORT_FORM}")
        lines += [f"except {each}" for each in _without_answer(document)]
    lines += _bits(document)
    known = sum(row.ended_as is Verdict.KNOWN_FINDING for row in document.cells)
    lines += [f"{known} known findings, which are no failure"] if known else []
    lost = seconds_lost(document)
    lines += [f"what failed took {duration(lost)}"] if lost else []
    lines += [
        f"not fine since night {finding.night}: {finding.key}: {finding.verdict}: {_short(finding.reason)}"
        for finding in document.standing
    ]
    return lines


def _bits(document: Night) -> list[str]:
    """Return how many verifications have the bits of an earlier night, and of which release others are beside which."""
    compared = [(row, row.bits) for row in document.cells if row.bits]
    if not compared:
        return []
    counts = Counter(bits.answer for _, bits in compared)
    told = ", ".join(f"{count} {answer}" for answer, count in counts.items())
    lines = [f"verifications beside those of an earlier night on this processor: {told}"]
    moved = Counter(
        (row.context.framework, bits.release, document.release_of(row).version)
        for row, bits in compared
        if bits.answer != SAME_BITS
    )
    return lines + [f"other bits with {name} {now}, beside {before}: {count}" for (name, before, now), count in moved.items()]


def _without_answer(document: Night) -> list[str]:
    """Return the neighbours of what was verified in the short form that said nothing this night, recipe by recipe."""
    verified: dict[tuple[str, str], list[CellRow]] = {}
    for row in document.cells:
        if row.kind == VERIFY:
            verified.setdefault((row.recipe, row.profile), []).append(row)
    return [
        f"{recipe} {each}"
        for (recipe, _), rows in verified.items()
        for each in without_answer(
            [row.context for row in rows if row.is_done and row.is_short], {row.context: row.ended_as for row in rows}
        )
    ]


def releases(document: Night) -> list[tuple[str, ...]]:
    """Return framework, release, what it was before, and what is wrong with it."""
    return [
        (
            name,
            release.version or "none",
            "new" if release.is_new and release.key else "as before" if release.key else "-",
            release.previous or "-",
            _short(release.error.reason) if release.error else "",
        )
        for name, release in document.releases.items()
    ]


RELEASE_COLUMNS = ("framework", "release", "is", "before", "problem")
NOT_FINE_COLUMNS = ("cell", "verdict", "reason", "directory")


def markdown(document: Night) -> str:
    """Return the night as a page."""
    lines = [f"# {headline(document)}", ""]
    lines += [*markdown_table(RELEASE_COLUMNS, releases(document)), ""]
    lines += [*markdown_table(COLUMNS, table(document)), ""]
    if own_rows(document):
        lines += [f"## {STEPS.capitalize()}", "", *markdown_table(STEP_COLUMNS, steps(document)), ""]
        lines += [*(f"- `{_inline(line).replace('`', '')}`" for line in step_commands(document)), ""]
    if document.narrowed:
        lines += [f"## {NARROWED.capitalize()}", "", *markdown_table(NARROWED_COLUMNS, narrowed(document)), ""]
    if document.lost:
        lines += [f"## {LOST.capitalize()}", "", *markdown_table(LOST_COLUMNS, lost(document)), ""]
    if found := not_fine(document):
        lines += ["## What is not fine", "", *markdown_table(NOT_FINE_COLUMNS, found), ""]
    lines += [f"- {_inline(line)}" for line in notes(document)]
    seeds = ", ".join(map(str, document.seeds))
    lines += [
        f"- profile {document.profile}, seeds {seeds}, budget {duration(document.budget_seconds)}, "
        f"{document.jobs or '-'} cells side by side; `{_inline(document.command).replace('`', '')}`"
    ]
    return "\n".join(lines) + "\n"


def junit(document: Night) -> str:
    """Return the night as JUnit XML: a failure is a wrong number, an error one that could not be had, skipped what is left.

    What is so since an earlier night is a testcase too, in the place of one that tonight left.
    """
    standing = {finding.key for finding in document.standing}
    cells = [row for row in document.rows if row.is_done or row.key not in standing]
    results = [_result(row, document) for row in cells]
    cases = [(f"{row.recipe}.{row.context.framework}", f"{row.kind} {row.context}", row.seconds or 0.0) for row in cells]
    verdicts = [str(row.verdict) for row in cells]
    for finding in document.standing:
        kind, recipe, _, context = _parts(finding.key)
        cases.append((f"{recipe}.{context.split('-')[0]}", f"{kind} {context}", 0.0))
        verdicts.append(str(finding.verdict))
        message = f"not fine since night {finding.night}: {finding.verdict}: {_short(finding.reason)}"
        where = f"{finding.reason}\nin {finding.directory}" if finding.directory else finding.reason
        results.append(("failure" if finding.verdict.is_outside else "error", message, where))
    tags = [tag for tag, _, _ in results]
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=f"vigil nightly {document.id}",
        timestamp=document.created[:19],
        tests=str(len(cases)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time=f"{sum(seconds for _, _, seconds in cases):.1f}",
    )
    for (where, name, seconds), verdict, (tag, message, text) in zip(cases, verdicts, results, strict=True):
        facts = {"classname": xml_text(where), "name": xml_text(name), "time": f"{seconds:.1f}"}
        case = ElementTree.SubElement(suite, "testcase", facts)
        if tag in ("failure", "error", "skipped"):
            facts = {"message": xml_text(message)} | ({"type": xml_text(verdict)} if tag != "skipped" else {})
            ElementTree.SubElement(case, tag, facts).text = xml_text(text)
        elif text:
            ElementTree.SubElement(case, "system-out").text = xml_text(text)
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def xml_text(text: str) -> str:
    """Return a text with every character that XML forbids written as its number.

    >>> xml_text("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _NOT_XML.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def _result(row: CellRow, document: Night) -> tuple[str, str, str]:
    """Return the element that a cell has in JUnit, its message and its text."""
    verdict, reason = row.ended_as, row.reason or ""
    if verdict is None:
        return "skipped", f"left to a coming night: the budget did not reach it ({row.chosen})", ""
    where = f"{reason}\nin {row.directory}" if row.directory else reason
    if verdict.is_outside:
        if row.stands:
            return "failure", f"{verdict}: {_short(reason)}", where
        return "", "", f"outside its band, not beyond chance among {_verdict(document).judged} cells ({verdict}): {where}"
    if verdict.is_failed or verdict.is_undecided:
        return "error", f"{verdict}: {_short(reason)}", where
    if verdict is Verdict.UNSUPPORTED:
        return "skipped", f"unsupported: {_short(reason)}", reason
    return "", "", "" if verdict is Verdict.REPRODUCED else f"{verdict}: {where}"


def _short(text: str | None) -> str:
    """Return a text on one line, cut where it is long."""
    line = _inline(text or "")
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _inline(text: str) -> str:
    return " ".join(xml_text(text).split())

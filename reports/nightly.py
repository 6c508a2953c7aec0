"""A night as a person and as a machine reads it: Markdown, JSON, JUnit XML. Made from its night.json alone."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.tables import markdown_table
from vigil.progress import duration
from vigil.references.judgement import FAILED

MARKDOWN, JSON, JUNIT = "summary.md", "summary.json", "junit.xml"
COLUMNS = ("recipe", "framework", "release", "verified", "reproduced", "wrong", "failed", "other", "left")
_WRONG = ("regressed", "better-than-reference")
_FINE = ("reproduced", "unsupported")
_WORDS = {0: "fine", 1: "wrong", 3: "could not run", 4: "unknown"}
# XML 1.0, section 2.2: characters that no document may hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_REASON = 400

Row = dict[str, Any]


def write_summary(directory: Path, document: Mapping[str, Any]) -> list[Path]:
    """Write summary.md, summary.json and junit.xml into a night's directory, each as a whole; return their paths."""
    contents = {
        MARKDOWN: markdown(document),
        JSON: json.dumps(summary(document), indent=1) + "\n",
        JUNIT: junit(document),
    }
    for name, content in contents.items():
        partial = directory / f"{name}.partial"
        partial.write_text(content, encoding="utf-8", errors="backslashreplace")
        os.replace(partial, directory / name)
    return [directory / name for name in contents]


def summary(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what summary.json holds: the night without the cells that are fine."""
    keys = ("id", "number", "created", "finished", "command", "budget_seconds", "spent_seconds", "jobs", "profile", "seeds")
    facts = {key: document[key] for key in keys} | {"releases": document["releases"], "covered": document["covered"]}
    facts |= {"verdict": document["verdict"], "table": [dict(zip(COLUMNS, row, strict=True)) for row in table(document)]}
    facts |= {"standing": document["standing"], "seconds_lost": seconds_lost(document)}
    return facts | {"not_fine": [row for row in document["cells"] if row["status"] == "done" and not is_fine(row)]}


def headline(document: Mapping[str, Any]) -> str:
    """Return a night in one line."""
    counts = document["verdict"]["counts"]
    told = ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])))
    done = sum(row["status"] == "done" for row in document["cells"])
    word = _WORDS[document["verdict"]["exit_code"]]
    return f"Night {document['id']}: {word}. {done} cells in {duration(document['spent_seconds'])}: {told}."


def table(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each recipe and framework."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in document["cells"]:
        groups.setdefault((row["recipe"], row["context"]["framework"]), []).append(row)
    return [
        (recipe, framework, document["releases"][framework]["version"] or "none", *_counts(rows))
        for (recipe, framework), rows in sorted(groups.items())
    ]


def _counts(rows: Sequence[Row]) -> tuple[str, ...]:
    done = [row for row in rows if row["status"] == "done"]
    fine = [row["kind"] for row in done if row["verdict"] == "reproduced"]
    wrong = sum(row["verdict"] in _WRONG for row in done)
    failed = sum(row["verdict"].startswith(FAILED) for row in done)
    other = len(done) - len(fine) - wrong - failed
    numbers = (fine.count("verify"), fine.count("reproduce"), wrong, failed, other, len(rows) - len(done))
    return tuple(str(number) for number in numbers)


def is_fine(row: Row) -> bool:
    """Is there nothing that a person should know of a cell that is done?"""
    return row["verdict"] in _FINE


def not_fine(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return cell, verdict, reason and directory of what is not fine; cells that have all but their name in common together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in document["cells"]:
        if row["status"] != "done" or is_fine(row):
            continue
        verdict = row["verdict"]
        if row["stands"] is False:
            expected = document["verdict"]["judged"]
            verdict = f"outside its band, not beyond chance among {expected} cells ({verdict})"
        name = f"{row['kind']} {row['recipe']} {row['context']['text']}"
        where = row["context"]["framework"] if row["directory"] is None else row["key"]
        groups.setdefault((verdict, _short(row["reason"]), row["directory"] or "-", where), []).append(name)
    return [
        (names[0] if len(names) == 1 else f"{len(names)} cells of {where}", verdict, reason, directory)
        for (verdict, reason, directory, where), names in groups.items()
    ]


def seconds_lost(document: Mapping[str, Any]) -> float:
    """Return the seconds that went into cells that failed, and into environments that could not be built."""
    failed = [row["seconds"] for row in document["cells"] if row["status"] == "done" and row["verdict"].startswith(FAILED)]
    builds = [release["error"]["seconds"] for release in document["releases"].values() if release["error"]]
    return round(sum(failed) + sum(builds), 1)


def notes(document: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know besides the table."""
    verdict = document["verdict"]
    left = sum(row["status"] != "done" for row in document["cells"])
    lines = [
        f"{document['covered']} cells were covered by earlier nights on the same basis; {left} are left to coming nights",
        f"{verdict['judged']} numbers judged at 1% false alarms each: {verdict['false_alarms_expected']} expected outside by "
        "chance; those that stand are held to 5% false discoveries (Benjamini-Hochberg)",
    ]
    too_long = [row for row in document["cells"] if row["status"] != "done" and _is_too_long(row, document)]
    if too_long:
        lines.append(f"{len(too_long)} of these take longer than the whole budget: only a longer one reaches them")
    if verdict["by_chance"]:
        lines.append(f"{len(verdict['by_chance'])} outside, not beyond chance: they come first in the next night")
    known = sum(row["verdict"] == "known-finding" for row in document["cells"])
    lines += [f"{known} known findings, which are no failure"] if known else []
    lost = seconds_lost(document)
    lines += [f"what failed took {duration(lost)}"] if lost else []
    lines += [
        f"not fine since night {each['night']}: {each['key']}: {each['verdict']}: {_short(each['reason'])}"
        for each in document["standing"]
    ]
    return lines


def _is_too_long(row: Row, document: Mapping[str, Any]) -> bool:
    return (row["estimate_seconds"] or 0.0) > document["budget_seconds"]


def releases(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return framework, release, what it was before, and what is wrong with it."""
    return [
        (
            name,
            release["version"] or "none",
            "new" if release["is_new"] and release["key"] else "as before" if release["key"] else "-",
            release["previous"] or "-",
            _short(release["error"]["reason"]) if release["error"] else "",
        )
        for name, release in document["releases"].items()
    ]


RELEASE_COLUMNS = ("framework", "release", "is", "before", "problem")
NOT_FINE_COLUMNS = ("cell", "verdict", "reason", "directory")


def markdown(document: Mapping[str, Any]) -> str:
    """Return the night as a page."""
    lines = [f"# {headline(document)}", ""]
    lines += [*markdown_table(RELEASE_COLUMNS, releases(document)), ""]
    lines += [*markdown_table(COLUMNS, table(document)), ""]
    if found := not_fine(document):
        lines += ["## What is not fine", "", *markdown_table(NOT_FINE_COLUMNS, found), ""]
    lines += [f"- {_inline(line)}" for line in notes(document)]
    seeds = ", ".join(map(str, document["seeds"]))
    lines += [
        f"- profile {document['profile']}, seeds {seeds}, budget {duration(document['budget_seconds'])}, "
        f"{document['jobs'] or '-'} cells side by side; `{_inline(document['command']).replace('`', '')}`"
    ]
    return "\n".join(lines) + "\n"


def junit(document: Mapping[str, Any]) -> str:
    """Return the night as JUnit XML: a failure is a wrong number, an error one that could not be had, skipped what is left."""
    cells = document["cells"]
    results = [_result(row, document) for row in cells]
    tags = [tag for tag, _, _ in results]
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name=f"vigil nightly {document['id']}",
        timestamp=document["created"][:19],
        tests=str(len(cells)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time=f"{sum(row['seconds'] or 0.0 for row in cells):.1f}",
    )
    for row, (tag, message, text) in zip(cells, results, strict=True):
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=xml_text(f"{row['recipe']}.{row['context']['framework']}"),
            name=xml_text(f"{row['kind']} {row['context']['text']}"),
            time=f"{row['seconds'] or 0.0:.1f}",
        )
        if tag in ("failure", "error", "skipped"):
            kind = {"type": xml_text(row["verdict"])} if tag != "skipped" else {}
            ElementTree.SubElement(case, tag, message=xml_text(message), **kind).text = xml_text(text)
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


def _result(row: Row, document: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the element that a cell has in JUnit, its message and its text."""
    name, reason = row["verdict"], row["reason"] or ""
    if row["status"] != "done":
        return "skipped", f"left to a coming night: the budget did not reach it ({row['chosen']})", ""
    where = f"{reason}\nin {row['directory']}" if row["directory"] else reason
    if name in _WRONG:
        if row["stands"]:
            return "failure", f"{name}: {_short(reason)}", where
        return "", "", f"outside its band, not beyond chance among {document['verdict']['judged']} cells ({name}): {where}"
    if name.startswith(FAILED) or name == "unknown":
        return "error", f"{name}: {_short(reason)}", where
    if name == "unsupported":
        return "skipped", f"unsupported: {_short(reason)}", reason
    return "", "", "" if name == "reproduced" else f"{name}: {where}"


def _short(text: str | None) -> str:
    """Return a text on one line, cut where it is long."""
    line = _inline(text or "")
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."


def _inline(text: str) -> str:
    return " ".join(xml_text(text).split())

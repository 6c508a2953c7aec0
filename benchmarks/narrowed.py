"""`python -m benchmarks.narrowed`: since which release each finding on record is there, by `vigil narrow`.

`search SCRIPT ...` narrows each script, and appends a row to docs/findings/narrowed/rows.jsonl. What is known of a script as
it is now is not searched again; probes are stored besides, so that what breaks off goes on. `page` prints the rows as Markdown:
docs/narrowed.md. `mark docs/findings.md` writes into that page since which release each finding is there.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import functools
import hashlib
import importlib.metadata
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from vigil.digests import append_listed, read_one
from vigil.documents.narrowing import NarrowedFrom, Narrowing
from vigil.errors import VigilError
from vigil.locks import locked
from vigil.narrow.history import FIRST_RUNS
from vigil.narrow.narrow import begin, since, written_in
from vigil.narrow.outcome import Outcome
from vigil.narrow.probes import Prober, Subject
from vigil.narrow.since import KEEP, Line, line_of
from vigil.paths import project_root
from vigil.process.environment import describe_code
from vigil.process.side_by_side import available_cores
from vigil.releases.store import held, pins_of

_HELD = {"torch": ("torch==2.13.0",)}  # beside Keras's releases
# Where the index has PyTorch with CUDA alone, a release is 3 GB to fetch and 7 GB on the disk: a few of them are looked at.
_LOOKED_AT = {"torch": ("2.2.2", "2.6.0", "2.10.0", "2.13.0", "2.14.1")}
_OLDEST = {"keras": "3.0.0"}  # Keras 2 has other modules


_MARK = "Releases: "


def rows_path() -> Path:
    """Return the file of the rows."""
    return project_root() / "docs" / "findings" / "narrowed" / "rows.jsonl"


def rows() -> list[dict[str, Any]]:
    """Return the newest row of each script."""
    content = read_one(rows_path()) if rows_path().exists() else None
    return list({row["script"]: row for row in map(json.loads, (content or b"").decode().splitlines())}.values())


def search(scripts: Sequence[Path], *, jobs: int, again: bool = False, keep: int = KEEP, variables: Mapping[str, str]) -> int:
    """Narrow scripts that have no row as they are now, or all of them again; return how many could not be.

    keep: bytes that the environments of releases may take. variables: what they run under besides, for the rows.
    """
    known = {} if again else {row["script"]: row["sha256"] for row in rows()}
    lines: dict[tuple[str, str, tuple[str, ...]], Line] = {}
    failed = 0
    for script in scripts:
        name = str(script.resolve().relative_to(project_root()))
        if known.get(name) == hashlib.sha256(script.read_bytes()).hexdigest():
            continue
        try:
            written = written_in(script)
            hold = () if written.package == written.framework else _HELD.get(written.framework, ())
            of = (written.framework, written.package, hold)
            if of not in lines:
                lines[of] = _line(*of)
            with tempfile.TemporaryDirectory() as folder:
                found = _narrowed(script, name, lines[of], Path(folder), jobs=jobs, keep=keep)
        except VigilError as error:
            print(f"{name}: {error}", flush=True)
            failed += 1
            continue
        append_row(found, name, few=lines[of].versions if written.package in _LOOKED_AT else (), variables=variables)
        print(f"{name}: {found.reason}", flush=True)
    return failed


def _line(framework: str, package: str, hold: tuple[str, ...]) -> Line:
    line = line_of(framework, package, oldest=_OLDEST.get(package), hold=hold)
    few = _LOOKED_AT.get(package)
    return dataclasses.replace(line, versions=tuple(each for each in line.versions if each in few)) if few else line


def _narrowed(script: Path, name: str, line: Line, folder: Path, *, jobs: int, keep: int) -> Narrowing:
    text = script.read_text(encoding="utf-8")
    title = (ast.get_docstring(ast.parse(text)) or name).splitlines()[0]
    written = written_in(script)
    # What another processor, or an older release, has wrong is searched for as well: any WRONG is it.
    # Of a bug that was mended its docstring says where it was seen.
    told = re.search(r"WRONG in (?:[a-z-]+ )?(\d+\.\d+[.\d]*\d)", text)
    own = "" if told else _installed(written.package)
    with contextlib.ExitStack() as stack:
        python, here = Path(sys.executable), None
        if own in line.versions:  # its runs count for the search as well
            resolved = pins_of(line.release(own))
            python = stack.enter_context(held(resolved))
            prober = Prober(Subject(script, written.framework, written.modules))
            here = functools.partial(_once, prober, python, resolved.key)
        work = begin(
            NarrowedFrom(kind="script", path=name, what=title.rstrip(".")),
            script,
            folder,
            framework=written.framework,
            modules=written.modules,
            python=python,
            fault=None,
            release=None,
            command=f"vigil narrow {name} --since",
            jobs=jobs,
            most_runs=FIRST_RUNS,
            here=here,
        )
        since(work, line, seen_in=told[1] if told else None, keep=keep)
    return work.document


def _once(prober: Prober, python: Path, key: str, fault: str) -> Outcome:
    return prober.once(python, key=key)


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return ""


def append_row(found: Narrowing, name: str, *, few: Sequence[str], variables: Mapping[str, str]) -> None:
    """Append what was found of a script. few: the releases that were searched, where they are not all that there are."""
    releases, script, code = found.releases, found.script, describe_code()
    assert releases is not None
    assert script is not None
    row = {
        "script": name, "sha256": script.sha256, "what": found.source.what, "framework": found.framework,
        "framework_version": found.framework_version, "shows_here": script.wrong > 0, "wrong": script.wrong,
        "runs": script.runs, "package": releases.package, "hold": list(releases.hold), "few": list(few),
        "variables": dict(variables), "oldest": releases.oldest, "newest": releases.newest, "says": releases.says,
        "looks": [[each.version, each.outcome, each.wrong, each.runs] for each in releases.looks],
        "changes": [
            {"after": each.after, "last_before": each.last_before, "first": each.first, "last": each.last,
             "probability": each.probability, "carriers": list(each.carriers)} for each in releases.changes
        ],
        "rounds": releases.rounds, "seconds": releases.seconds, "hardware": found.environment["hardware"],
        "cpu_flags": found.environment["cpu_flags"], "commit": code.commit, "dirty": code.dirty,
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
    }  # fmt: skip
    path = rows_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        append_listed(path, json.dumps(row) + "\n")


def page() -> str:
    """Return the rows as Markdown."""
    found = sorted(rows(), key=lambda row: (row["package"], row["script"]))
    lines = [
        "# Findings, narrowed",
        "",
        "Since which release each finding is there, by `python -m benchmarks.narrowed search SCRIPT ...`.",
        "How that is searched, and what it cannot see, stands in [narrow.md](narrow.md).",
        "Releases between those that were looked at are told by the search, and were not run.",
        "",
        "| script | of | history | looked at | date |",
        "|---|---|---|---|---|",
    ]
    for row in found:
        path = row["script"].removeprefix("docs/")
        looked = f"{len(row['looks'])} releases, {row['seconds'] / 60:.1f} min"
        lines.append(f"| [{Path(path).stem}]({path}) | {row['what']} | {_told(row)} | {looked} | {row['date']} |")
    processors = sorted({row["hardware"] for row in found})
    lines += ["", f"Processors: {'; '.join(processors)}, with Python 3.11."] if processors else []
    return "\n".join(lines) + "\n"


def _told(row: dict[str, Any]) -> str:
    under = [f"{name}={value}" for name, value in row.get("variables", {}).items()]
    held = f", with {', '.join([*row['hold'], *under])}" if row["hold"] or under else ""
    return f"{row['says']}{held}" + (f"; searched: {', '.join(row['few'])}" if row.get("few") else "")


def marked(text: str) -> str:
    """Return a page of findings with a line `Releases: ...` before each line that links to a script whose releases are known."""
    told = {row["script"]: _told(row) for row in rows()}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(_MARK):
            continue
        scripts = [f"docs/{name}" for name in re.findall(r"\]\((findings/[\w/]+\.py)\)", line)]
        lines += [f"{_MARK}{told[script]} ([narrowed](narrowed.md))." for script in scripts if script in told and "|" not in line]
        lines.append(line)
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, or print the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.narrowed", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    searching = actions.add_parser("search", help="narrow scripts, and append their rows")
    searching.add_argument("scripts", nargs="+", type=Path)
    searching.add_argument("--jobs", type=int, default=len(available_cores()))
    searching.add_argument(
        "--keep", type=int, default=KEEP // 2**30, metavar="GIB", help="of all environments (default: %(default)s)"
    )
    searching.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a variable to run under, which the rows tell"
    )
    searching.add_argument("--again", action="store_true", help="those that have a row, too")
    actions.add_parser("page", help="print docs/narrowed.md")
    marking = actions.add_parser("mark", help="write into a page of findings since which release each is there")
    marking.add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    if given.action == "page":
        print(page(), end="")
        return 0
    if given.action == "mark":
        given.file.write_text(marked(given.file.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    variables = dict(each.split("=", 1) for each in given.set)
    os.environ.update(variables)
    return 1 if search(given.scripts, variables=variables, jobs=given.jobs, again=given.again, keep=given.keep * 2**30) else 0


if __name__ == "__main__":
    sys.exit(main())

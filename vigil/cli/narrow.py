"""`vigil narrow`: from an alarm to a script that anyone can run, the release that brought it, and the switch that hides it."""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from reports.narrowing_text import issue_report, narrowing_block
from runners.contract.files import replace_text
from vigil.cli import options
from vigil.documents.narrowing import NarrowedFrom, ReleaseLook, place_of
from vigil.documents.replay import Replay
from vigil.errors import DirectoryError, UsageError, nearest
from vigil.frameworks import TABLE
from vigil.narrow.from_run import alarm_of, script_of_alarm, shrinking_of, where_seen
from vigil.narrow.narrow import NOT_SHOWN, SCRIPT, Work, begin, since, switched, written_in
from vigil.narrow.since import KEEP, line_of
from vigil.paths import expanded, runs_directory
from vigil.process.build_spec import fault_entry
from vigil.process.environment import require_framework
from vigil.process.side_by_side import available_cores
from vigil.progress import StageDisplay
from vigil.releases.naming import parse_hold, parse_release
from vigil.releases.store import held, obtain
from vigil.steps.verify import new_own_directory
from vigil.terminal import answered
from vigil.tracking import upload_or_note

REPORT = "report.md"
EXIT_CODES = (
    "exit codes: 0 narrowed, 1 the script is right here, or gives no evidence, 2 wrong usage, 3 could not run, "
    "4 an answer is too unlikely to be given"
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "narrow",
        help="a failure narrowed: the release that brought it, the switch that hides it",
        description="Run a script that shows one failure here, under switches that change how numbers are computed, and on other "
        "releases. The script prints RIGHT or WRONG and ends in exit code 0 or 1; of a run of Vigil it is made.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("target", metavar="TARGET", help="a script, or the directory of an audit or verification")
    parser.add_argument("--since", action="store_true", help="search the releases for the one that brought it")
    parser.add_argument("--switches", action="store_true", help="look for switches that hide it, as oneDNN off, or no fusion")
    parser.add_argument("--package", metavar="NAME", help="whose releases (default: that whose calls the script makes)")
    parser.add_argument("--from", dest="oldest", metavar="VERSION", help="the oldest release (default: that can be installed)")
    parser.add_argument("--to", dest="newest", metavar="VERSION", help="the newest release (default: that there is)")
    parser.add_argument(
        "--hold", action="append", default=[], metavar="NAME==VERSION", help="keep a package at one version (repeatable)"
    )
    parser.add_argument("--framework", metavar="NAME", help=f"one of {', '.join(TABLE)} (default: that the script imports)")
    parser.add_argument("--python", metavar="PATH", help="the interpreter of an environment in which the failure was seen")
    parser.add_argument("--jobs", metavar="N", help="releases side by side (default: as many as cores)")
    parser.add_argument(
        "--keep", metavar="GIB", help=f"what all environments may take; the longest unused go first (default: {KEEP // 2**30})"
    )
    options.add_release(parser)
    options.add_fault(parser)
    parser.add_argument(
        "--finding", metavar="N", default="1", help="of a run: which of several that are wrong, the worst first (default: 1)"
    )
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Narrow, show what was found, return 0 narrowed, 1 it does not show, 4 withheld."""
    target = expanded(arguments.target)
    if not target.exists():
        raise UsageError(f"{arguments.target}: no such file or directory. Allowed: a script, or the directory of a run.")
    for name, given in (("--package", arguments.package), ("--from", arguments.oldest), ("--to", arguments.newest)):
        if given and not arguments.since:
            raise UsageError(f"{name}: found without --since. Allowed: with it, since it says which releases are searched.")
    if arguments.framework not in (None, *TABLE):
        raise UsageError(
            f"--framework: found {arguments.framework!r}. Allowed: {', '.join(TABLE)}.{nearest(arguments.framework, TABLE)}"
        )
    if arguments.release and arguments.python:
        raise UsageError("--python: found with --release, which has an interpreter of its own. Allowed: one of the two.")
    framework = arguments.framework  # as it was said; a release names one, too
    jobs = options.whole_number("--jobs", arguments.jobs or str(len(available_cores())), least=1)
    keep = 2**30 * options.whole_number("--keep", arguments.keep, least=1) if arguments.keep else KEEP
    release = options.release_of_context(arguments)
    with contextlib.ExitStack() as stack:
        display = stack.enter_context(StageDisplay())
        alarm = (
            alarm_of(target, finding=options.whole_number("--finding", arguments.finding, least=1)) if target.is_dir() else None
        )
        if alarm:
            if arguments.fault or arguments.framework or arguments.python:
                raise UsageError(f"{target}: a run says by itself which fault, framework and interpreter it had. Leave them out.")
            python, recorded = stack.enter_context(where_seen(alarm.document.release, tell=display.say))
            directory = _emptied(place_of(alarm.directory, alarm.number))
            found = script_of_alarm(alarm, directory, python=python, tell=display.say, progress=display.progress)
            script, source, smaller, fault = found.script, alarm.source, shrinking_of(found), alarm.fault
            written = written_in(script)
        else:
            script, smaller, fault = target, None, fault_entry(arguments.fault)
            source = NarrowedFrom(kind="script", path=str(target.resolve()), what=_title(target))
            written = written_in(target, framework)
            if arguments.framework:
                written = dataclasses.replace(written, framework=arguments.framework)
            python, recorded = Path(sys.executable), None
            if release:
                resolved = obtain(release, tell=display.say)
                python, recorded = stack.enter_context(held(resolved, tell=display.say)), resolved.named
            elif arguments.python:
                python = expanded(arguments.python)
            else:
                require_framework(written.framework)
            directory = None
        line = None
        if arguments.since:
            package = arguments.package or written.package
            line = line_of(
                written.framework, package, oldest=arguments.oldest, newest=arguments.newest,
                hold=held_beside(arguments.hold, written.framework, package), indexes=arguments.extra_index, tell=display.say,
            )  # fmt: skip
        directory = directory or new_own_directory(runs_directory(), target, "narrow")
        work = begin(
            source,
            script,
            directory,
            framework=written.framework,
            modules=written.modules,
            python=python,
            fault=fault,
            release=recorded,
            command=arguments.command,
            jobs=jobs,
            smaller=smaller,
            tell=display.say,
        )
        _report(work)
        if work.document.state != NOT_SHOWN and arguments.switches:
            switched(work, progress=lambda done, total: display.progress("switches", done, total))
            _report(work)
        if work.document.state != NOT_SHOWN and line:
            since(work, line, keep=keep, progress=lambda look: display.say(_told(line.package, look)))
            _report(work)
    if alarm and not isinstance(alarm.document, Replay) and alarm.document.tracking:
        upload_or_note(alarm.directory)  # anew, with the script
    options.write_json(arguments, work.document)
    answered(narrowing_block(work.document, directory=str(directory)))
    return work.document.exit_code


def held_beside(texts: Sequence[str], framework: str, package: str) -> tuple[str, ...]:
    """Return the packages that are kept at one version beside each release of a package. Raises UsageError.

    A framework may be held beside a library, and its libraries beside either.
    """
    row = TABLE[framework]
    frameworks: list[str] = []
    others: list[str] = []
    for text in texts:
        name = text.partition("==")[0].strip().replace("_", "-")
        if name in (package, *(row.owned if package in row.owned else ())):
            raise UsageError(f"--hold: found {text!r}, and releases of {package} are searched. Allowed: other packages.")
        (frameworks if name in (framework, *row.owned) else others).append(text)
    found = [parse_release(text) for text in frameworks]
    if without := [each.text for each in found if each.version is None]:
        raise UsageError(f"--hold: found {without[0]!r}, which has no version. Allowed: NAME==VERSION.")
    return (*(f"{each.distribution}=={each.version}" for each in found), *parse_hold(others, framework=framework))


def _report(work: Work) -> None:
    """Write what can be sent, after each stage: what was found stands when the next one is ended."""
    script = (work.directory / SCRIPT).read_text(encoding="utf-8")
    replace_text(work.directory / REPORT, issue_report(work.document, script))


def _emptied(place: Path) -> Path:
    """Return a directory for the narrowing of a run, without what an earlier one left there. Raises DirectoryError."""
    try:
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(parents=True)
    except OSError as error:
        raise DirectoryError(
            f"{place}: cannot be written ({error.strerror}). A narrowing lies below the run that it is of."
        ) from error
    return place


def _told(package: str, look: ReleaseLook) -> str:
    often = f", {look.wrong} of {look.runs} runs wrong" if look.runs > 1 else ""
    return f"{package} {look.version}: {look.outcome}{often}"


def _title(script: Path) -> str:
    """Return what a script says that it shows: the first line of its docstring, or its name."""
    try:
        said = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.name
    except (SyntaxError, ValueError):  # which is refused with its reason when it is read
        return script.name
    return said.splitlines()[0].rstrip(".")

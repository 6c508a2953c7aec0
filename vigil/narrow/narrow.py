"""One failure narrowed: the script run here, under switches, and on releases of its package; written down after each stage."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from vigil.documents.narrowing import (
    MixedLook,
    NarrowedFrom,
    NarrowedScript,
    Narrowing,
    ReleaseChange,
    ReleaseLook,
    ReleaseSearch,
    Shrinking,
    SwitchLook,
)  # fmt: skip
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.errors import UsageError
from vigil.frameworks import TABLE
from vigil.narrow.history import FIRST_RUNS, Change, History, runs_to_miss, spans
from vigil.narrow.outcome import RIGHT, WRONG, Outcome, fault_argument, like_of, run_script
from vigil.narrow.probes import Prober, Subject, modules_of
from vigil.narrow.since import KEEP, Found, Line, Mixed, mixed, search
from vigil.narrow.switches import try_switches
from vigil.process.environment import describe_machine
from vigil.releases.resolve import version_in
from vigil.releases.store import Tell
from vigil.terminal import some_of

SCRIPT = "script.py"
# How a narrowing ends.
NARROWED, NOT_SHOWN, WITHHELD = "narrowed", "does not show", "withheld"
# An answer that is less likely is not given.
LEAST_PROBABILITY = 0.9
MOST_RUNS = 20
_MOST_NAMES = 4
_VARIES = "its numbers vary from run to run, so that any WRONG is taken for it"
_LIBRARIES = ("keras", "flax", "optax")


@dataclasses.dataclass(frozen=True)
class Written:
    """What a script's text says of itself: the framework, the modules that it imports, the package that its calls belong to."""

    framework: str
    modules: tuple[str, ...]
    package: str


def written_in(path: Path, framework: str | None = None) -> Written:
    """Return what a script is written in. Raises UsageError for one that names no framework, or cannot be read.

    Args:
        framework: that a person says it is in, whatever it imports.
    """
    try:
        text = path.read_text(encoding="utf-8")
        imported = modules_of(text, ("torch", "tensorflow", "jax", "numpy", *_LIBRARIES))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as Python ({error}). Allowed: a script that prints RIGHT or WRONG.") from error
    backend = re.search(r"""KERAS_BACKEND["']\]\s*=\s*["'](\w+)""", text)
    named = [name for name in imported if name in TABLE]
    is_keras = "keras" in imported or re.search(r"from tensorflow import keras|\bkeras\.", text)
    framework = framework or (backend[1] if backend and backend[1] in TABLE else (named[0] if named else None))
    if framework is None and {"flax", "optax"} & set(imported):
        framework = "jax"
    if framework is None and is_keras:
        framework = "tensorflow"  # Keras's own default
    if framework is None:
        raise UsageError(f"{path}: imports none of {', '.join(TABLE)}. Allowed: a script in one of them, or --framework.")
    library = next((name for name in _LIBRARIES if name in imported), "keras" if is_keras else None)
    # "jax.nn.dot_product_attention is ...": what the script is about says more than all that it imports.
    about = re.match(r"\s*(\w+)\.\w", ast.get_docstring(ast.parse(text)) or "")
    if about and about[1] in (framework, *_LIBRARIES):
        library = about[1] if about[1] in _LIBRARIES else None
    # Keras reads its backend when it is imported, and a script sets that first: it is left to import Keras itself.
    modules = tuple(name for name in imported if name != "keras") or (framework,)
    return Written(framework, modules, library or TABLE[framework].distribution)


@dataclasses.dataclass
class Work:
    """A narrowing under way: what is the same for all its stages, and the document so far."""

    directory: Path
    subject: Subject
    python: Path
    jobs: int
    document: Narrowing
    began: float
    tell: Tell = lambda text: None

    def note(self, **changes: object) -> None:
        """Write the document anew with what has been found."""
        self.document = self.document.replace(**changes, seconds=round(time.monotonic() - self.began, 1))
        self.document.write(self.directory)


def begin(
    source: NarrowedFrom,
    script: Path,
    directory: Path,
    *,
    framework: str,
    modules: Sequence[str],
    python: Path,
    fault: dict[str, str] | None,
    release: NamedRelease | None,
    command: str,
    jobs: int,
    most_runs: int = MOST_RUNS,
    smaller: Shrinking | None = None,
    here: Callable[[str], Outcome] | None = None,
    tell: Tell = lambda text: None,
) -> Work:
    """Run a script some times where the failure was seen, and write down what it said.

    Its first WRONG is the failure that is looked for from then on: its numbers tell it from others, unless they vary by the run.

    Args:
        most_runs: where it is always right at first, so many, since it may be a race.
        here: runs it once under a fault's argument; None: by `python`, and nothing is kept for a search.
    """
    began = time.monotonic()
    own = directory / SCRIPT
    if script.resolve() != own.resolve():
        shutil.copyfile(script, own)
    tell("running the script here")
    run = _runner(own, python, modules)
    outcomes: list[Outcome] = []
    # Where it is sometimes right, or always at first, it may be a race: that takes more runs to see.
    while len(outcomes) < FIRST_RUNS or (len(outcomes) < most_runs and any(each.kind == RIGHT for each in outcomes)):
        outcomes.append((here or run)(fault_argument(fault, framework)))
    wrong = [each for each in outcomes if each.kind == WRONG]
    like = like_of([each.line for each in wrong])
    without = run("").line if fault else None
    text = own.read_text(encoding="utf-8")
    subject = Subject(own, framework, tuple(modules), like, fault)
    document = Narrowing(
        narrow_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        source=source,
        framework=framework,
        framework_version=_version(python, framework),
        release=release,
        fault=PlantedFault(name=fault["name"], sha256=fault["sha256"]) if fault else None,
        state=NARROWED if wrong else NOT_SHOWN,
        reason=_reason(outcomes, wrong),
        script=NarrowedScript(
            path=str(own),
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            lines=len(text.splitlines()),
            says=(wrong or outcomes)[0].line,
            wrong=len(wrong),
            runs=len(outcomes),
            without_fault=without,
        ),
        smaller=smaller,
        releases=None,
        switches=None,
        environment=describe_machine(),
        seconds=round(time.monotonic() - began, 1),
    )
    document.write(directory)
    return Work(directory, subject, python, jobs, document, began, tell)


def _runner(script: Path, python: Path, modules: Sequence[str]) -> Callable[[str], Outcome]:
    return lambda fault: run_script(script, python, modules=modules, fault=fault)


def _reason(outcomes: Sequence[Outcome], wrong: Sequence[Outcome]) -> str:
    if wrong:
        often = "" if len(wrong) == len(outcomes) else f"{len(wrong)} of {len(outcomes)} runs: "
        varies = "" if like_of([each.line for each in wrong]) else f"; {_VARIES}"
        return f"{often}{wrong[0].line}{varies}"
    no_evidence = next((each for each in outcomes if not each.is_evidence), None)
    if no_evidence:
        return f"{no_evidence.kind}: {no_evidence.line}"
    # The rule of three: Hanley and Lippman-Hand, JAMA 249 (1983) 1743.
    return f"{len(outcomes)} runs are right, so that it is wrong in at most {3 / len(outcomes):.0%} of them: {outcomes[0].line}"


def _version(python: Path, framework: str) -> str | None:
    return next(filter(None, (_installed(python, name) for name in TABLE[framework].carriers)), None)


def _installed(python: Path, package: str) -> str | None:
    """Return the version of a package that an interpreter has; None where it has none."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([str(python), "-I", "-c", code], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout.strip() or None if done.returncode == 0 else None


def switched(work: Work, *, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Run the script under switches that change how numbers are computed, and write down which hide the failure."""
    script = work.document.script
    assert script is not None
    # What is wrong at times is right at times: it is hidden where that would be luck one time in a thousand.
    tried = [
        SwitchLook(
            name=each.switch.name,
            outcome=each.outcome.kind,
            says=each.outcome.line,
            tells=each.switch.tells,
            is_workaround=each.switch.is_workaround,
        )
        for each in try_switches(
            work.subject.script,
            work.python,
            framework=work.subject.framework,
            modules=work.subject.modules,
            like=work.subject.like,
            fault=fault_argument(work.subject.fault, work.subject.framework),
            repeats=runs_to_miss(script.wrong / script.runs),
            jobs=work.jobs,
            seen=lambda done, total, tried: progress(done, total),
        )
    ]
    hiding = [each.name for each in tried if each.outcome == RIGHT]
    told = f"hidden by {some_of(hiding, _MOST_NAMES)}" if hiding else f"hidden by none of {len(tried)} switches"
    work.note(switches=tuple(tried), reason=f"{work.document.reason}; {told}")


def since(
    work: Work,
    line: Line,
    *,
    seen_in: str | None = None,
    keep: int = KEEP,
    progress: Callable[[ReleaseLook], None] = lambda look: None,
) -> None:
    """Search the releases for what brought the failure, try which package carries it, and write both down.

    Args:
        seen_in: a release that shows it; None: the one of the interpreter.
    """
    prober = Prober(work.subject)

    def seen(place: int, outcomes: list[Outcome]) -> None:
        progress(_look(line.versions[place], outcomes, None))

    script = work.document.script
    share = script.wrong / script.runs if script and script.wrong else 1.0
    pins = work.document.release.pins if work.document.release else None
    seen_in = seen_in or version_in(pins or (), line.package) or _installed(work.python, line.package)
    found = search(line, prober, jobs=work.jobs, share=share, seen_in=seen_in, keep=keep, tell=work.tell, seen=seen)
    work.note(releases=_searched(found, [], seen_in))
    if found.history.varies:
        prober = Prober(dataclasses.replace(work.subject, like=None))
    told = [_change(found, change, mixed_of(found, change, prober, work.tell)) for change in found.history.changes()]
    releases = _searched(found, told, seen_in)
    is_open = any(not each.is_decided and each.probability < LEAST_PROBABILITY for each in told)
    work.note(
        releases=releases,
        state=WITHHELD if is_open or _not_met(found, seen_in) else work.document.state,
        reason=f"{work.document.reason}; {releases.says}",
    )


def mixed_of(found: Found, change: Change, prober: Prober, tell: Tell) -> list[Mixed]:
    """Try packages of the release after a change beside those of the one before: only where one release brought a failure."""
    before, after = found.resolved.get(change.last_before), found.resolved.get(change.last)
    if change.probability < LEAST_PROBABILITY or change.before != RIGHT or before is None or after is None:
        return []
    tell(f"which package carries it: those of {after.request} beside {before.request}")
    return mixed(before, after, prober, tell=tell)


def _look(version: str, outcomes: Sequence[Outcome], key: str | None) -> ReleaseLook:
    kinds = [each.kind for each in outcomes]
    told = next((each for each in outcomes if not each.is_evidence), None) or next(
        (each for each in outcomes if each.kind != RIGHT), outcomes[0]
    )
    return ReleaseLook(version=version, outcome=told.kind, wrong=kinds.count(WRONG), runs=len(kinds), says=told.line, key=key)


def _change(found: Found, change: Change, tried: Sequence[Mixed]) -> ReleaseChange:
    return ReleaseChange(
        before=change.before,
        after=change.after,
        last_before=found.version(change.last_before),
        first=found.version(change.first),
        last=found.version(change.last),
        probability=round(change.probability, 4),
        is_decided=change.is_decided,
        runs_to_know=change.runs_to_know,
        mixed=tuple(
            MixedLook(package=each.package, version=each.version, outcome=each.outcome.kind, says=each.outcome.line)
            for each in tried
        ),
        carriers=tuple(each.package for each in tried if each.outcome.kind == change.after),
    )


def _not_met(found: Found, seen_in: str | None) -> str | None:
    """Return why a search may not have met the failure, whatever it found: the release in which it was seen does not have it."""
    history, line = found.history, found.line
    if found.seen is None:
        which = f"{line.package} {seen_in}" if seen_in else f"which release of {line.package} is not known"
        return f"the release in which it was seen, {which}, is not among those that were searched"
    said = history.says(found.seen)
    if said == WRONG or (found.seen in history.unusable and any(each == WRONG for each, _, _ in spans(history))):
        return None
    says = "gives no evidence" if said is None or found.seen in history.unusable else f"is {said}"
    return f"{line.package} {seen_in}, in which it was seen, {says} in an environment of its own"


def _searched(found: Found, changes: Sequence[ReleaseChange], seen_in: str | None) -> ReleaseSearch:
    history, line = found.history, found.line
    looks = [
        _look(line.versions[place], outcomes, found.resolved[place].key if place in found.resolved else None)
        for place, outcomes in ((place, history.judged(place)) for place in sorted(history.outcomes))
    ]
    told, varies = _history_in_words(history, line, changes), _VARIES if history.varies else None
    return ReleaseSearch(
        package=line.package,
        hold=line.hold,
        oldest=line.versions[0],
        newest=line.versions[-1],
        releases=len(line.versions),
        looks=tuple(looks),
        changes=tuple(changes),
        says="; ".join(filter(None, (told, varies, _not_met(found, seen_in)))),
        rounds=found.rounds,
        seconds=round(found.seconds, 1),
    )


def _history_in_words(history: History, line: Line, changes: Sequence[ReleaseChange]) -> str:
    """Return the history in one sentence, the oldest first."""
    told = spans(history)
    if not told:
        return f"no release of {line.package} says anything"
    if len(told) == 1:
        said, first, last = told[0]
        of = f"{line.package} {line.versions[first]} to {line.versions[last]}"
        if said == RIGHT:
            return f"{of} are right in every release looked at"
        if first - 1 in history.unusable:
            # As a function that is wrong ever since there is one.
            return f"{of} are {said}, and {line.versions[first - 1]} gives no evidence: {history.outcomes[first - 1][-1].line}"
        return f"{of} are {said} in every release looked at: no release among them is to blame"
    parts = [f"{line.package} {line.versions[told[0][1]]} {told[0][0]}"]
    for change in changes:
        since_when = change.first if change.first == change.last else f"{change.first} to {change.last}"
        if change.probability < LEAST_PROBABILITY:
            more = f" ({change.runs_to_know} more runs would tell)" if change.runs_to_know else ""
            parts.append(f"then {change.after}, since which release is not known{more}")
        else:
            carried = f" with {', '.join(change.carriers)}" if change.carriers and change.carriers != (line.package,) else ""
            parts.append(f"{change.after} since {since_when}{carried}")
    return ", ".join(parts)

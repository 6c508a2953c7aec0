"""An audit of one framework: processes that make the calls, what is right computed beside them, findings, a verdict."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import math
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from runners.contract.arrays import read_arrays
from runners.contract.audit import frame
from runners.contract.audit.derivatives import WAYS, way_of
from runners.contract.audit.frame import Question, write_questions
from runners.contract.audit.request import OPTION, AuditRequest
from runners.contract.files import replace_text
from runners.contract.protocol.events import read_events
from vigil.audit.coverage import coverage_of
from vigil.audit.definitions import catalog
from vigil.audit.entry import COLLECTIVES, Entry
from vigil.audit.exact import Exact, exact_of
from vigil.audit.judge import (
    ABSENT,
    BITS,
    CANNOT,
    DEVICE,
    FINE,
    MOVES,
    RAISED,
    RAISES,
    REFUSED,
    UNHELD,
    WRITES,
    WRONG,
    Measured,
    apart,
    measure,
)
from vigil.audit.known import KnownCall, is_like, of_processor
from vigil.audit.limits import AuditLimits, key_of
from vigil.audit.plan import EMPTY, Trial, plan
from vigil.audit.script import on_gpu, script_of
from vigil.documents.audit import (
    Audit,
    AuditCoverage,
    AuditDerivative,
    AuditFamily,
    AuditFinding,
    AuditForm,
    AuditGap,
    AuditProcess,
)
from vigil.documents.failure import Failure
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict
from vigil.errors import CannotRun
from vigil.process.build_spec import HEARTBEAT_SECONDS
from vigil.process.environment import describe_machine
from vigil.process.side_by_side import available_cores, share_cores
from vigil.steps.processes import Ended, Started, carried_out

# As each framework is used.
USUAL_MODES = {"torch": "eager", "tensorflow": "eager", "jax": "jit"}
DIED = "died"
NOT_ANSWERED = "not answered"  # of a family, after which a failure says why
GRADIENTS = "gradients"  # what a call refuses that has none
_MOST_DEATHS = 20
_POLL_SECONDS = 0.2
_WORST_FIRST = (WRONG, DEVICE, BITS, MOVES, WRITES, DIED, RAISES)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Extent:
    """How much is audited: entries, patterns of public names, modes, precisions (empty: all), the seed of all arguments.

    threads: of every call; None: two where arguments are the largest, and one everywhere else.
    devices: over how many of them the arguments of every call are cut.
    device: where the calls are made. Many kernels of a GPU add up in any order, as several threads do: there other bits of equal
        calls are a finding where they are farther off than rounding.
    is_whole: all entries are, so that what no call reaches is told too.
    """

    entries: Sequence[Entry]
    modes: Sequence[str]
    ways: Sequence[str] = ("*",)
    is_whole: bool = False
    precisions: Sequence[str] = ()
    is_quick: bool = False
    threads: int | None = None
    device: str = "cpu"
    devices: int = 1
    seed: int = 0

    def threads_of(self, trial: Trial) -> int:
        """Return how many threads a framework has for what is tried."""
        is_plain = self.device == "cpu" and self.devices == 1
        return self.threads or (trial.threads if is_plain else 1)

    def families(self) -> dict[str, list[Entry]]:
        """Return the entries by family."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.family, []).append(entry)
        return found


class Row(NamedTuple):
    """One call of one question: what it came to."""

    trial: Trial
    question: Question
    way: str
    mode: str
    kind: str
    quantity: str | None = None
    measured: Measured | None = None
    limit: float | None = None
    message: str = ""


class _Group(NamedTuple):
    """What one process is asked: a mode, in float64 or not, threads, by family.

    part: of the families, where several are side by side.
    """

    mode: str
    is_wide: bool
    threads: int
    trials: dict[str, list[Trial]]
    part: int

    @property
    def directory(self) -> str:
        return f"{self.mode}{'-fp64' if self.is_wide else ''}{f'-{self.part + 1}' if self.part else ''}"


def audit(
    started: Started,
    extent: Extent,
    directory: Path,
    limits: AuditLimits,
    known: Sequence[KnownCall],
    *,
    command: str,
    release: NamedRelease | None = None,
    jobs: int = 1,
    cores: Sequence[int] | None = None,
    night: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Audit:
    """Audit a framework, write audit.json into the directory, and return it. An error, or Ctrl-C, ends what runs.

    Args:
        jobs: processes of the framework side by side, each with its families and its share of the cores.
        cores: those that it may use; None: all.
        night: that it is part of.
    """
    began = time.monotonic()
    known = of_processor(known, str(describe_machine()["cpu_flags"]), device=extent.device, devices=extent.devices)
    rows: list[Row] = []
    right: dict[tuple[str, str, str, str], float] = {}
    scores: dict[str, float] = {}
    lost: dict[str, list[Failure]] = {}
    processes: list[AuditProcess] = []
    scripts: dict[tuple, str] = {}
    names: Mapping[str, Any] = {}
    derived: dict[str, set[tuple[str, str]]] = {way: set() for way in WAYS}
    kinks = forms = 0
    version: str | None = None
    free: queue.SimpleQueue[Sequence[int]] = queue.SimpleQueue()
    allowed = cores or available_cores()
    for share in share_cores(allowed, jobs):
        free.put(share or allowed)
    taking = threading.Lock()  # of several groups that wait for two shares each could have one

    def carry_out(group: _Group) -> list[Ended]:
        # Threads of two processes that share their cores wait for each other most of the time.
        needed = min(jobs, -(-group.threads // max(1, len(allowed) // jobs)))
        with taking:
            shares = [free.get() for _ in range(needed)]
        try:
            own = sorted({core for share in shares for core in share})
            return _carried_out(started, extent, group, directory / group.directory, own)
        finally:
            for share in shares:
                free.put(share)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        groups = _groups(extent, is_eager=started.framework == "torch", parts=jobs)
        running = [(group, pool.submit(carry_out, group)) for group in groups]
        try:
            for group, ended in running:
                found = _judged(started, extent, group, directory / group.directory, ended, limits)
                for each, exact in found:
                    rows += each.rows
                    kinks += exact.kinks
                    forms += 1
                    version = version or _version_of(directory / group.directory)
                    _note_right(right, each, known, started.framework, version or "")
                    _note_scores(scores, each)
                    for way, call in each.derived:
                        derived[way].add(call)
                    for row in _firsts(each.rows, scripts):
                        made = _script(directory, started.framework, version, extent, row, exact, number=len(scripts))
                        scripts[_key(row)] = made or ""
                processes += (of_group := _processes(group, ended.result()))
                rows += _deaths(of_group, group)
                _note_lost(lost, of_group, group, directory / group.directory)
                names = names or _names_of(directory / group.directory)
                remove_arrays(directory / group.directory)
        except BaseException:
            started.stop.set()
            raise
    version = version or next((str(each.environment["framework_version"]) for each in processes
                               if "framework_version" in each.environment), None)  # fmt: skip
    findings = _findings(rows, extent.seed, started.framework, version or "", known, scripts)
    fixed = _fixed(known, findings, extent, started.framework, version or "", rows, lost)
    failures = [each.failure for each in processes if each.failure]
    answered = {row.way for row in rows if row.kind not in (ABSENT, CANNOT)}
    document = Audit(
        audit_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        night=night,
        framework=started.framework,
        framework_version=version,
        release=release,
        fault=PlantedFault(name=started.fault["name"], sha256=started.fault["sha256"]) if started.fault else None,
        modes=tuple(extent.modes),
        threads=extent.threads or 1,
        device=extent.device,
        devices=extent.devices,
        seed=extent.seed,
        is_quick=extent.is_quick,
        verdict=_verdict([*failures, *itertools.chain(*lost.values())], findings, fixed, rows),
        operators=len({row.trial.entry.name for row in rows if row.kind not in (ABSENT, CANNOT)}),
        ways=len(answered),
        forms=forms,
        kinks=kinks,
        findings=tuple(findings),
        fixed=tuple(fixed),
        gaps=tuple(_gaps(rows)),
        derivatives=tuple(_derivatives(derived, rows)),
        coverage=tuple(coverage_of(started.framework, names["public"], names["called"], answered=answered)) if names else (),
        worst=_worst(right, rows),
        processes=tuple(processes),
        limits=limits.facts,
        families=tuple(_families(extent, known, rows, findings, scores, lost, fixed)),
        seconds=round(time.monotonic() - began, 1),
    )
    document.write(directory)
    return document


def covered(started: Started, directory: Path) -> tuple[AuditCoverage, ...]:
    """Return what the definitions reach of what a release has, from one process that only names it.

    Raises:
        CannotRun: The process ended without.
    """
    directory.mkdir(exist_ok=True)
    request = request_of(started, mode="eager", cores=available_cores(), tells_names=True)
    ended = carried_out(started, directory, request, option=OPTION)
    if ended.failure:
        said = "".join(f"\n  | {line}" for line in ended.failure.log_tail[-6:])
        raise CannotRun(f"{started.framework}: {ended.failure.message}{said}")
    names = _names_of(directory)
    return tuple(coverage_of(started.framework, names["public"], names["called"]))


def request_of(
    started: Started,
    *,
    mode: str,
    cores: Sequence[int],
    threads: int = 1,
    families: Sequence[str] = (),
    skipped: Sequence[str] = (),
    ways: Sequence[str] = ("*",),
    tells_names: bool = False,
    is_wide: bool = False,
    device: str = "cpu",
    devices: int = 1,
) -> AuditRequest:
    """Return what one process of the framework is asked."""
    return AuditRequest(
        framework=started.framework,
        mode=mode,
        threads=threads,
        cores=tuple(cores),
        families=tuple(families),
        skipped=tuple(skipped),
        ways=tuple(ways),
        tells_names=tells_names,
        is_wide=is_wide,
        mutants=(),
        fault=started.fault,
        heartbeat_seconds=HEARTBEAT_SECONDS,
        device=device,
        devices=devices,
    )


def _groups(extent: Extent, *, is_eager: bool, parts: int) -> list[_Group]:
    """Return what each process is asked: of each mode, width and count of threads as many as run side by side, of equal size.

    Args:
        is_eager: layouts are tried, and derivatives beyond the least sizes, since nothing is traced or compiled for each.
    """
    groups = []
    for mode, is_wide in itertools.product(extent.modes, (False, True)):
        planned: dict[int, dict[str, list[Trial]]] = {}
        for family, entries in extent.families().items():
            for entry in entries:
                for trial in plan(
                    entry,
                    is_quick=extent.is_quick,
                    has_layouts=is_eager,
                    derives_largely=is_eager,
                    precisions=extent.precisions,
                    devices=extent.devices,
                ):
                    if (trial.precision == "fp64") == is_wide:
                        planned.setdefault(extent.threads_of(trial), {}).setdefault(family, []).append(trial)
        number = itertools.count()
        for threads, trials in sorted(planned.items()):
            # Processes that compute over several devices have these made as they start, which others should not see.
            apart = {family: trials.pop(family) for family in (COLLECTIVES,) if family in trials}
            # Several threads have the cores of several parts.
            side_by_side = parts if extent.threads else max(1, parts // threads)
            shares: list[dict[str, list[Trial]]] = [{} for _ in range(side_by_side)]
            for family in sorted(trials, key=lambda name: -len(trials[name])):
                least = min(shares, key=lambda share: sum(map(len, share.values())))
                least[family] = trials[family]
            groups += [_Group(mode, is_wide, threads, share, next(number)) for share in (*shares, apart) if share]
    return groups


def _carried_out(started: Started, extent: Extent, group: _Group, directory: Path, cores: Sequence[int]) -> list[Ended]:
    """Run a process to its end, and again without the operator that it died of; return how each ended."""
    directory.mkdir(parents=True)
    for family, trials in group.trials.items():
        write_questions(directory, family, [trial.question(extent.seed) for trial in trials])
    ended: list[Ended] = []
    skipped: list[str] = []
    left = list(group.trials)
    while left and len(ended) <= _MOST_DEATHS:
        request = request_of(
            started,
            mode=group.mode,
            threads=group.threads,
            cores=cores,
            families=left,
            skipped=skipped,
            ways=extent.ways,
            tells_names=extent.is_whole and not group.is_wide and group.part == 0,
            is_wide=group.is_wide,
            device=extent.device,
            devices=extent.devices,
        )
        one = carried_out(started, directory, request, option=OPTION)
        ended.append(one)
        left = [family for family in left if not answers_of(directory, family).exists()]
        if one.failure is None or one.failure.category not in ("died", "hang"):
            break
        culprit = _culprit(directory, group, skipped)
        if culprit is None:
            break
        skipped.append(culprit)
        ended[-1] = dataclasses.replace(
            one, failure=one.failure.model_copy(update={"message": f"{culprit}: {one.failure.message}"})
        )
    return ended


def answers_of(directory: Path, family: str) -> Path:
    """Return the file that is there once a family is answered."""
    return directory / f"answers-{family}.json"


def _culprit(directory: Path, group: _Group, skipped: Sequence[str]) -> str | None:
    """Return the operator that was asked when the process died: the first that was not told as done."""
    done = {event["name"].partition("/")[2] for event in read_events(directory) if event["kind"] == "probed"}
    for family, trials in group.trials.items():
        if not answers_of(directory, family).exists():
            return next((each.entry.name for each in trials if each.entry.name not in done | set(skipped)), None)
    return None


class Near(NamedTuple):
    """How far one tensor of a call is, and how far it may be. key: of limits. row: of the call, if it were wrong."""

    operator: str
    key: str
    measured: Measured
    limit: float
    row: Row


class _Judged(NamedTuple):
    """What a question came to. derived: by way, the public calls that were asked for such a derivative."""

    rows: list[Row]
    measured: list[Near]
    derived: list[tuple[str, tuple[str, str]]]


def _judged(
    started: Started, extent: Extent, group: _Group, directory: Path, ended: Future, limits: AuditLimits
) -> Iterator[tuple[_Judged, Exact]]:
    """Yield what each question came to, as soon as its family is answered; what is right is computed meanwhile."""
    total, done = sum(len(trials) for trials in group.trials.values()), 0
    for family, trials in group.trials.items():
        exact = []
        for trial in trials:
            question = trial.question(extent.seed)
            exact.append((trial, question, exact_of(trial, question, extent.seed)))
            done += 1
            started.progress(f"{group.directory}: what is right", done, total)
        while not answers_of(directory, family).exists() and not ended.done():
            time.sleep(_POLL_SECONDS)
        if ended.done():
            ended.result()
        if not answers_of(directory, family).exists():
            continue
        answers = read_answers(directory, family)
        for trial, question, right in exact:
            judged = _Judged([], [], [])
            for told, arrays in answers.get(question.id, []):
                more, measured = rows_of(
                    trial, question, right, told, arrays, group.mode, limits,
                    in_any_order=extent.device == "gpu" or group.threads > 1,
                )  # fmt: skip
                judged.rows.extend(more)
                judged.measured.extend(measured)
                asked = [way for key in ("derived", REFUSED, RAISED) for way in told.get(key, ())]
                judged.derived.extend((way, (trial.entry.name, told["way"])) for way in asked)
            yield judged, right


def read_answers(directory: Path, family: str) -> dict[str, list[tuple[dict[str, Any], dict[str, np.ndarray]]]]:
    """Return the answers of a family by question: what was told of each call, and its arrays."""
    told = json.loads(answers_of(directory, family).read_text(encoding="utf-8"))
    arrays: list[dict[str, np.ndarray]] = [{} for _ in told]
    for name, array in read_arrays(directory / f"answers-{family}.npz").items():
        place, _, rest = name.partition("/")
        arrays[int(place)][rest] = array
    found: dict[str, list[tuple[dict[str, Any], dict[str, np.ndarray]]]] = {}
    for row, each in zip(told, arrays, strict=True):
        found.setdefault(row["question"], []).append((row, each))
    return found


def rows_of(
    trial: Trial,
    question: Question,
    exact: Exact,
    told: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    mode: str,
    limits: AuditLimits,
    *,
    in_any_order: bool = False,
) -> tuple[list[Row], list[Near]]:
    """Return what one answer came to: a row for each thing that is wrong with it, or one that says there is none.

    in_any_order: sums may be added up in another order by each call, as by several threads, so that other bits are no finding
    unless they are farther off than rounding.
    """
    base = Row(trial, question, told["way"], mode, FINE)
    if told["status"] != frame.ANSWERED:
        # Whoever takes no empty arrays says so by an error.
        kind = CANNOT if trial.values == EMPTY and told["status"] == RAISES else told["status"]
        return [base._replace(kind=kind, message=told["message"])], []
    rows = _of_other_bits(base, exact, told, arrays, limits) if told["other_bits"] else []
    if in_any_order:
        rows = [row for row in rows if row.measured and row.limit is not None and not row.measured.ratio <= row.limit]
    rows += [
        base._replace(kind=WRITES, quantity=name, message=f"the call changes its argument {name}") for name in told["changed"]
    ]
    rows += [base._replace(kind=MOVES, quantity=name, message="what a call gave changes when it is called again")
             for name in told["moved"]]  # fmt: skip
    for name in told.get("elsewhere", ()):
        distance, limit = apart(exact, arrays, name), limits.of(trial.entry.name, name, question.precision)
        if not distance.ratio <= limit:
            said = distance.problem or "a default device that is set changes what the call gives"
            rows.append(base._replace(kind=DEVICE, quantity=name, measured=distance, limit=limit, message=said))
    if told.get("elsewhere_raises"):
        rows.append(base._replace(kind=RAISES, message=f"within a default device: {told['elsewhere_raises']}"))
    for kind in (REFUSED, RAISED):
        rows += [base._replace(kind=kind, quantity=way, message=f"{way}: {said}") for way, said in told.get(kind, {}).items()]
    if told.get("no_gradient"):
        rows.append(base._replace(kind=REFUSED, quantity=GRADIENTS, message=f"{GRADIENTS}: {told['no_gradient']}"))
        exact = exact.without_gradients()
    rows += [
        base._replace(kind=UNHELD, quantity=f"outputs/{place}", message=f"outputs/{place}: no element is held to anything")
        for place, held in enumerate(exact.outputs)
        if held.where.size and not held.where.any() and trial.values != EMPTY
    ]
    if trial.values == EMPTY and not any(held.values.size for held in exact.outputs):
        # Weights that made nothing have a gradient of 0. NaN is no news where a mean or norm of nothing stands between.
        arrays = {
            name: np.where(np.isnan(each), 0.0, each) if name.startswith("gradients/") else each for name, each in arrays.items()
        }
    near = []
    for quantity, measured in measure(question, exact, arrays, ways=told.get("derived", ())).items():
        limit = limits.of(trial.entry.name, quantity, question.precision)
        wrong = base._replace(kind=WRONG, quantity=quantity, measured=measured, limit=limit, message=measured.problem)
        if not measured.ratio <= limit:
            rows.append(wrong)
        near.append(Near(trial.entry.name, key_of(quantity, question.precision), measured, limit, wrong))
    return rows or [base], near


def _of_other_bits(
    base: Row, exact: Exact, told: Mapping[str, Any], arrays: Mapping[str, np.ndarray], limits: AuditLimits
) -> list[Row]:
    """Return a row for each tensor that had other bits in a later call, with how far those are from what is right.

    What a call gives beside what is defined has no distance.
    """
    rows = []
    distances = measure(base.question, exact, {name: arrays[f"{frame.AGAIN}{name}"] for name in told["other_bits"]}, ways=())
    for name, (first, count) in told["other_bits"].items():
        said = f"{count} of {told['calls']} calls with the same arguments gave other bits, the first of them call {first}"
        limit = limits.of(base.trial.entry.name, name, base.question.precision)
        measured = distances.get(name, Measured(0.0))
        rows.append(base._replace(kind=BITS, quantity=name, measured=measured, limit=limit, message=said))
    return rows


def _note_right(
    right: dict[tuple[str, str, str, str], float], judged: _Judged, known: Sequence[KnownCall], framework: str, release: str
) -> None:
    """Note by operator, key, public name and precision how far what is within its limit is, and is no known finding."""
    operators = {each.operator for each in judged.measured}  # one; of its known findings there are few
    known = [each for each in known if any(is_like(operator, each.operators) for operator in operators)]
    for operator, key, measured, limit, row in judged.measured:
        if measured.ratio <= limit and _explained(row, known, framework, release) is None:
            of = operator, key, row.way, row.question.precision
            right[of] = max(right.get(of, 0.0), round(measured.ratio, 3))


def _worst(right: Mapping[tuple[str, str, str, str], float], rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return how far the farthest call was of those that are right; one that is wrong for some arguments is for none."""
    wrong = {(row.trial.entry.name, row.way, row.question.precision) for row in rows if row.kind == WRONG}
    worst: dict[str, dict[str, float]] = {}
    for (operator, key, way, precision), ratio in right.items():
        if (operator, way, precision) not in wrong:
            of = worst.setdefault(operator, {})
            of[key] = max(of.get(key, 0.0), ratio)
    return worst


def _note_scores(scores: dict[str, float], judged: _Judged) -> None:
    """Note by operator how far the farthest call was of all, in limits."""
    for operator, _, measured, limit, _ in judged.measured:
        score = measured.ratio / limit if limit > 0.0 else math.inf
        scores[operator] = max(scores.get(operator, 0.0), math.inf if math.isnan(score) else score)


def _note_lost(lost: dict[str, list[Failure]], processes: Sequence[AuditProcess], group: _Group, directory: Path) -> None:
    """Note by family what failed in it: a process that died of one of its operators, or ended before it was answered."""
    failures = [each.failure for each in processes if each.failure]
    for family, trials in group.trials.items():
        names = {trial.entry.name for trial in trials}
        own = [each for each in failures if each.message.partition(": ")[0] in names]
        if not answers_of(directory, family).exists() and failures:
            last = failures[-1]
            own.append(last.model_copy(update={"message": f"{family}: {NOT_ANSWERED}: {last.message}"}))
        if own:
            lost.setdefault(family, []).extend(own)


def _key(row: Row) -> tuple:
    family = (row.quantity or "").partition("/")[0]
    return row.trial.entry.name, row.way, row.mode, row.kind, family, row.question.precision


def _firsts(rows: Sequence[Row], scripts: Mapping[tuple, str]) -> list[Row]:
    """Return the wrong rows that are the first of their key: the smallest, since small ones are asked first."""
    seen, found = set(scripts), []
    for row in rows:
        if row.kind in (WRONG, BITS) and _key(row) not in seen:
            seen.add(_key(row))
            found.append(row)
    return found


def _script(
    directory: Path, framework: str, version: str | None, extent: Extent, row: Row, exact: Exact, *, number: int
) -> str | None:
    assert row.quantity is not None
    assert row.measured is not None
    text = script_of(
        framework=framework, framework_version=version, family=row.trial.entry.family, way=row.way, mode=row.mode,
        question=row.question, exact=exact, quantity=row.quantity, measured=row.measured, devices=extent.devices,
        threads=extent.threads_of(row.trial), has_other_bits=row.kind == BITS,
    )  # fmt: skip
    if text is None:
        return None
    if extent.device == "gpu":
        text = on_gpu(text, framework)
    name = f"finding-{number + 1}-{row.trial.entry.name}.py"
    replace_text(directory / name, text)
    return name


def _version_of(directory: Path) -> str | None:
    return next((str(event["environment"]["framework_version"]) for event in read_events(directory)
                 if event["kind"] == "environment"), None)  # fmt: skip


def _names_of(directory: Path) -> dict[str, Any]:
    path = directory / frame.NAMES
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def remove_arrays(directory: Path) -> None:
    """Remove what can be made again from the seed, and takes hundreds of megabytes."""
    for pattern in ("questions-*", "answers-*", "part-*"):
        for path in directory.glob(pattern):
            path.unlink()


def _processes(group: _Group, ended: Sequence[Ended]) -> list[AuditProcess]:
    return [
        AuditProcess(
            mode=group.mode,
            is_wide=group.is_wide,
            threads=group.threads,
            families=tuple(group.trials),
            failure=each.failure,
            environment=each.environment,
            directory=group.directory,
            seconds=each.seconds,
        )
        for each in ended
    ]


def _deaths(processes: Sequence[AuditProcess], group: _Group) -> list[Row]:
    """Return a row for each operator that a process died of."""
    rows = []
    for process in processes:
        name, parted, _ = (process.failure.message if process.failure else "").partition(": ")
        trial = next((each for trials in group.trials.values() for each in trials if parted and each.entry.name == name), None)
        if trial and process.failure:
            question = Question(trial.id, trial.entry.name, dict(trial.parameters), {}, (), (), (), trial.precision, trial.layout)
            rows.append(Row(trial, question, "", group.mode, DIED, message=process.failure.message))
    return rows


def _findings(
    rows: Sequence[Row],
    seed: int,
    framework: str,
    release: str,
    known: Sequence[KnownCall],
    scripts: Mapping[tuple, str],
) -> list[AuditFinding]:
    """Return what is wrong, the worst first: each call, kind, family of tensors and precision once.

    Of what several known findings explain, and of what none does, each is told by itself.
    """
    tried = collections.Counter((row.trial.entry.name, row.way, row.mode, row.question.precision, row.trial.id) for row in rows)
    forms = collections.Counter(key[:4] for key in tried)
    shown: dict[tuple, list[Row]] = {}
    firsts: dict[tuple, str | None] = {}  # by what the row is explained that the script of a key shows
    for row in rows:
        if row.kind in _WORST_FIRST:
            name = _explained(row, known, framework, release)
            firsts.setdefault(_key(row), name)
            shown.setdefault((*_key(row), name), []).append(row)
    found = []
    for (*key, explained), group in shown.items():
        first = min(group, key=lambda row: row.trial.number)
        farthest = max((row.measured.ratio for row in group if row.measured), default=None)
        measured = first.measured
        found.append(
            AuditFinding(
                operator=first.trial.entry.name,
                way=first.way or None,
                mode=first.mode,
                kind=first.kind,
                quantity=first.quantity,
                precision=first.question.precision,
                count=len({row.trial.id for row in group}),
                of=max(forms[first.trial.entry.name, first.way, first.mode, first.question.precision], 1),
                smallest=AuditForm(
                    sizes=dict(first.trial.sizes),
                    parameters=dict(first.trial.parameters),
                    precision=first.trial.precision,
                    layout=first.trial.layout,
                    values=first.trial.values,
                    seed=seed,
                ),
                ratio=farthest,
                limit=first.limit,
                index=measured.place if measured else (),
                got=measured.got if measured and not math.isnan(measured.got) else None,
                expected=measured.expected if measured and not math.isnan(measured.expected) else None,
                problem=first.message,
                known=explained,
                script=(scripts.get(tuple(key)) or None) if firsts[tuple(key)] == explained else None,
            )
        )

    def rank(each: AuditFinding) -> tuple[int, float, str, str, str]:
        beyond = each.ratio / each.limit if each.ratio is not None and each.limit else 0.0
        return _WORST_FIRST.index(each.kind), -beyond, each.operator, each.way or "", each.precision

    return sorted(found, key=rank)


def _explained(row: Row, known: Sequence[KnownCall], framework: str, release: str) -> str | None:
    """Return the known finding that a row is one of."""
    for each in known:
        if each.covers(framework=framework, release=release, mode=row.mode) and each.explains(
            operator=row.trial.entry.name, way=row.way, kind=row.kind, quantity=row.quantity,
            precision=row.question.precision, ratio=row.measured.ratio if row.measured else None, form=row.trial.form,
        ):  # fmt: skip
            return each.name
    return None


def _fixed(
    known: Sequence[KnownCall],
    findings: Sequence[AuditFinding],
    extent: Extent,
    framework: str,
    release: str,
    rows: Sequence[Row],
    lost: Mapping[str, Sequence[Failure]],
) -> list[str]:
    """Return the known findings that this audit asked for and did not see. A quick one, or one of few precisions, asks less."""
    if extent.is_quick or extent.precisions:
        return []
    seen = {each.known for each in findings}
    unanswered = _unanswered(extent, lost)
    missing = []
    for each in known:
        # What is wrong on one device may not be asked in the same way on several, and how much accuracy is lost depends on
        # arguments: with another seed it may be within limits. Memory that nobody wrote may hold what is right.
        varies = math.isfinite(each.most) or {WRONG, BITS} <= set(each.kinds)
        if extent.devices not in each.counts or varies or each.name in seen:
            continue
        modes = {mode for mode in extent.modes if each.covers(framework=framework, release=release, mode=mode)}
        if modes and _was_asked(each, extent, [row for row in rows if row.mode in modes], unanswered):
            missing.append(each.name)
    return missing


def _was_asked(known: KnownCall, extent: Extent, rows: Sequence[Row], unanswered: Collection[str]) -> bool:
    """Did every call that a known finding is of give an answer, as far as the release has it?

    Args:
        rows: of the modes that it is of.
        unanswered: operators that a process did not come to the end of.
    """
    operators = {name for name in catalog() if is_like(name, known.operators)}
    operators |= {entry.name for entry in extent.entries if is_like(entry.name, known.operators)}
    if not operators <= {entry.name for entry in extent.entries} - set(unanswered):
        return False
    # A pattern of calls is asked for whole where it is itself like one that was asked for.
    if not all(is_like(pattern, extent.ways) for pattern in known.ways):
        return False
    called, answered = set(), set()
    for row in rows:
        call = row.trial.entry.name, row.way
        if row.kind != ABSENT and known.names(*call):
            called.add(call)
            is_answer = row.kind not in (CANNOT, RAISES, UNHELD) and (row.kind, row.quantity) != (REFUSED, GRADIENTS)
            if is_answer and is_like(row.question.precision, known.precisions):
                answered.add(call)
    return bool(called) and called == answered


def _unanswered(extent: Extent, lost: Mapping[str, Sequence[Failure]]) -> set[str]:
    """Return the operators that a process died of, and those of families that it ended before."""
    named = {each.message.partition(": ")[0] for failures in lost.values() for each in failures}
    ended = {family for family, failures in lost.items() for each in failures if _is_unanswered(each, family)}
    return {entry.name for entry in extent.entries if entry.name in named or entry.family in ended}


def _is_unanswered(failure: Failure, family: str) -> bool:
    return failure.message.startswith(f"{family}: {NOT_ANSWERED}: ")


def _gaps(rows: Sequence[Row]) -> Iterator[AuditGap]:
    counts: collections.Counter = collections.Counter()
    for row in rows:
        if row.kind in (ABSENT, CANNOT, REFUSED, RAISED, UNHELD):
            counts[row.trial.entry.name, row.way, row.mode, row.kind, row.message] += 1
    for (operator, way, mode, status, message), count in sorted(counts.items()):
        yield AuditGap(operator=operator, way=way, mode=mode, status=status, count=count, message=message)


def _families(
    extent: Extent,
    known: Sequence[KnownCall],
    rows: Sequence[Row],
    findings: Sequence[AuditFinding],
    scores: Mapping[str, float],
    lost: Mapping[str, Sequence[Failure]],
    fixed: Sequence[str],
) -> Iterator[AuditFamily]:
    """Yield each family by itself, with the verdict that it would have alone; those that nothing was asked of are left out."""
    for family, entries in extent.families().items():
        names = {entry.name for entry in entries}
        own, failures = [row for row in rows if row.trial.entry.name in names], lost.get(family, ())
        if not own and not failures:
            continue
        found = [each for each in findings if each.operator in names]
        # What is known may be of calls of several families: it is fixed where no family shows it.
        calls = {(row.trial.entry.name, row.way) for row in own}
        of_family = [each.name for each in known if each.name in fixed and any(each.names(*call) for call in calls)]
        yield AuditFamily(
            name=family,
            operators=tuple(sorted({row.trial.entry.name for row in own})),
            ways=len({row.way for row in own if row.kind not in (ABSENT, CANNOT)}),
            forms=len({(row.mode, row.trial.id) for row in own}),
            worst_score=max((scores[name] for name in names & scores.keys()), default=None),
            verdict=_verdict(failures, found, of_family, own),
        )


def _derivatives(derived: Mapping[str, set[tuple[str, str]]], rows: Sequence[Row]) -> Iterator[AuditDerivative]:
    """Yield what was asked of each way of deriving, and how many calls refused, raised an error, or gave a wrong number."""
    calls: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for row in rows:
        way = (way_of(row.quantity or "") if row.kind == WRONG else row.quantity) or ""
        if row.kind in (WRONG, REFUSED, RAISED) and way in derived:
            calls.setdefault((way, row.kind), set()).add((row.trial.entry.name, row.way))
    for way, asked in derived.items():
        if asked:
            refused, raised, wrong = (len(calls.get((way, kind), ())) for kind in (REFUSED, RAISED, WRONG))
            yield AuditDerivative(way=way, calls=len(asked), refused=refused, raised=raised, wrong=wrong)


def _is_known_death(failure: Failure, findings: Sequence[AuditFinding]) -> bool:
    """Did a process die of an operator of which that is known? Others have answered in processes after it."""
    deaths = [each for each in findings if each.kind == DIED and each.problem == failure.message]
    return bool(deaths) and all(each.known for each in deaths)


def _verdict(
    failures: Sequence[Failure], findings: Sequence[AuditFinding], fixed: Sequence[str], rows: Sequence[Row]
) -> StepVerdict:
    new = [each for each in findings if each.known is None]
    wrong = [each for each in new if each.kind in (WRONG, DEVICE, BITS, MOVES, WRITES)]
    failure = next((each for each in failures if not _is_known_death(each, findings)), None)
    calls = len({row.way for row in rows if row.kind not in (ABSENT, CANNOT)})
    if wrong:
        ways = len({each.way for each in wrong})
        return StepVerdict(name=Verdict.REGRESSED, reason=f"{ways} of {calls:,} public calls compute what they should not")
    if failure:
        return StepVerdict(name=failure.verdict, reason=failure.message, failure=failure)
    if fixed:
        names = ", ".join(fixed)
        return StepVerdict(
            name=Verdict.REGRESSED,
            reason=f"known finding {names} no longer shows: remove it from reference_results/audit/known_findings.yaml",
        )
    if new:
        return StepVerdict(name=Verdict.FAILED_CRASH, reason=f"{len({each.way for each in new})} public calls raise an error")
    if not calls:
        return StepVerdict(name=Verdict.UNKNOWN, reason="no call of this framework was made: nothing was held to anything")
    if findings:
        names = ", ".join(sorted({each.known for each in findings if each.known}))
        return StepVerdict(name=Verdict.KNOWN_FINDING, reason=f"{calls:,} public calls; all that is wrong is known: {names}")
    return StepVerdict(name=Verdict.REPRODUCED, reason=f"{calls:,} public calls compute what they should")

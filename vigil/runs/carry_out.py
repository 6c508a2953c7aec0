"""One command's runs, planned by `vigil.runs.plan`: run one by one, judged, written down, tracked.

An invocation directory holds invocation.json and one run directory a seed. Everything needed to go on after an
interruption is in it, so `vigil resume` continues by the same path. Whoever works on an `Invocation` holds the current one in a
local, makes the next one by `replace`, and writes it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from runners.contract.protocol.checkpoint import CHECKPOINT
from runners.contract.protocol.events import read_events
from vigil import tracking
from vigil.documents.document import DocumentError
from vigil.documents.failure import Failure
from vigil.documents.invocation import FirstRung, Invocation
from vigil.documents.judgement import NOT_JUDGED, Judgement, Metric, SeedValue
from vigil.documents.record import Record
from vigil.documents.verdict import Verdict
from vigil.documents.verification import StepVerdict, Verification
from vigil.errors import CannotRun, EnvironmentFailed, UsageError
from vigil.failures.past import past_tries
from vigil.failures.triage import Evidence, triage
from vigil.paths import reference_directory, runs_directory
from vigil.process.directories import alone_in
from vigil.process.execute import execute
from vigil.process.planted import with_mark
from vigil.process.recording import make_record, read_record, require_whole, spec_of
from vigil.references.exact import judge_runs
from vigil.references.judge import failed
from vigil.references.samples import load_samples
from vigil.releases.recorded import interpreter
from vigil.runs.first_rung import DIRECTORY, verify_first, with_first_rung
from vigil.runs.plan import run_names
from vigil.runs.until_decided import note_evidence
from vigil.runs.watch import Watch


@dataclasses.dataclass(frozen=True)
class Interruption:
    """Where Ctrl-C, or the watch's `stop`, ended an invocation."""

    phase: str
    step: int


@dataclasses.dataclass(frozen=True)
class CarriedOut:
    """An invocation as far as it was carried out. With an interruption it has no verdict, and can be resumed."""

    invocation: Invocation
    interruption: Interruption | None = None


def carry_out(directory: Path, *, watch: Watch) -> CarriedOut:
    """Run what is not finished yet, judge, track, and return the invocation with its verdict.

    After Ctrl-C the remaining seeds are not started.

    Raises:
        CannotRun: Another process is at work in this directory.
    """
    return carry_out_in_turn([directory], watch=watch)[0]


def carry_out_in_turn(directories: Sequence[Path], *, watch: Watch) -> list[CarriedOut]:
    """Carry out several invocations, one seed of each in turn: broken off, what is there are runs of the same seeds.

    Returns each in the order given. After Ctrl-C none of them goes on.

    Raises:
        CannotRun: Another process is at work in one of the directories.
    """
    with contextlib.ExitStack() as stack:
        for directory in directories:
            stack.enter_context(alone_in(directory))
        work = {directory: stack.enter_context(contextlib.closing(_work(directory, watch=watch))) for directory in directories}
        ended: dict[Path, CarriedOut] = {}
        interruption = None
        for directory in itertools.cycle(directories):
            if len(ended) == len(directories) or interruption:
                break
            if directory in ended:
                continue
            try:
                next(work[directory])
            except StopIteration as end:
                ended[directory] = end.value
                interruption = ended[directory].interruption
        # Those that were stopped by what stopped another one are interrupted by the same.
        return [ended.get(directory) or CarriedOut(read_invocation(directory), interruption) for directory in directories]


def _work(directory: Path, *, watch: Watch) -> Generator[None, None, CarriedOut]:
    """Carry out one invocation, pausing after the verification and after each run; return it."""
    invocation = with_mark(directory, read_invocation(directory))
    if invocation.verdict and invocation.verdict.name is Verdict.FAILED_ENVIRONMENT:
        invocation = invocation.replace(runs=run_names(invocation.seeds))
        if invocation.verify and invocation.verify.name is Verdict.FAILED_ENVIRONMENT:
            invocation = invocation.replace(verify=FirstRung.pending())
    if is_run(directory, invocation):  # an environment that is gone must not take its verdict with it
        return (yield from _carry_out(directory, invocation, watch=watch, python=None))
    try:
        with interpreter(invocation.release, tell=watch.on_build) as (python, release):
            return (yield from _carry_out(directory, invocation.replace(release=release), watch=watch, python=python))
    except EnvironmentFailed as error:
        return CarriedOut(give_up(directory, error))


def is_run(directory: Path, invocation: Invocation) -> bool:
    """Has every run finished, so that judging is all that is left?"""
    records = [read_record(directory / name) for name in invocation.runs]
    return not invocation.is_to_be_verified and all(record and record.status == "finished" for record in records)


def _carry_out(
    directory: Path, invocation: Invocation, *, watch: Watch, python: Path | None
) -> Generator[None, None, CarriedOut]:
    if invocation.is_to_be_verified:
        rung = verify_first(directory, invocation, watch=watch, python=python)
        if rung.name is Verdict.FAILED_INTERRUPTED:
            return _interrupted(invocation, rung.failure)
        invocation = invocation.replace(verify=rung)
        invocation.write(directory)
        yield
    # What is damaged is refused before a run is trained.
    load_samples(reference_directory(invocation.source), invocation.recipe.name)
    records: list[Record] = []
    for index, name in enumerate(invocation.runs):
        record, ending = read_record(directory / name), None
        if record is not None and record.status == "finished":
            record.require_files(directory / name)
        else:
            require_whole(directory / name)
            # It is of the attempt before: a kill of this one must not leave it beside events that it was not made of.
            (directory / name / Record.FILE_NAME).unlink(missing_ok=True)
            if invocation.verdict:  # a resumed one: what it said no longer holds
                invocation = invocation.replace(verdict=None)
                invocation.write(directory)
            watch.on_start(spec_of(directory / name), index, len(invocation.runs))
            ending = execute(
                directory / name,
                invocation.context.framework,
                on_event=_as_begun(directory / name, records, hear=watch.on_event),
                heartbeat_timeout=watch.heartbeat_timeout,
                progress_timeout=watch.progress_timeout,
                stop=watch.stop,
                python=python,
            )
            record = make_record(
                directory / name,
                invocation_id=invocation.invocation_id,
                context=invocation.context,
                ending=ending,
                verify=invocation.verify,
            )
            watch.on_end(record)
            watch.on_recorded(directory / name)
        records.append(record)
        if record.status == "interrupted":
            return _interrupted(invocation, record.failure)
        if ending and ending.is_interrupted and name != invocation.runs[-1]:
            return CarriedOut(invocation, Interruption("finish", len(record.losses)))
        if record.status == "unsupported":
            invocation = invocation.replace(runs=invocation.runs[: len(records)])  # another seed would be refused alike
            break
        invocation, is_over = note_evidence(directory, invocation, records, judge_records)
        if is_over:
            break
        yield
    invocation = invocation.replace(
        verdict=with_first_rung(judge_records(invocation, records), invocation.verify),
        wall_seconds=round(sum(record.timing.wall_seconds for record in records), 1),
        tracking=None,  # of an earlier verdict: `vigil sync` would pass over this one
    )
    invocation.write(directory)
    return CarriedOut(track(directory))


def _as_begun(run: Path, records: Sequence[Record], *, hear: Callable[[dict], None]) -> Callable[[dict], None]:
    """Return what hears a run's events, and raises CannotRun where release or data are others than of what it goes on from.

    That are the first rung, the runs that have finished, which it is judged with, and its own checkpoint. A framework may be
    replaced in between, and the verdict would be of the newer one alone.
    """
    finished = [record for record in records if record.status == "finished"]
    made = [{"environment": each.environment.get("framework_version"), "data": each.data.checksum} for each in finished]
    made += _of_checkpoint(run)
    rung = run.parent / DIRECTORY
    if (rung / Verification.FILE_NAME).is_file():
        made.append({"environment": Verification.read(rung).environment.get("framework_version")})

    def on_event(event: dict) -> None:
        found = _release_or_data(event)
        others = {each.get(event["kind"]) for each in made} - {found, None}
        if found and others:
            what, was = "release" if event["kind"] == "environment" else "data", " and ".join(sorted(map(str, others)))
            raise CannotRun(
                f"{run}: found {what} {found}, but what these runs go on from was made with {was}. Go on with what it was made "
                "with, or start a new invocation."
            )
        hear(event)

    return on_event


def _of_checkpoint(run: Path) -> list[dict[str, Any]]:
    """Return the release and the data, by kind of event, of each attempt that a run's checkpoint rests on; none without one."""
    made: list[dict[str, Any]] = []
    seen, is_anew = dict[str, Any](), True
    for event in read_events(run) if (run / CHECKPOINT).exists() else ():
        if event["kind"] == "started":
            seen, is_anew = {}, True
        elif event["kind"] == "resumed":
            is_anew = False
        elif event["kind"] == "checkpointed":
            made = [seen] if is_anew else [*made, seen]
        elif found := _release_or_data(event):
            seen[event["kind"]] = found
    return made


def _release_or_data(event: dict) -> str | None:
    if event["kind"] == "environment":
        return event["environment"].get("framework_version")
    return event["checksum"] if event["kind"] == "data" else None


def _interrupted(invocation: Invocation, failure: Failure | None) -> CarriedOut:
    return CarriedOut(invocation, Interruption(failure.phase, failure.step) if failure else Interruption("start", 0))


def give_up(directory: Path, error: EnvironmentFailed) -> Invocation:
    """Write down, and track, that there is no environment for an invocation's release; return the invocation."""
    invocation = read_invocation(directory)
    names = run_names(invocation.seeds)
    metric = Metric.of(spec_of(directory / names[0]).training)
    said = Evidence([*error.log_tail, error.reason], said="environment", message=error.reason)
    failure = Failure(
        category="environment",
        phase="start",
        step=0,
        message=error.reason,
        log_tail=tuple(error.log_tail),
        triage=triage(said, past_tries(runs_directory())),
    )
    if invocation.is_to_be_verified:
        unverified = FirstRung.not_climbed(StepVerdict(name=failure.verdict, reason=error.reason))
        invocation = invocation.replace(verify=unverified)
    invocation = invocation.replace(
        verdict=failed(failure, metric=metric, seed=invocation.seeds[0], values=()),
        wall_seconds=0.0,
        tracking=None,
        runs=tuple(name for name in names if read_record(directory / name)),  # the others never began
    )
    invocation.write(directory)
    return track(directory)


def judge_records(invocation: Invocation, records: Sequence[Record]) -> Judgement:
    """Return the verdict of an invocation: a failed or refused run decides it, whatever the others reached."""
    for record in records:
        if record.failure:
            values = [
                SeedValue(seed=other.seed, value=other.metric.value, verdict=NOT_JUDGED)
                for other in records
                if other.status == "finished"
            ]
            return failed(record.failure, metric=record.metric, seed=record.seed, values=values)
    first, samples = records[0], load_samples(reference_directory(invocation.source), invocation.recipe.name)
    judged = judge_runs(
        [(record.seed, record.metric.value) for record in records],
        metrics={record.seed: record.curve[-1].metrics for record in records if record.curve},
        rows=samples.standing,
        source=invocation.source,
        recipe=invocation.recipe,
        metric=first.metric,
        checksum=first.data.checksum,
        n_test=first.data.n_test,
        context=invocation.context,
        targets=invocation.targets,
        sequential=invocation.sequential,
        environment=first.environment,
    )
    return judged.replace(reference=dict(samples.digests) or None)


def track(directory: Path) -> Invocation:
    """Upload to MLflow, or note that it could not be reached; return the invocation with what became of it."""
    tracking.upload_or_note(directory)
    return read_invocation(directory)


def read_invocation(directory: Path) -> Invocation:
    """Return invocation.json. Raises UsageError when this is no invocation directory, CannotRun when it was altered."""
    try:
        return Invocation.read(directory)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(
            f"{directory}: holds no {Invocation.FILE_NAME}. Give an invocation directory, or a run directory inside one."
        ) from error
    except DocumentError as error:
        raise CannotRun(f"{str(error).rstrip('.')}. Start a new invocation.") from error

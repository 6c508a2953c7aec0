"""`vigil reference add`: verify each context, measure raw samples there, and append them to reference_results/."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from reports.run_pictures import draw_pictures
from reports.verification_picture import draw_picture
from runners.contract.kinds.table import kind_of
from vigil.cli import options
from vigil.cli.answers import AddAnswer, AdmittedContext
from vigil.cli.preflight import before_long_runs
from vigil.data.official import ensure_data
from vigil.documents.context import Context, make_context
from vigil.documents.invocation import Invocation
from vigil.documents.judgement import shown
from vigil.documents.record import Record
from vigil.documents.reference_row import VerificationNote
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED
from vigil.paths import reference_directory, runs_directory
from vigil.process.environment import require_framework
from vigil.progress import RunDisplay, duration
from vigil.recipes.loading import Recipe, identity_of, load_recipe
from vigil.references.admission import row_from_record
from vigil.references.samples import append_rows, load_rows
from vigil.releases.recorded import interpreter
from vigil.releases.resolve import is_same_version
from vigil.releases.store import obtain
from vigil.runs.gate import GateAnswer, examine_contexts
from vigil.runs.plan import Request
from vigil.runs.sweep import sweep
from vigil.tracking import upload_or_note

# Far from 0, where a user's seeds begin: a run should not be judged by its own seed.
_FIRST_SEED = 1000
# A context that is wrong is worse than one that could not be looked at.
_WORST_FIRST = (EXIT_OUTSIDE, EXIT_COULD_NOT_RUN)


def add_parser(actions: argparse._SubParsersAction) -> None:
    """Add the action to the verb."""
    parser = actions.add_parser(
        "add",
        help="verify, then measure raw samples and append them",
        epilog="exit codes: 0 all measured, 1 a context was refused because verify finds it wrong, 2 wrong usage, "
        "3 refused because it could not be verified, or a run failed",
    )
    options.add_recipe(parser)
    parser.add_argument("--framework", metavar="A,B", help="default: that of --release, or every installed one")
    options.add_release(parser)
    parser.add_argument("--mode", default="jit", help="the mode that is measured (default: jit)")
    parser.add_argument("--device", default="cpu", help="cpu or gpu (default: cpu)")
    options.add_seeds(parser, count=10, first=_FIRST_SEED)
    parser.add_argument("--jobs", default="1", metavar="N", help="runs side by side, each on its share of the cores (default: 1)")
    options.add_json(parser)
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure what is missing where verify finds nothing wrong, append it row by row, and say what was refused or failed."""
    recipe = load_recipe(arguments.recipe)
    recipe.profile(arguments.profile)
    release = options.release_of_context(arguments)
    frameworks = options.frameworks_from(arguments)
    contexts = [make_context(framework=name, mode=arguments.mode, device=arguments.device) for name in frameworks]
    seeds = options.seeds_from(arguments)
    jobs = options.whole_number("--jobs", arguments.jobs, least=1)
    progress_timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    for name in frameworks if release is None else ():
        require_framework(name)
    say = RunDisplay().say
    resolved = obtain(release, tell=say) if release else None
    training = recipe.resolve(arguments.profile)
    data_directory = ensure_data(training, progress=RunDisplay().data)
    data = kind_of(training).load(training["data"], None if data_directory is None else str(data_directory))
    have = _samples(recipe, arguments.profile, checksum=data.checksum, version=resolved.version if resolved else None)
    missing = [(seed, context) for seed in seeds for context in contexts if (context.text, seed) not in have]
    print(f"{len(missing)} runs to measure, {len(have)} samples of this recipe and profile are there already", flush=True)
    with interpreter(resolved.named if resolved else None, tell=say) as (python, named):
        gated = examine_contexts(
            recipe,
            arguments.profile,
            [context for context in contexts if any(context == each for _, each in missing)],
            runs_directory(),
            command=arguments.command,
            data_directory=data_directory,
            jobs=jobs,
            progress_timeout=progress_timeout,
            on_end=_tell_and_keep,
            release=named,
            python=python,
        )
    notes = {gate.context: gate.note for gate in gated if gate.note}
    requests = [
        Request(recipe, arguments.recipe, arguments.profile, context, (seed,), None, arguments.command, release=resolved)
        for seed, context in missing
        if context in notes
    ]
    own = [[each for each in requests if each.context == context] for context in notes]
    several = [dataclasses.replace(some[0], seeds=tuple(each.seeds[0] for each in some)) for some in own if some]
    before_long_runs(several, say, folders=[reference_directory(recipe.source)])
    added, failed = _measure(recipe, requests, notes, jobs=jobs, progress_timeout=progress_timeout)
    for directory in failed:
        print(f"not measured: {directory}")
    codes = {gate.exit_code for gate in gated} | ({EXIT_COULD_NOT_RUN} if failed else set())
    code = next((code for code in _WORST_FIRST if code in codes), EXIT_REPRODUCED)
    answer = AddAnswer(
        exit_code=code,
        recipe=identity_of(recipe, arguments.profile),
        there=len(have),
        contexts=[_admitted(gate) for gate in gated],
        added=added,
        failed=[str(directory) for directory in failed],
    )
    options.write_json(arguments, answer)
    return code


def _admitted(gate: GateAnswer) -> AdmittedContext:
    directory = str(gate.directory) if gate.directory else None
    return AdmittedContext(context=gate.context, is_refused=gate.note is None, said=gate.said, directory=directory)


def _measure(
    recipe: Recipe, requests: list[Request], notes: dict[Context, VerificationNote], *, jobs: int, progress_timeout: float
) -> tuple[list[str], list[Path]]:
    """Train every request and append its row as it ends; return the runs that became rows, and the directories of the others."""
    added, failed = [], []

    def keep(done: int, invocation: Invocation, directory: Path) -> None:
        record = Record.read(directory / invocation.runs[0])
        text = f"[{done}/{len(requests)}] {invocation.context} seed {invocation.seeds[0]}: "
        if record.failure:
            failed.append(directory)
            text += f"{record.status}, {record.failure.message}"
        else:
            append_rows(reference_directory(recipe.source), [row_from_record(record, verify=notes[invocation.context])])
            added.append(record.run_id)
            text += f"{shown(record.metric.value, record.metric.unit)} {record.metric.unit}"
        print(f"{text} ({duration(record.timing.wall_seconds)})", flush=True)

    sweep(
        requests,
        runs_directory(),
        on_end=keep,
        on_data=RunDisplay().data,
        on_recorded=draw_pictures,
        jobs=jobs,
        progress_timeout=progress_timeout,
    )
    return added, failed


def _samples(recipe: Recipe, profile: str, *, checksum: str, version: str | None) -> set[tuple[str, int]]:
    """Return (context, seed) of the samples that the recipe's profile has of these data, of a release that was named its own."""
    wanted = identity_of(recipe, profile)
    return {
        (row.context.text, row.seed)
        for row in load_rows(reference_directory(recipe.source), recipe.name)
        if row.recipe == wanted and row.data.checksum == checksum
        if version is None or is_same_version(version, row.framework_version)
    }


def _tell_and_keep(gate: GateAnswer, document: Verification | None) -> None:
    """Print what was said of a context; draw what there is to draw of its verification, and upload it all."""
    print(_say(gate), flush=True)
    if document is None or gate.directory is None or document.verdict.name is Verdict.FAILED_INTERRUPTED:
        return
    if document.tensors:
        draw_picture(gate.directory)
    upload_or_note(gate.directory)


def _say(gate: GateAnswer) -> str:
    """Return one line on what verify said of a context, and what follows."""
    where = f" ({gate.directory})" if gate.directory else ""
    if gate.note is None:
        return f"REFUSED {gate.context}: {gate.said}. Nothing of this context is measured or added{where}"
    if gate.note.verdict is not Verdict.REPRODUCED:
        return f"remark: {gate.context} is not verified: {gate.note.reason}; its rows will say so"
    return f"verified {gate.context}: {gate.note.reason}{where}"

"""`vigil compare`: the same seeds under two releases of a framework, and whether the number moved between them."""

from __future__ import annotations

import argparse
import dataclasses
import threading
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports import comparison_text as report
from reports.run_pictures import draw_pictures
from vigil.cli import options, own_comparison, own_step
from vigil.documents.comparison import ComparedMetric, ComparedSide, Comparison
from vigil.documents.judgement import Metric, shown
from vigil.documents.record import Record
from vigil.documents.verification import Verification
from vigil.errors import UsageError
from vigil.paths import runs_directory
from vigil.process.directories import new_directory, require_writable
from vigil.process.side_by_side import available_cores, share_cores, side_by_side
from vigil.progress import RunDisplay, duration
from vigil.recipes.loading import DEFAULT_PROFILE, identity_of
from vigil.releases.naming import ALLOWED, Release, parse_hold, parse_release
from vigil.releases.release_pair import judge, read_side, unavailable_side
from vigil.releases.resolve import Resolved
from vigil.releases.store import obtain_or_say_why
from vigil.runs.carry_out import carry_out, carry_out_in_turn, read_invocation
from vigil.runs.foresee import foreseen_pair
from vigil.runs.plan import Request, plan, preflight
from vigil.runs.watch import Watch, ignore

if TYPE_CHECKING:
    from vigil.releases.apart import Moved

NAMES = ("OLD", "NEW")
SEEDS = 6
EXIT_CODES = (
    "exit codes: 0 no difference, 1 a difference or a wrong training step under NEW, 2 wrong usage or recipe, 3 could not run, "
    "4 too few runs, or too little learned, to tell"
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "compare", help="run the same seeds under two releases of a framework, side by side", epilog=EXIT_CODES
    )
    options.add_recipe(parser, or_step=True)
    for name in NAMES:
        parser.add_argument(name.lower(), metavar=name, help=f"{ALLOWED}; of a file of your own, an interpreter's path, too")
    parser.add_argument(
        "--hold", action="append", default=[], metavar="PACKAGE", help="this under both, as flax==0.12.8 (repeatable)"
    )
    options.add_extra_index(parser)
    options.add_context(parser, framework_is_required=False, or_step=True)
    options.add_seeds(parser, count=SEEDS, first=0)  # from six on the test is paired, seed by seed (vigil/statistics/paired.py)
    parser.add_argument("--jobs", metavar="N", help="2: both releases at once, each on half of the cores (default: 1)")
    own_step.add_threads(parser)
    parser.add_argument(
        "--fault", metavar="FILE.py", help="plant a fault under NEW alone, to see whether this comparison would have caught it"
    )
    options.add_file(parser, "--markdown", what="write the comparison")
    options.add_json(parser, what="compare.json")
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Build both environments, run both sides, print and write the comparison, return its exit code."""
    if arguments.recipe.endswith(".py"):
        of_recipes = {"seeds": str(SEEDS), "first_seed": "0", "profile": DEFAULT_PROFILE}
        return own_comparison.run(arguments, of_recipes=of_recipes)
    if arguments.threads is not None:
        raise UsageError("--threads: allowed for a file of your own alone, as in `vigil compare my_step.py OLD NEW --threads 1`.")
    options.check_file("--markdown", arguments.markdown)
    releases = _releases(arguments)
    jobs = options.whole_number("--jobs", arguments.jobs or "1", least=1, most=len(NAMES))
    timeout = options.seconds("--hang-timeout", arguments.hang_timeout)
    request = options.request_from(arguments, verify=True)
    display, runs = RunDisplay(), runs_directory()
    require_writable(runs)
    if warning := foreseen_pair(request):
        display.say(warning)
    under = [obtain_or_say_why(release, tell=display.say) for release in releases]
    resolved = [each for each in under if isinstance(each, Resolved)]
    if len(resolved) == len({each.key for each in resolved}) + 1:
        raise UsageError(f"OLD and NEW: {arguments.old} and {arguments.new} are one release, {resolved[0].request}.")
    if len(resolved) < len(under):
        sides = [unavailable_side(name, each) for name, each in zip(NAMES, under, strict=True)]
    else:
        sides = _run_both(request, resolved, runs, jobs=jobs, timeout=timeout, display=display)
    directory, document = write_comparison(request, sides, runs)
    report.show(document)
    print(f"Written to {directory / Comparison.FILE_NAME}")
    options.write_file("--markdown", arguments.markdown, report.markdown(document))
    options.write_json(arguments, document)
    return document.verdict.exit_code


def write_comparison(request: Request, sides: Sequence[ComparedSide], runs: Path) -> tuple[Path, Comparison]:
    """Judge two sides and write compare.json in a directory of its own; return the directory and the document."""
    now = datetime.now(timezone.utc)
    training = request.recipe.resolve(request.profile)
    recipe = identity_of(request.recipe, request.profile)
    directory = new_directory(runs, f"{now:%Y%m%d-%H%M%S}-compare-{recipe.name}-{request.profile}-{request.context.text}")
    old, new = sides
    moved = _what_moved(runs / old.invocation, runs / new.invocation) if old.invocation and new.invocation else None
    judgement = judge(old, new, metric=_metric_of(training, sides, runs), n_test=training["data"]["n_test"])
    document = Comparison(
        compare_id=directory.name,
        created=now.isoformat(timespec="seconds"),
        command=request.command,
        recipe=recipe,
        context=request.context,
        seeds=request.seeds,
        fault=request.fault["name"] if request.fault else None,
        hold=old.release.hold or (),
        metric=ComparedMetric(**{name: training["metric"][name] for name in ComparedMetric.model_fields}),
        old=old,
        new=new,
        verdict=judgement.verdict,
        difference=judgement.difference,
        steps=moved.steps if moved else (),
        losses=moved.losses if moved else None,
        states=moved.states if moved else None,
        why_no_floors=moved.why_no_floors if moved else None,
        remarks=judgement.remarks,
    )
    document.write(directory)
    return directory, document


def _metric_of(training: dict[str, Any], sides: Sequence[ComparedSide], runs: Path) -> Metric:
    """Return the metric, with what chance gives on the data that the runs saw, as far as one has ended."""
    metric = Metric.of(training)
    for side in sides:
        for path in (runs / side.invocation).glob(f"seed*/{Record.FILE_NAME}") if side.invocation else ():
            return metric.replace(chance=Record.read(path.parent).metric.chance)
    return metric


def _what_moved(old: Path, new: Path) -> Moved:
    """Return how far two invocations are apart."""
    # Only here: it loads the oracle, and where a release cannot be had there is no use for it.
    from vigil.releases.apart import what_moved

    return what_moved(old, new)


def _releases(arguments: argparse.Namespace) -> list[Release]:
    """Return both releases, and let them name the framework. Raises UsageError unless they are of one framework."""
    releases = [parse_release(text, indexes=arguments.extra_index) for text in (arguments.old, arguments.new)]
    frameworks = {release.framework for release in releases} | (set() if arguments.framework is None else {arguments.framework})
    if len(frameworks) > 1:
        raise UsageError(f"OLD and NEW: found releases of {' and '.join(sorted(frameworks))}. Allowed: two of one framework.")
    if releases[0].text == releases[1].text:
        raise UsageError(f"OLD and NEW: found {arguments.old} twice. Allowed: two releases; one alone: `vigil reproduce`.")
    [arguments.framework] = frameworks
    hold = parse_hold(arguments.hold, framework=arguments.framework)
    return [dataclasses.replace(release, hold=hold) for release in releases]


def _run_both(
    request: Request, under: Sequence[Resolved], runs: Path, *, jobs: int, timeout: float, display: RunDisplay
) -> list[ComparedSide]:
    """Run both sides, a seed of each in turn, or both at once; after Ctrl-C, return what is there."""
    cores = share_cores(available_cores(), jobs)
    data_directory = preflight(dataclasses.replace(request, release=under[0]), runs, on_data=display.data)
    directories = [
        plan(
            dataclasses.replace(request, release=each, cores=cores[index % jobs], fault=fault),
            runs,
            data_directory=data_directory,
        )
        for index, (each, fault) in enumerate(zip(under, (None, request.fault), strict=True))
    ]
    stop = threading.Event()
    watch = _watch(directories, under, timeout=timeout, display=display, stop=stop)
    try:
        if jobs == 1:
            results = carry_out_in_turn(directories, watch=watch)
        else:
            work = lambda directory, _: carry_out(directory, watch=watch)  # noqa: E731
            results = side_by_side(directories, work, jobs=jobs, stop=stop, on_end=ignore)
        invocations = [result.invocation for result in results]
    except KeyboardInterrupt:
        invocations = [read_invocation(directory) for directory in directories]
    return [read_side(*each) for each in zip(NAMES, directories, invocations, strict=True)]


def _watch(
    directories: Sequence[Path],
    under: Sequence[Resolved],
    *,
    timeout: float,
    display: RunDisplay,
    stop: threading.Event,
) -> Watch:
    """Return the watch that says, in a line, how each verification and each run of either side ended."""
    titles = {
        directory.name: f"{name} {release.framework} {release.version}"
        for directory, name, release in zip(directories, NAMES, under, strict=True)
    }

    def ended(record: Record) -> None:
        metric, failure = record.metric, record.failure
        text = f"{failure.category}: {failure.message}" if failure else f"{metric.name} {shown(metric.value, metric.unit)}"
        seconds = duration(record.timing.wall_seconds)
        display.say(f"{titles[record.invocation_id]}, seed {record.seed}: {text} ({seconds})")

    def verified(document: Verification, directory: Path) -> None:
        seconds = duration(document.seconds)
        display.say(f"{titles[directory.parent.name]}, one training step: {document.verdict.name} ({seconds})")

    def unverified(reason: str, directory: Path) -> None:
        display.say(f"{titles[directory.parent.name]}, one training step: unknown: {reason}")

    return Watch(
        on_end=ended,
        progress_timeout=timeout,
        stop=stop,
        on_verified=verified,
        on_unverified=unverified,
        on_recorded=draw_pictures,
        on_build=display.say,
        keep_tensors=True,
    )

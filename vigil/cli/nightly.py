"""`vigil nightly`: the newest release of each framework, every cell that is new since, under a time budget."""

from __future__ import annotations

import argparse
import math
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from reports import night_summary as report
from reports.run_pictures import draw_pictures
from reports.tables import print_notes, print_table
from reports.verification_picture import draw_picture
from vigil.cli import options
from vigil.cli.answers import NightlyAnswer, NothingNewTonight
from vigil.cli.drift import bring_drift
from vigil.documents.context import FRAMEWORKS
from vigil.documents.night import AUDIT, Night, nights_directory
from vigil.documents.verification import Verification
from vigil.errors import EXIT_COULD_NOT_RUN, UsageError, nearest
from vigil.nightly.cell_work import CellRunner
from vigil.nightly.conduct import SEEDS, MakeWork, NightOrder, NothingNew, begin, resume
from vigil.nightly.night_file import NightFile, alone, read_night_files
from vigil.nightly.night_releases import NewestReleases
from vigil.nightly.night_tracking import bring_all
from vigil.nightly.night_verdict import standing_code, worst
from vigil.operators.verify import refuse_operator
from vigil.paths import expanded, runs_directory
from vigil.process.directories import require_writable
from vigil.recipes.loading import DEFAULT_PROFILE, Recipe, load_recipe, recipe_names
from vigil.steps.verify import framework_of
from vigil.terminal import answer

DEFAULT_BUDGET = "8h"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_NEW_NIGHT_ONLY = ("recipes", "hold", "pre", "framework", "seeds", "again", "profile")
EXIT_CODES = (
    "exit codes, by the worst of the night: 0 fine, 1 a wrong number or step that stands, 2 wrong usage or recipe, 3 a cell "
    "could not run, 4 unknown or ran; what is unsupported, left, or a known finding counts as nothing"
)


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "nightly", help="verify and reproduce on the newest releases what is not covered yet, within a budget", epilog=EXIT_CODES
    )
    what = f"names in recipes/, paths, Python files with steps of your own, {AUDIT} (default: all in recipes/, and {AUDIT})"
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help=what)
    parser.add_argument("--budget", metavar="TIME", help=f"as 30m, 2h or 90s (default: {DEFAULT_BUDGET}); what runs is finished")
    parser.add_argument("--pre", action="store_true", help="the newest with pre-releases allowed")
    parser.add_argument("--hold", action="append", metavar="RELEASE", help="this in the place of the newest, as torch==2.13.0")
    parser.add_argument("--framework", metavar="A,B", help=f"default: {','.join(FRAMEWORKS)}")
    parser.add_argument("--seeds", metavar="N", help=f"seeds of a reproduction, of {SEEDS} that take turns (default: 1)")
    parser.add_argument("--jobs", metavar="N", help="cells side by side (default: as many as cores and memory bear)")
    parser.add_argument("--again", action="store_true", help="look at what is covered, too")
    parser.add_argument(
        "--resume", action="store_true", help="go on with the last night; with a longer --budget also with what it left"
    )
    parser.add_argument("--profile", help=f"how much of each recipe (default: {DEFAULT_PROFILE})")
    options.add_extra_index(parser)
    options.add_json(parser, what="night.json, or that nothing is new,")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run a night, or go on with one; say what it covered and what it left, and return the worst exit code."""
    budget = None if arguments.budget is None else time_seconds("--budget", arguments.budget)
    jobs = None if arguments.jobs is None else options.whole_number("--jobs", arguments.jobs, least=1)
    _refuse_unknown(arguments.recipes)
    runs = runs_directory()
    require_writable(runs)
    with alone(nights_directory(runs)):
        earlier, remarks = read_night_files(nights_directory(runs))
        for remark in (*remarks, *bring_nights(earlier, runs)):
            _tell(remark)
        if arguments.resume:
            return _resume(arguments, earlier, runs, budget=budget, jobs=jobs)
        return _begin(arguments, earlier, runs, budget=budget or time_seconds("--budget", DEFAULT_BUDGET), jobs=jobs)


def _begin(arguments: argparse.Namespace, earlier: list[NightFile], runs: Path, *, budget: float, jobs: int | None) -> int:
    releases = NewestReleases(named=arguments.hold or (), is_pre=arguments.pre, indexes=arguments.extra_index)
    asked = arguments.recipes or [*recipe_names(), AUDIT]
    recipes = _recipes([text for text in asked if text != AUDIT and not text.endswith(".py")])
    files = _files([text for text in asked if text.endswith(".py")])
    frameworks = options.frameworks_from(
        arguments, default=FRAMEWORKS if recipes or AUDIT in asked else list(dict.fromkeys(files.values()))
    )
    if alone := [path for path, framework in files.items() if framework not in frameworks]:
        raise UsageError(f"--framework: found {arguments.framework}, and {alone[0].name} is of {files[alone[0]]}.")
    if strange := [name for name in releases.frameworks if name not in frameworks]:
        raise UsageError(f"--hold: found a release of {strange[0]}, which --framework {arguments.framework} leaves out.")
    order = NightOrder(
        recipes=recipes,
        profile=arguments.profile or DEFAULT_PROFILE,
        frameworks=frameworks,
        budget=budget,
        command=arguments.command,
        n_seeds=options.whole_number("--seeds", arguments.seeds or "1", least=1, most=SEEDS),
        jobs=jobs,
        is_again=arguments.again,
        files=list(files),
        has_audits=AUDIT in asked,
    )
    for recipe in order.recipes.values():
        recipe.profile(order.profile)
    if earlier and earlier[-1].document.finished is None:
        _tell(f"night {earlier[-1].id} was broken off: `vigil nightly --resume` would go on with it. This is a new one.")
    make_work = _maker(order.recipes, order.files, runs)
    try:
        found = begin(
            order,
            nights_directory(runs),
            earlier=earlier,
            releases=releases,
            make_work=make_work,
            tell=_tell,
        )
    except KeyboardInterrupt:
        print("Interrupted. Go on with: vigil nightly --resume")
        return EXIT_COULD_NOT_RUN
    return _nothing(found, arguments) if isinstance(found, NothingNew) else _end(found, runs, arguments)


def _resume(
    arguments: argparse.Namespace, earlier: list[NightFile], runs: Path, *, budget: float | None, jobs: int | None
) -> int:
    if given := [name for name in _NEW_NIGHT_ONLY if getattr(arguments, name)]:
        shown = "RECIPE" if given[0] == "recipes" else f"--{given[0]}"
        raise UsageError(
            f"{shown}: not allowed with --resume: a night goes on as it was begun. Only --budget and --jobs may change."
        )
    if not earlier:
        raise UsageError(f"--resume: there is no night in {nights_directory(runs)}. Begin one: `vigil nightly`.")
    night = earlier[-1]
    is_longer = budget is not None and budget > night.document.budget_seconds
    if night.document.finished and not is_longer:
        print(f"Night {night.id} is finished: there is nothing to go on with, unless with a longer --budget.")
        return _end(night, runs, arguments)
    recipes = _recipes([recipe.source for recipe in night.document.recipes.values()])
    files = list(_files(night.document.files))
    try:
        resume(
            night,
            recipes,
            earlier=earlier[:-1],
            releases=NewestReleases(indexes=arguments.extra_index),
            make_work=_maker(recipes, files, runs),
            tell=_tell,
            budget=budget,
            jobs=jobs,
        )
    except KeyboardInterrupt:
        print("Interrupted. Go on with: vigil nightly --resume")
        return EXIT_COULD_NOT_RUN
    return _end(night, runs, arguments)


def bring_nights(nights: Sequence[NightFile], runs: Path, *, is_check: bool = False) -> list[str]:
    """Bring finished nights to MLflow that it lacks, or, to check, all of them; return remarks.

    The lock on the nights is the caller's to hold.
    """
    for night in nights:
        # Broken off between its end and its summary.
        if night.document.finished and not (night.directory / report.MARKDOWN).is_file():
            report.write_summary(night.directory, night.document)
    return bring_all(nights, runs, is_check=is_check)


def time_seconds(option: str, text: str) -> float:
    """Return the seconds of a text as 30m. Raises UsageError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    seconds = float(found.group(1)) * _UNITS[found.group(2)] if found else 0.0
    if not 0.0 < seconds < math.inf:
        raise UsageError(f"{option}: found {text!r}. Allowed: a number above 0 with s, m or h behind it, as 90s, 30m or 2h.")
    return seconds


def _refuse_unknown(asked: Sequence[str]) -> None:
    names = (*recipe_names(), AUDIT)
    for text in asked:
        if text not in names and Path(text).suffix not in (".yaml", ".yml", ".py"):
            allowed = f"{', '.join(names)}, or the path of a .yaml or .py file"
            raise UsageError(f"RECIPE: found {text!r}. Allowed: {allowed}.{nearest(text, names)}")


def _recipes(sources: list[str]) -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    for source in sources:
        recipe = load_recipe(source)
        if recipe.name in [other.name for other in found.values()]:
            raise UsageError(f"RECIPE: found two named {recipe.name}. A night's cells go by the names of their recipes.")
        found[source] = recipe
    return found


def _files(texts: Sequence[str]) -> dict[Path, str]:
    """Return users' own steps with their frameworks. Raises UsageError for one that cannot be a night's."""
    found: dict[Path, str] = {}
    for text in texts:
        file = expanded(text).resolve()
        refuse_operator(file, verb="nightly")
        framework = framework_of(file)
        if re.search(r"\s", file.name):
            raise UsageError(f"RECIPE: found {file.name!r}. A night's cells go by the names of their files: without spaces.")
        if file.name in [other.name for other in found]:
            raise UsageError(f"RECIPE: found two named {file.name}. A night's cells go by the names of their files.")
        found[file] = framework
    return found


def _maker(recipes: Mapping[str, Recipe], files: Sequence[Path], runs: Path) -> MakeWork:
    # Cells end on threads of one process, and Matplotlib is not made for several at a time.
    one_at_a_time = threading.Lock()

    def draw(place: Path) -> None:
        if Verification.read(place).tensors:
            with one_at_a_time:
                draw_picture(place)

    def make(night: Night, pythons: Mapping[str, Path]) -> CellRunner:
        return CellRunner(
            night,
            pythons,
            recipes=recipes,
            files={file.name: file for file in files},
            runs=runs,
            draw_verification=draw,
            draw_run=draw_pictures,
        )

    return make


def _end(night: NightFile, runs: Path, arguments: argparse.Namespace) -> int:
    """Write the summary of a night that is finished, bring it to MLflow, print it, and return its exit code."""
    paths = report.write_summary(night.directory, night.document)
    remarks = bring_nights([night], runs) or bring_drift()
    document = night.document
    print()
    answer(report.headline(document))
    print_table("releases", report.RELEASE_COLUMNS, report.releases(document), notes=())
    if cells := report.table(document):
        print_table("cells of tonight", report.COLUMNS, cells, notes=())
    print_notes(report.notes(document))
    if report.own_rows(document):
        print_table(report.STEPS, report.STEP_COLUMNS, report.steps(document), notes=report.step_commands(document))
    if document.narrowed:
        print_table(report.NARROWED, report.NARROWED_COLUMNS, report.narrowed(document), notes=())
    if document.lost:
        print_table(report.LOST, report.LOST_COLUMNS, report.lost(document), notes=())
    if rows := report.not_fine(document):
        print_table("what is not fine", report.NOT_FINE_COLUMNS, rows, notes=(f"directories are below {runs}",))
    for remark in remarks:
        print(f"{remark} The next nightly tries it again.")
    print("\n".join(str(path) for path in paths))
    code = EXIT_COULD_NOT_RUN if document.verdict is None else document.verdict.exit_code
    options.write_json(arguments, NightlyAnswer(exit_code=code, night=document, nothing_new=None, remarks=remarks))
    return code


def _nothing(found: NothingNew, arguments: argparse.Namespace) -> int:
    """Say that nothing is new; what is still wrong keeps its exit code."""
    shown = ", ".join(f"{name} {release.text}" for name, release in found.releases.items())
    print(f"Nothing is new since night {found.since}: {shown}.")
    if found.left:
        print(
            f"{found.left} cells were left by today's budget and wait for coming nights. Now: `vigil nightly --resume` with a "
            "longer --budget; all again: --again."
        )
    for finding in found.standing:
        shown = f"{finding.key}: {finding.verdict}: {finding.reason} ({finding.directory})"
        print(f"Not fine since night {finding.night}: {shown}")
    code = worst(standing_code(finding.verdict) for finding in found.standing)
    nothing_new = NothingNewTonight(since=found.since, releases=found.releases, left=found.left, standing=found.standing)
    options.write_json(arguments, NightlyAnswer(exit_code=code, night=None, nothing_new=nothing_new, remarks=()))
    return code


def _tell(text: str) -> None:
    print(text, flush=True)

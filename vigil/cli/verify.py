"""`vigil verify`: single training steps against a float64 oracle, in one context or in all of them."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reports.verification_picture import draw_picture
from reports.verification_table import markdown, outcome, show
from reports.verification_text import verify_block
from vigil.cli import options, own_step
from vigil.cli.answers import VerifyAnswer
from vigil.data.official import ensure_data
from vigil.documents.context import FRAMEWORKS, MODES, PRECISIONS
from vigil.documents.identity import Identity
from vigil.documents.invocation import NamedRelease
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.errors import EXIT_COULD_NOT_RUN, EXIT_OUTSIDE, EXIT_REPRODUCED, UsageError
from vigil.paths import runs_directory
from vigil.process.build_spec import fault_entry, rows_of_part
from vigil.process.environment import is_installed, require_framework
from vigil.progress import RunDisplay
from vigil.recipes.loading import Recipe, recipe_names
from vigil.releases.store import held, obtain
from vigil.runs.contexts import ALL_GPU_PRECISIONS, ALL_PRECISIONS, every_context, in_short_form
from vigil.terminal import answered
from vigil.tracking import import_ahead, upload_or_note
from vigil.verify.standards import Standard, load_standard, new_verify_directory, verify_context, verify_contexts

_ONE_CONTEXT_ONLY = ("devices", "shards", "determinism", "attention")
_ALL_ONLY = ("jobs", "markdown")
EXIT_CODES = (
    "exit codes: 0 reproduced, 1 regressed or a known finding, 2 wrong usage or recipe, 3 failed, unsupported or could not run; "
    "with --all that of the worst context, where unsupported counts as nothing"
)
# A step that is wrong is worse than one that nobody could look at.
_WORST_FIRST = (EXIT_OUTSIDE, EXIT_COULD_NOT_RUN, EXIT_REPRODUCED)


class _Release(NamedTuple):
    """The release that was named, as it is recorded, and its interpreter; two times None for what is installed here."""

    recorded: NamedRelease | None = None
    python: Path | None = None


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "verify",
        help="hold single training steps, of a recipe or your own, against float64, and name what is wrong",
        epilog=EXIT_CODES,
    )
    options.add_recipe(parser, or_all="default with --all", or_step=True)
    options.add_context(parser, framework_is_required=False, or_step=True)
    options.add_release(parser)
    own_step.add_options(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help="every context: --framework, --mode and --precision may then be lists (default: every installed framework, "
        f"{','.join(MODES)} and {','.join(ALL_PRECISIONS)}); one device, two, and two with uneven shards; "
        "with --device gpu tf32 as well, and one GPU. "
        "What differs from mode jit in fp32 on one device in more than one thing is verified in the short form, "
        "where each of these is verified in full",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        help="with --all: contexts side by side, each on its share of cores; one that compiles for minutes takes two shares "
        "(default: 1)",
    )
    options.add_file(parser, "--markdown", what="with --all: write the table")
    options.add_json(parser, what="verify.json, with --all all of them,")
    options.add_fault(parser)
    options.add_timeouts(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Verify, show what was found, return 0 reproduced, 1 wrong, 3 could not run."""
    if arguments.recipe is not None and arguments.recipe.endswith(".py"):
        return own_step.run(arguments)
    for name in own_step.OPTIONS:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name}: allowed for a file of your own alone, as in `vigil verify my_step.py --{name} ...`.")
    if arguments.recipe is None and not arguments.all:
        names = ", ".join(recipe_names())
        raise UsageError(f"RECIPE: missing. Allowed: {names}, a file; or --all for every context of all of them.")
    recipes = options.recipes_from(arguments)
    _refuse(arguments, _ONE_CONTEXT_ONLY if arguments.all else _ALL_ONLY)
    options.check_file("--markdown", arguments.markdown)
    release = options.release_of_context(arguments)
    if arguments.framework is None and not arguments.all:
        raise UsageError(f"--framework: missing. Allowed: {', '.join(FRAMEWORKS)}; or --all for every context of all of them.")
    with contextlib.ExitStack() as stack:
        under = _Release()
        if release:
            say = RunDisplay().say
            resolved = obtain(release, tell=say)
            under = _Release(resolved.named, stack.enter_context(held(resolved, tell=say)))
        if arguments.all:
            return _run_all(arguments, recipes, under)
        [recipe] = recipes.values()
        return _run_one(arguments, recipe, recipe.resolve(arguments.profile), under)


def _refuse(arguments: argparse.Namespace, names: Sequence[str]) -> None:
    for name in names:
        if getattr(arguments, name) is not None:
            where = "with --all, which covers devices and shards by itself: leave it out" if arguments.all else "without --all"
            raise UsageError(f"--{name}: not allowed {where}.")


def _run_one(arguments: argparse.Namespace, recipe: Recipe, training: dict[str, Any], under: _Release) -> int:
    context = options.context_from(arguments)
    context.shard_sizes(training["batch_size"], rows=rows_of_part(training))
    fault, timeout = fault_entry(arguments.fault), options.seconds("--hang-timeout", arguments.hang_timeout)
    if under.python is None:
        require_framework(context.framework)
    import_ahead()
    with RunDisplay() as display:
        data_directory = _data_directory(training, display)
        standard = load_standard(recipe, arguments.profile, data_directory=data_directory)
        directory = new_verify_directory(runs_directory(), Identity.model_validate(standard.tape.header["recipe"]), context)
        document = verify_context(
            standard,
            context,
            directory,
            command=arguments.command,
            data_directory=data_directory,
            fault=fault,
            progress_timeout=timeout,
            release=under.recorded,
            python=under.python,
            on_event=display.verify(directory),
        )
        display.verified(document)
    if document.verdict.name is Verdict.FAILED_INTERRUPTED:
        phase = document.verdict.failure.phase if document.verdict.failure else "start"
        print(f"Interrupted in phase {phase}. What was found until then is in {directory}.")
        return EXIT_COULD_NOT_RUN
    _keep(document, directory)
    options.write_json(arguments, Verification.read(directory))  # with where in MLflow it is
    answered(verify_block(document, directory=str(directory), source=recipe.source))
    return document.verdict.name.exit_code


def _run_all(arguments: argparse.Namespace, recipes: dict[str, Recipe], under: _Release) -> int:
    frameworks = options.frameworks_from(arguments)
    modes = MODES if arguments.mode is None else options.names("--mode", arguments.mode, MODES)
    device = own_step.device_from(arguments)
    usual = ALL_PRECISIONS if device == "cpu" else ALL_GPU_PRECISIONS
    precisions = usual if arguments.precision is None else options.names("--precision", arguments.precision, PRECISIONS)
    jobs = options.whole_number("--jobs", arguments.jobs or "1", least=1)
    fault, timeout = fault_entry(arguments.fault), options.seconds("--hang-timeout", arguments.hang_timeout)
    for name in frameworks if under.python is None else ():
        require_framework(name)
    standards: list[tuple[Standard, Path | None]] = []
    for recipe in recipes.values():  # all of them, before the first is verified
        data_directory = _data_directory(recipe.resolve(arguments.profile), RunDisplay())
        standards.append((load_standard(recipe, arguments.profile, data_directory=data_directory), data_directory))
    documents: list[list[Verification]] = []
    for recipe, (standard, data_directory) in zip(recipes.values(), standards, strict=True):
        training = recipe.resolve(arguments.profile)
        sizes = {"batch_size": training["batch_size"], "rows": rows_of_part(training)}
        contexts = every_context(frameworks, modes=modes, precisions=precisions, device=device, **sizes)
        results = verify_contexts(
            standard,
            contexts,
            runs_directory(),
            command=arguments.command,
            data_directory=data_directory,
            jobs=jobs,
            on_end=_teller(len(contexts), of=recipe.name if len(recipes) > 1 else None),
            fault=fault,
            short=in_short_form(contexts),
            progress_timeout=timeout,
            release=under.recorded,
            python=under.python,
        )
        documents.append([Verification.read(directory) for _, directory in results])  # with where in MLflow they are
    missing = [name for name in FRAMEWORKS if not is_installed(name)]
    for some in documents:
        show(some, missing=missing)
    options.write_file("--markdown", arguments.markdown, "\n".join(markdown(some, missing=missing) for some in documents))
    found = [each for some in documents for each in some]
    codes = {name.exit_code for each in found if (name := each.verdict.name) is not Verdict.UNSUPPORTED}
    code = next((code for code in _WORST_FIRST if code in codes), EXIT_COULD_NOT_RUN)
    options.write_json(arguments, VerifyAnswer(exit_code=code, verifications=found, not_installed=missing))
    return code


def _teller(count: int, *, of: str | None) -> Callable[[int, Verification, Path], None]:
    """Return what keeps each context's document as it ends, and prints a line. `of`: the recipe, where there are several."""

    def ended(done: int, document: Verification, directory: Path) -> None:
        if document.verdict.name is not Verdict.FAILED_INTERRUPTED:
            _keep(document, directory)
        print(f"[{done}/{count}] {f'{of} ' if of else ''}{document.context}: {outcome(document)}", flush=True)

    return ended


def _keep(document: Verification, directory: Path) -> None:
    """Draw what there is to draw, then upload it all."""
    if document.tensors:
        draw_picture(directory)
    upload_or_note(directory)


def _data_directory(training: dict[str, Any], display: RunDisplay) -> Path | None:
    return ensure_data(training, progress=display.data)

"""What a person asks to be verified: one recipe's profile in one context, or many contexts side by side."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timezone
from pathlib import Path

from vigil.documents.context import Context
from vigil.documents.identity import Identity
from vigil.documents.provenance import NamedRelease
from vigil.documents.verification import Verification
from vigil.frameworks import TABLE
from vigil.process.build_spec import rows_of_part
from vigil.process.directories import new_directory, require_writable
from vigil.process.environment import require_framework
from vigil.process.execute import PROGRESS_TIMEOUT_SECONDS
from vigil.process.hosts import Hosts, hosts
from vigil.process.side_by_side import side_by_side
from vigil.recipes.loading import Recipe, identity_of
from vigil.verify.ask import Setting
from vigil.verify.company import companion_of
from vigil.verify.examination import verify
from vigil.verify.golden import Golden, load_golden, path_of
from vigil.verify.known_findings import load_known
from vigil.verify.limits import Limits, load_limits

RUNNER = "answers"


@dataclasses.dataclass(frozen=True)
class Standard:
    """What contexts are held against: a golden tape, and limits from clean runs."""

    tape: Golden
    limits: Limits


def load_standard(recipe: Recipe, profile: str, *, data_directory: Path | None) -> Standard:
    """Read the tape and clean runs of a recipe's profile. Raises CannotRun with what to do."""
    identity = identity_of(recipe, profile)
    path, source = path_of(recipe.name, profile, source=recipe.source), recipe.source
    tape = load_golden(path, recipe=identity, data_directory=data_directory, source=source)
    return Standard(tape, load_limits(recipe.name, model=tape.training["model"]["name"], source=source))


def verify_context(
    standard: Standard,
    context: Context,
    directory: Path,
    *,
    command: str,
    data_directory: Path | None,
    fault: dict[str, str] | None = None,
    cores: list[int] | None = None,
    second_cores: list[int] | None = None,
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS,
    stop: threading.Event | None = None,
    quick: bool = False,
    keep_tensors: bool = False,
    release: NamedRelease | None = None,
    python: Path | None = None,
    night: str | None = None,
    hosts: Hosts | None = None,
    companion: Path | None = None,
    on_event: Callable[[dict], None] = lambda event: None,
) -> Verification:
    """Verify one context in a directory of its own; return what verify.json says.

    Args:
        second_cores: of a second process beside it, see `ask_all`.
        quick: only training steps on margin batches, as before a training run.
        keep_tensors: as in `verify`.
        release, python: the release that was named, as it is recorded, and the interpreter that has it.
        night: the id of the night that it is part of, if of any.
        hosts: where runners are forked, if many contexts are verified.
        companion: as in `verify`.

    Raises:
        FrameworkMissing: The framework is not installed.
        UsageError: The shards do not fit the batch.
        CannotRun: The oracle on this machine is not the one of the tape, or nobody measured clean runs of this precision.
    """
    training, tape = standard.tape.training, standard.tape
    context.shard_sizes(training["batch_size"], rows=rows_of_part(training))
    if python is None:
        require_framework(context.framework)
    setting = Setting(
        context=context,
        directory=directory / RUNNER,
        seed=tape.header["seed"],
        data_directory=data_directory,
        fault=fault,
        cores=cores,
        second_cores=second_cores,
        progress_timeout=progress_timeout,
        stop=stop,
        python=python,
        hosts=hosts,
    )
    return verify(
        setting,
        tape,
        standard.limits,
        command=command,
        known=load_known(),
        quick=quick,
        keep_tensors=keep_tensors,
        release=release,
        night=night,
        companion=companion,
        on_event=on_event,
    )


def new_verify_directory(runs: Path, recipe: Identity, context: Context) -> Path:
    """Create and return the directory of a verification. Raises DirectoryError when that is not possible."""
    require_writable(runs)
    now = datetime.now(timezone.utc)
    return new_directory(runs, f"{now:%Y%m%d-%H%M%S}-verify-{recipe.name}-{recipe.profile}-{context.text}")


def verify_contexts(
    standard: Standard,
    contexts: Sequence[Context],
    runs: Path,
    *,
    command: str,
    data_directory: Path | None,
    jobs: int,
    on_end: Callable[[int, Verification, Path], None],
    fault: dict[str, str] | None = None,
    short: Collection[Context] = (),
    progress_timeout: float = PROGRESS_TIMEOUT_SECONDS,
    release: NamedRelease | None = None,
    python: Path | None = None,
) -> list[tuple[Verification, Path]]:
    """Verify many contexts, `jobs` side by side; return (document, directory) in the order given.

    Args:
        short: contexts that are verified in the short form, `quick` of `verify_context`.

    Ctrl-C ends those that are running, starts no more, and is raised again.
    """
    for context in contexts:
        if python is None:
            require_framework(context.framework)
        standard.limits.require(context.precision)
    stop = threading.Event()
    ended: dict[Context, Path] = {}

    def work(context: Context, cores: list[int] | None) -> tuple[Verification, Path]:
        companion, second_cores = companion_of(context), None
        if cores and len(cores) > 1 and context.devices == 1 and shares_of(context, short) > 1:
            cores, second_cores = cores[::2], cores[1::2]
        directory = new_verify_directory(runs, Identity.model_validate(standard.tape.header["recipe"]), context)
        document = verify_context(
            standard,
            context,
            directory,
            command=command,
            data_directory=data_directory,
            fault=fault,
            quick=context in short,
            cores=cores,
            second_cores=second_cores,
            progress_timeout=progress_timeout,
            stop=stop,
            release=release,
            python=python,
            hosts=opened,
            companion=ended.get(companion) if companion else None,
        )
        ended[context] = directory
        return document, directory

    with hosts() as opened:
        # Those that may be held to a companion come last, so that it has ended.
        later = [context for context in contexts if context in short and companion_of(context) in contexts]
        begun = [*in_turns([context for context in contexts if context not in later], short), *in_turns(later, short)]
        results = side_by_side(
            begun,
            work,
            jobs=jobs,
            stop=stop,
            on_end=lambda done, result: on_end(done, *result),
            shares_of=lambda context: shares_of(context, short),
        )
    of_context = dict(zip(begun, results, strict=True))
    return [of_context[context] for context in contexts]


def shares_of(context: Context, short: Collection[Context]) -> int:
    """Return how many workers' cores a verification takes: two, where it would keep one busy with compiling for minutes.

    In full on one device two processes divide the cases. Of two uneven devices each has a program of its own, and a process.
    """
    framework = TABLE[context.framework]
    if context.device != "cpu" or context.mode not in framework.compiling:
        return 1
    is_divided = context.devices == 1 and context not in short
    return 2 if is_divided or (framework.has_ranks and context.shards is not None) else 1


def in_turns(contexts: Sequence[Context], short: Collection[Context]) -> list[Context]:
    """Return contexts in the order in which they are begun: frameworks take turns, and of each the dearest come first.

    Two contexts of one framework, side by side, would compile the same programs, and neither would find the other's. A dear one
    at the end would run alone. Those that take the cores of two come before all others: between these they would wait, each
    time, until two are free.
    """
    turns = Counter[str]()
    placed = []
    for context in sorted(contexts, key=lambda each: -TABLE[each.framework].costs[each.mode].verify[each in short]):
        placed.append((turns[context.framework], context))
        turns[context.framework] += 1
    begun = [context for _, context in sorted(placed, key=lambda pair: pair[0])]
    return sorted(begun, key=lambda context: -shares_of(context, short))

"""A user's step in every context that was asked for: oracles and contexts side by side, updates, a look at what is wrong."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import hashlib
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple, TypeAlias

from runners.contract.steps import frame
from runners.contract.steps.own import DISTRIBUTE
from vigil.documents.context import Context, make_context
from vigil.documents.failure import Failure
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.documents.step import OracleFacts, OwnFileFacts, Repeated, StepContext, StepOrigin, StepVerification, in_short
from vigil.documents.verdict import Verdict
from vigil.documents.verification import LimitFacts, StepVerdict
from vigil.errors import UsageError
from vigil.frameworks import FRAMEWORKS, TABLE
from vigil.process.consent import FILES, remember
from vigil.process.directories import new_directory, require_writable
from vigil.process.side_by_side import available_cores, side_by_side
from vigil.steps.judge import (
    Judged,
    derivatives_of,
    differences_of,
    judge,
    origin_of,
    verdict_of,
    worst_of,
    wrong_derivative,
)
from vigil.steps.limits import DRAWS, require
from vigil.steps.processes import Asked, Ended, draws_name, forked, given_of, oracle_name, run, seed_of
from vigil.verify.limits import Limits

PRECISIONS = ("fp32", "bf16", "fp16")
# On a GPU float32 is both: as products of it are, and rounded to TF32, as PyTorch may and JAX does unless told otherwise.
GPU_PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
_MOST_OUT = 50
_MOST_LOOKS = 3
_WORST_FIRST = (Verdict.REGRESSED, Verdict.UNKNOWN, Verdict.UNSUPPORTED, Verdict.REPRODUCED)
NOT_SEEN = (
    "what the framework does wrong in float64 as well, but for gradients that are not the derivative of the loss",
    "sizes, batches and states other than these",
)


class Setting(NamedTuple):
    """One context of a user's step, and its threads."""

    context: Context
    threads: int

    @property
    def text(self) -> str:
        return in_short(self.context, self.threads)

    @property
    def directory(self) -> str:
        """Return what its directory is called in that of a verification."""
        return f"{self.context.text}-t{self.threads}"


def framework_of(file: Path) -> str:
    """Return the framework of a user's file: its `FRAMEWORK`, or the one that it imports.

    Raises UsageError for a file that is no Python, or names no framework, or several.
    """
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        where = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        raise UsageError(f"{file}{where}: not Python: {error.msg if isinstance(error, SyntaxError) else error}.") from error
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}. Allowed: a Python file; `vigil init torch` writes one to begin with."
        ) from error
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FRAMEWORK" and isinstance(node.value, ast.Constant):
            named = str(node.value.value)
            if named not in FRAMEWORKS:
                raise UsageError(f"{file}:{node.lineno}: FRAMEWORK: found {named!r}. Allowed: {', '.join(FRAMEWORKS)}.")
            return named
    imported = {name.split(".")[0] for node in ast.walk(tree) for name in _imported(node)}
    found = [name for name in FRAMEWORKS if imported & set(TABLE[name].modules)]
    if len(found) != 1:
        what = f"imports {' and '.join(found)}" if found else "imports no framework"
        raise UsageError(f'{file}: {what}. Say which it is of: `FRAMEWORK = "torch"`. Allowed: {", ".join(FRAMEWORKS)}.')
    return found[0]


def distributes(file: Path) -> bool:
    """Does a Python file say how several devices share its step? One that cannot be read does not."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == DISTRIBUTE for node in tree.body)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def settings_of(
    framework: str,
    modes: Sequence[str],
    precisions: Sequence[str],
    threads: Sequence[int] | None,
    *,
    determinism: Sequence[str] = ("off",),
    device: str = "cpu",
    devices: Sequence[int] = (1,),
) -> list[Setting]:
    """Return the contexts of these modes and precisions: each on one thread, and those of fp32, or a single one, on two as well.

    On a GPU each is there once: how many threads its process has makes no difference to it.

    Args:
        threads: how many, if that is said.
        devices: those of fp32 are there on two, too, where a file says how they share a step.
    """
    contexts = [
        make_context(framework=framework, mode=mode, precision=each, determinism=switch, device=device)
        for each in precisions for mode in modes for switch in determinism
    ]  # fmt: skip
    shared = [
        Setting(dataclasses.replace(context, devices=count), 1)
        for count in devices for context in contexts if count > 1 and context.precision == "fp32"
    ]  # fmt: skip
    if 1 not in devices:
        return shared
    if threads:
        return [*(Setting(context, count) for count in threads for context in contexts), *shared]
    several = min(2, len(available_cores())) if device == "cpu" else 1
    more = [context for context in contexts if several > 1 and (context.precision == "fp32" or len(contexts) == 1)]
    return [Setting(context, 1) for context in contexts] + [Setting(context, several) for context in more] + shared


class _Oracle(NamedTuple):
    """A process of a precision's oracle: that which makes all of it, or one that takes some draws off it."""

    precision: str
    is_whole: bool = True

    @property
    def name(self) -> str:
        return (oracle_name if self.is_whole else draws_name)(self.precision)


_Item: TypeAlias = "_Oracle | Setting"


class _Found(NamedTuple):
    """A context that has run: how it ended, why it came to nothing if it did, and what its tensors say."""

    setting: Setting
    ended: Ended
    failure: Failure | None
    judged: list[Judged]
    repeated: Repeated | None
    verdict: StepVerdict


def verify_step(
    asked: Asked,
    settings: Sequence[Setting],
    directory: Path,
    limits: Limits,
    *,
    command: str,
    jobs: int,
    release: NamedRelease | None = None,
    night: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> StepVerification:
    """Verify a user's file in contexts, write step.json into the directory, and return it.

    An error, or Ctrl-C, ends what runs, and is raised again.
    """
    started = time.monotonic()
    precisions = list(dict.fromkeys(setting.context.precision for setting in settings))
    for precision in precisions:
        require(limits, precision)
    oracles = {precision: directory / oracle_name(precision) for precision in precisions}
    # A process with a GPU is started anew, as every one of a recipe's is.
    is_forked = all(setting.context.device == "cpu" for setting in settings)
    with forked(asked) if is_forked else contextlib.nullcontext(asked) as hosted:
        ended = _run_all(hosted, settings, directory, oracles, jobs=jobs, tell=tell)
        _run_updates(hosted, settings, directory, ended, precisions, jobs=jobs, tell=tell)
        found = [_found(setting, ended, limits) for setting in settings]
        origins = _look(hosted, found, directory, ended, limits, jobs=jobs, tell=tell)
    facts = tuple(_oracle_facts(precision, ended[oracle_name(precision)]) for precision in precisions)
    contexts = tuple(_context_of(each, origins) for each in found)
    document = StepVerification(
        step_id=directory.name,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        night=night,
        file=OwnFileFacts(path=str(asked.file), sha256=asked.sha256),
        framework=asked.framework,
        framework_version=next((str(each.environment["framework_version"]) for each in ended.values()
                                if "framework_version" in each.environment), None),
        release=release,
        fault=PlantedFault(name=asked.fault["name"], sha256=asked.fault["sha256"]) if asked.fault else None,
        verdict=_whole(contexts, facts),
        oracles=facts,
        contexts=contexts,
        limits=LimitFacts(clean_rows=limits.rows, sha256=dict(limits.digests) or None),
        not_seen=NOT_SEEN,
        seconds=round(time.monotonic() - started, 1),
    )  # fmt: skip
    document.write(directory)
    return document


def new_own_directory(runs: Path, file: Path, what: str) -> Path:
    """Create and return the directory of a verification. Raises DirectoryError when that is not possible."""
    require_writable(runs)
    return new_directory(runs, f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}-{what}-{file.stem}")


def asked_of(file: Path, framework: str, **more: object) -> Asked:
    """Return what is asked of a file as it is now, which this user has named."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    remember(FILES, digest)
    return Asked(file=file.resolve(), sha256=digest, framework=framework, **more)  # type: ignore[arg-type]


def _updates_of(precision: str) -> str:
    return f"updates-{precision}"


def _run_all(
    asked: Asked,
    settings: Sequence[Setting],
    directory: Path,
    oracles: dict[str, Path],
    *,
    jobs: int,
    tell: Callable[[str], None],
) -> dict[str, Ended]:
    """Run the oracles and every context, `jobs` at a time; one of several threads has all cores, beside what else runs there.

    A single context is done long before its floors are drawn: then another process draws, too.
    """
    ended: dict[str, Ended] = {}
    shares_draws = jobs > 1 and len(settings) == 1

    def oracle(precision: str, cores: list[int] | None) -> Ended:
        given = given_of(asked, precision)
        seeds = [seed_of(given)] if given else []
        done = run(
            asked,
            oracles[precision],
            task="oracle",
            precision=precision,
            seeds=seeds,
            shares_draws=shares_draws,
            cores=cores,
        )
        if done.failure:
            (oracles[precision] / frame.FAILED).touch()
        return done

    def context(setting: Setting, cores: list[int] | None) -> Ended:
        return run(
            asked,
            directory / setting.directory,
            task="context",
            mode=setting.context.mode,
            precision=setting.context.precision,
            determinism=setting.context.determinism,
            device=setting.context.device,
            devices=setting.context.devices,
            threads=setting.threads,
            cores=cores,
            expected=[oracles[setting.context.precision]],
        )

    def draws(precision: str, cores: list[int] | None) -> Ended:
        place = directory / draws_name(precision)
        return run(asked, place, task="draws", precision=precision, expected=[oracles[precision]], cores=cores)

    def work(item: _Item, cores: list[int] | None) -> dict[str, Ended]:
        if not isinstance(item, Setting):
            return {item.name: (oracle if item.is_whole else draws)(item.precision, cores)}
        own, precision = context(item, cores if item.threads * item.context.devices == 1 else None), item.context.precision
        found = {item.directory: own}
        if shares_draws and _has_answers(own):
            found[_updates_of(precision)] = _update(asked, directory, precision, [own], cores)
        return found

    # What compiles takes the longest, and comes first.
    ordered = sorted(settings, key=lambda setting: setting.context.mode != "compile")
    items: list[_Item] = [*map(_Oracle, oracles), *ordered]
    items += [_Oracle(precision, is_whole=False) for precision in oracles if shares_draws]
    total = len(items) + shares_draws

    def on_end(done: int, results: dict[str, Ended]) -> None:
        for name, end in results.items():
            ended[name] = end
            tell(f"[{len(ended)}/{total}] {name}: {end.failure.category if end.failure else 'done'} after {end.seconds:.0f} s")

    side_by_side(items, work, jobs=jobs, stop=asked.stop, on_end=on_end)
    return ended


def _run_updates(
    asked: Asked,
    settings: Sequence[Setting],
    directory: Path,
    ended: dict[str, Ended],
    precisions: Sequence[str],
    *,
    jobs: int,
    tell: Callable[[str], None],
) -> None:
    """Hold what contexts made of their gradients to the optimizer in float64, one process for each precision."""
    answered = {
        precision: [
            ended[setting.directory]
            for setting in settings
            if setting.context.precision == precision and _has_answers(ended[setting.directory])
        ]
        for precision in precisions
        if _updates_of(precision) not in ended
    }

    def work(precision: str, cores: list[int] | None) -> tuple[str, Ended]:
        return _updates_of(precision), _update(asked, directory, precision, answered[precision], cores)

    def on_end(done: int, result: tuple[str, Ended]) -> None:
        ended[result[0]] = result[1]
        tell(f"{result[0]}: {result[1].failure.category if result[1].failure else 'done'} after {result[1].seconds:.0f} s")

    side_by_side([each for each in answered if answered[each]], work, jobs=jobs, stop=asked.stop, on_end=on_end)


def _has_answers(context: Ended) -> bool:
    return (context.directory / frame.ANSWERS).exists()


def _update(asked: Asked, directory: Path, precision: str, contexts: Iterable[Ended], cores: list[int] | None) -> Ended:
    expected = [each.directory for each in contexts]
    return run(asked, directory / _updates_of(precision), task="updates", precision=precision, cores=cores, expected=expected)


def _found(setting: Setting, ended: dict[str, Ended], limits: Limits) -> _Found:
    own, oracle = ended[setting.directory], ended[oracle_name(setting.context.precision)]
    updating = ended.get(_updates_of(setting.context.precision))
    # A context whose updates nobody could hold to anything has not been looked at whole.
    failure = oracle.failure or own.failure or (updating.failure if updating else None)
    if failure:
        return _Found(setting, own, failure, [], None, StepVerdict(name=failure.verdict, reason=failure.message, failure=failure))
    answers, of_oracle = own.read(frame.ANSWERS), oracle.read(frame.FLOORS)
    floors = of_oracle["floors"]
    repeated = answers[frame.REPEAT]
    judged = judge(differences_of(answers, floors, own.read(frame.UPDATES)), limits, setting.context.precision)
    verdict = verdict_of(judged, of_oracle["facts"].get(frame.OVERFLOW, {}))
    return _Found(setting, own, None, judged, Repeated(calls=repeated["calls"], results=repeated["results"]), verdict)


def _look(
    asked: Asked,
    found: Sequence[_Found],
    directory: Path,
    ended: dict[str, Ended],
    limits: Limits,
    *,
    jobs: int,
    tell: Callable[[str], None],
) -> dict[str, StepOrigin | None]:
    """Return the origin of what is wrong, by context, from a look into some of the contexts."""
    is_wrong = (each for each in found if each.verdict.name is Verdict.REGRESSED and each.setting.context.devices == 1)
    wrong = list(itertools.islice(is_wrong, _MOST_LOOKS))
    if not wrong:
        return {}
    tell(f"looking for the origin of what is wrong in {', '.join(each.setting.text for each in wrong)}")
    oracles: dict[str, Ended] = {}

    def look_of_oracle(precision: str, cores: list[int] | None) -> Ended:
        seed = seed_of(ended[oracle_name(precision)].directory)
        place = directory / f"look-oracle-{precision}"
        oracles[precision] = run(asked, place, task="oracle", precision=precision, looks=True, seeds=[seed], cores=cores)
        return oracles[precision]

    def look(each: _Found, cores: list[int] | None) -> tuple[str, StepOrigin | None]:
        context, oracle = each.setting.context, oracles[each.setting.context.precision]
        looked: list[Judged] = []
        if not oracle.failure:
            inside = run(
                asked,
                directory / f"look-{each.setting.directory}",
                task="context",
                looks=True,
                mode=context.mode,
                precision=context.precision,
                determinism=context.determinism,
                device=context.device,
                threads=each.setting.threads,
                cores=cores,
                expected=[oracle.directory],
            )
            if not inside.failure:
                floors = oracle.read(frame.FLOORS)["floors"]
                looked = judge(differences_of(inside.read(frame.ANSWERS), floors, {}), limits, context.precision)
        return each.setting.directory, origin_of(looked, each.judged)

    precisions = list(dict.fromkeys(each.setting.context.precision for each in wrong))
    side_by_side(precisions, look_of_oracle, jobs=jobs, stop=asked.stop, on_end=lambda done, result: None)
    return dict(side_by_side(wrong, look, jobs=jobs, stop=asked.stop, on_end=lambda done, result: None))


def _context_of(found: _Found, origins: dict[str, StepOrigin | None]) -> StepContext:
    setting, ended, judged = found.setting, found.ended, found.judged
    if found.verdict.name is Verdict.UNSUPPORTED:  # what follows from a number that the program cannot hold says nothing
        judged = []
    out = sorted((each for each in judged if each.score > 1.0), key=lambda each: -each.score)
    worst = worst_of(judged)
    return StepContext(
        context=setting.context,
        threads=setting.threads,
        verdict=found.verdict,
        tensors=len(judged),
        tensors_out=len(out),
        worst=worst.as_document if worst else None,
        out=tuple(each.as_document for each in out[:_MOST_OUT]),
        origin=origins.get(setting.directory),
        repeated=found.repeated,
        environment=ended.environment,
        directory=ended.directory.name,
        seconds=ended.seconds,
    )


def _oracle_facts(precision: str, ended: Ended) -> OracleFacts:
    facts = {} if ended.failure else ended.read(frame.FLOORS)["facts"]
    return OracleFacts(
        precision=precision,
        seed=facts.get("seed"),
        candidates=facts.get("candidates"),
        operators=facts.get("operators"),
        loss_scale=facts.get("loss_scale"),
        draws=DRAWS,
        flips=facts.get("flips", {}),
        derivatives=derivatives_of(facts.get("derivative", {})),
        remarks=tuple(facts.get("remarks", ())),
        failure=ended.failure,
        seconds=ended.seconds,
    )


def _whole(contexts: Sequence[StepContext], oracles: Sequence[OracleFacts]) -> StepVerdict:
    """Return the verdict on the file: that of its worst context. One that is unsupported counts as nothing beside others."""
    for oracle in oracles:
        if (wrong := wrong_derivative(oracle.derivatives)) is not None:
            return StepVerdict(name=Verdict.REGRESSED, reason=wrong)
    names = [each.verdict.name for each in contexts]
    failed = [each for each in contexts if each.verdict.name.is_failed]
    wrong_ones = [each for each in contexts if each.verdict.name is Verdict.REGRESSED]
    if wrong_ones:
        others = f" and {len(wrong_ones) - 1} more" if len(wrong_ones) > 1 else ""
        return StepVerdict(name=Verdict.REGRESSED, reason=f"{wrong_ones[0].text}{others}: {wrong_ones[0].verdict.reason}")
    if failed:
        return failed[0].verdict
    for name in _WORST_FIRST:
        if name in names and name is not Verdict.UNSUPPORTED:
            count = sum(each is name for each in names)
            return StepVerdict(name=name, reason=f"{count} of {len(names)} contexts")
    return contexts[0].verdict

"""Everything that is asked of one context: runs that differ in nothing, then in one thing each."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone

import numpy as np

from runners.contract.kinds.weights import initial_state
from runners.contract.protocol.checkpoint import CHECKPOINT, load_state
from vigil.determinism.inference import TWINS, predicted, rows_of
from vigil.determinism.judge import answer_of, cost_of, distance, first_different, is_same, twin_of
from vigil.determinism.trial import Bench, Trial, run_trial
from vigil.documents.context import Context
from vigil.documents.determinism import (
    DIFFERENT,
    FAILED,
    ROUNDING,
    SAME,
    UNSTABLE,
    Axis,
    Determinism,
    DeterminismRun,
    OtherMachine,
    RunToRun,
)  # fmt: skip
from vigil.documents.provenance import NamedRelease, PlantedFault
from vigil.errors import CannotRun
from vigil.process.build_spec import rows_of_part
from vigil.process.environment import describe_machine
from vigil.process.side_by_side import available_cores
from vigil.runs.contexts import uneven_shards

PAIRS = 5
# What `--determinism on` sets in each framework, as its runner's determinism.py does.
SWITCHES = {
    "torch": "torch.use_deterministic_algorithms(True), cudnn.benchmark off, CUBLAS_WORKSPACE_CONFIG=:4096:8",
    "tensorflow": "tf.config.experimental.enable_op_determinism()",
    "jax": "on GPUs --xla_gpu_deterministic_ops and no autotuning; on CPUs nothing, since nothing varies",
}
_COMPILED = {
    "torch": {"TORCHINDUCTOR_CACHE_DIR": "{folder}"},
    "jax": {
        "JAX_COMPILATION_CACHE_DIR": "{folder}", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    },
}  # fmt: skip
_WORST_FIRST = (FAILED, DIFFERENT, ROUNDING, SAME)


@dataclasses.dataclass
class _Work:
    """What has been run so far. base: that all others are held to."""

    bench: Bench
    runs: list[DeterminismRun]
    base: Trial | None = None
    floor: float = 0.0

    def trial(self, name: str, *, context: Context | None = None, is_listed: bool = True, **facts: object) -> Trial:
        """Run once more, and note it."""
        trial = run_trial(self.bench, name, context=context, **facts)  # type: ignore[arg-type]
        if is_listed:
            self.runs.append(trial.told(is_on=(context or self.bench.context).determinism == "on"))
        return trial


def measure(
    bench: Bench,
    *,
    determinism_id: str,
    command: str,
    release: NamedRelease | None,
    progress: Callable[[int], None] = lambda done: None,
    pairs: int = PAIRS,
    others: Sequence[Determinism] = (),
) -> Determinism:
    """Run everything, one run after the other, and return the document.

    Args:
        others: what other machines found of the same.

    Raises:
        CannotRun: no run came to an end.
    """
    began, work = time.monotonic(), _Work(bench, [])
    off_on = {name: dataclasses.replace(bench.context, determinism=name) for name in ("off", "on")}
    trials: dict[str, list[Trial]] = {"off": [], "on": []}
    for number in range(pairs):
        # In turns, each first every other time, so that what the machine does beside them weighs on both alike.
        for name in ("off", "on") if number % 2 == 0 else ("on", "off"):
            trials[name].append(work.trial(f"{name} {number + 1}", context=off_on[name]))
            progress(len(work.runs))
    if all(each.state is None for each in trials["off"]):
        failure = trials["off"][0].failure
        raise CannotRun(f"{bench.context.text}: no run came to an end: {failure.message if failure else 'interrupted'}")
    stable = next((name for name in ("off", "on") if _is_stable(trials[name])), None)
    axes: list[Axis] = []
    if stable:
        work.bench = dataclasses.replace(bench, context=off_on[stable])
        work.base = next(each for each in trials[stable] if each.state is not None)
        work.floor = _floor(work)
        for axis in _axes(work):
            axes.append(axis)
            progress(len(work.runs))
    else:
        axes = [Axis(name="all", what="every other axis", answer=UNSTABLE, says="runs that differ in nothing already part")]
    finished = [(one.rate, two.rate) for one, two in zip(trials["off"], trials["on"], strict=True) if one.rate and two.rate]
    record = (work.base or trials["off"][0]).record
    planted = bench.fault
    return Determinism(
        determinism_id=determinism_id,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        recipe=bench.recipe,
        context=bench.context,
        framework_version=str(record.environment.get("framework_version")),
        release=release,
        fault=PlantedFault(name=planted["name"], sha256=planted["sha256"]) if planted else None,
        steps=bench.training["steps"],
        runs=tuple(work.runs),
        run_to_run=tuple(_run_to_run(trials[name], is_on=name == "on") for name in ("off", "on")),
        switch=SWITCHES[bench.context.framework],
        cost=cost_of([each for each, _ in finished], [each for _, each in finished]) if finished else None,
        floor=work.floor if work.base else None,
        twins=TWINS if work.base else 0,
        axes=tuple(axes),
        others=tuple(_beside(each, work.base or trials["off"][0]) for each in others),
        environment={**describe_machine(), **record.environment},
        seconds=round(time.monotonic() - began, 1),
    )


def _beside(other: Determinism, base: Trial) -> OtherMachine:
    """Hold the first run of another machine's document to the base."""
    first = next((each for each in other.runs if each.state_sha256), other.runs[0])
    return OtherMachine(
        hardware=str(other.environment.get("hardware")),
        cpu_flags=str(other.environment.get("cpu_flags")),
        same=first.state_sha256 is not None and first.state_sha256 == base.sha256,
        losses=(base.record.losses[-1] if base.record.losses else None, first.loss),
    )


def _is_stable(trials: Sequence[Trial]) -> bool:
    finished = [each.sha256 for each in trials if each.state is not None]
    return len(finished) > 1 and len(set(finished)) == 1


def _run_to_run(trials: Sequence[Trial], *, is_on: bool) -> RunToRun:
    finished = [each.sha256 for each in trials if each.state is not None]
    return RunToRun(is_on=is_on, runs=len(trials), distinct=len(set(finished)), failed=len(trials) - len(finished))


def _floor(work: _Work) -> float:
    """Return how far rounding alone puts the final weights, at most, among runs that begin with weights moved by it."""
    assert work.base is not None
    begun, precision = initial_state(work.bench.training, seed=work.bench.seed), work.bench.context.precision
    found = []
    for draw in range(TWINS):
        twin = work.trial(f"twin {draw + 1}", checkpoint=(twin_of(begun, precision, draw=draw), 0))
        if twin.state is not None:
            found.append(distance(work.base.weights, twin.weights))
    return max(found, default=0.0)


def _axes(work: _Work) -> Iterator[Axis]:
    """Yield each axis as soon as its runs have ended."""
    bench, cores = work.bench, available_cores()
    context, batch = bench.context, bench.training["batch_size"]
    parts = batch // rows_of_part(bench.training)
    if len(cores) > 1 and context.devices == 1:
        one = work.trial("one thread", cores=cores[:1])
        yield _held(work, "threads", f"one thread, not {len(cores)}", [one])
    if context.devices == 1 and context.device == "cpu":
        if parts > 1:
            two = dataclasses.replace(context, devices=2, shards=None)
            yield _held(work, "even devices", "two devices with half of each batch", [work.trial("two devices", context=two)])
        if parts > 2:
            shards = uneven_shards(batch, rows=rows_of_part(bench.training))
            uneven = dataclasses.replace(context, devices=2, shards=shards)
            what = f"two devices with {shards[0]} and {shards[1]} rows of each batch"
            yield _held(work, "uneven devices", what, [work.trial("two devices uneven", context=uneven)])
    yield _resumed(work)
    seeds = [work.trial(f"hash seed {seed}", variables={"PYTHONHASHSEED": str(seed)}) for seed in (1, 2)]
    yield _held(work, "hash seed", "PYTHONHASHSEED 1 and 2, not a random one", seeds)
    if (keeps := _COMPILED.get(context.framework)) and (context.framework == "jax" or context.mode == "compile"):
        with tempfile.TemporaryDirectory(prefix="vigil-compiled-") as folder:
            variables = {name: value.format(folder=folder) for name, value in keeps.items()}
            both = [work.trial(f"compiled {name}", variables=variables) for name in ("anew", "from cache")]
        yield _held(work, "compilation", "compiled anew, and read from a cache", both)
    yield from _inference(work)


def _resumed(work: _Work) -> Axis:
    """Go on from the base run's own checkpoint in another process."""
    assert work.base is not None
    name, what = "resumed", "ended at a checkpoint and gone on with in another process"
    try:
        state, step = load_state(work.base.directory / CHECKPOINT)
    except (OSError, ValueError):
        return Axis(name=name, what=what, answer=FAILED, says="the run left no checkpoint before its end")
    trial = work.trial("resumed", checkpoint=(state, step))
    return _held(work, name, f"{what}, after step {step}", [trial], losses_from=step)


def _held(work: _Work, name: str, what: str, trials: Sequence[Trial], *, losses_from: int = 0) -> Axis:
    """Hold runs to the base, and return the worst of them as an axis."""
    base = work.base
    assert base is not None
    found = []
    for trial in trials:
        if trial.state is None:
            said = trial.failure.message if trial.failure else "interrupted"
            found.append(Axis(name=name, what=what, answer=FAILED, says=said.splitlines()[0][:200] if said else ""))
            continue
        same = is_same(base.weights, trial.weights)
        apart = 0.0 if same else distance(base.weights, trial.weights)
        before = list(base.record.losses[losses_from:])
        step = first_different(before, list(trial.record.losses))
        evaluated = trial.evaluations == base.evaluations[len(base.evaluations) - len(trial.evaluations) :]
        answer = answer_of(same=same, apart=apart, floor=work.floor)
        if answer == SAME and not evaluated:
            answer = DIFFERENT  # equal weights, and another number of them
        says = "" if same else f"first seen in the loss of step {step + losses_from}" if step else "seen in the weights alone"
        floors = apart / work.floor if work.floor and not same else None
        found.append(
            Axis(
                name=name, what=what, answer=answer, first_step=step + losses_from if step else None,
                distance=None if same else apart, floors=floors,
                says=says if evaluated or not same else "equal weights, and other numbers from their evaluation",
            )
        )  # fmt: skip
    return min(found, key=lambda axis: _WORST_FIRST.index(axis.answer))


def _inference(work: _Work) -> Iterator[Axis]:
    """Ask the final weights for some rows: in two processes, and each row alone."""
    base = work.base
    assert base is not None
    assert base.state is not None
    if work.bench.context.devices > 1:
        return
    one, first = predicted(work.bench, "inference 1", base.state, is_alone=True)
    two, second = predicted(work.bench, "inference 2", base.state, is_alone=False)
    rows = rows_of(work.bench)
    what = f"{rows} rows of the final weights in another process"
    if "batch" not in first or "batch" not in second:
        failure = one.failure or two.failure
        yield Axis(name="inference", what=what, answer=FAILED, says=failure.message[:200] if failure else "no answer")
        return
    whole = first["batch"]
    twins = [first[name] for name in first if name.startswith("twin")]
    floor = max((distance({"": whole}, {"": each}) for each in twins), default=0.0)
    yield _rows(work, "inference", what, [(whole, second["batch"])], floor)
    alone = [(whole[[row]], first[f"row {row}"]) for row in range(rows) if f"row {row}" in first]
    if alone:
        yield _rows(work, "row alone", f"a row alone, not among {rows}", alone, floor)


def _rows(work: _Work, name: str, what: str, pairs: Sequence[tuple[np.ndarray, np.ndarray]], floor: float) -> Axis:
    same = all(is_same({"": one}, {"": other}) for one, other in pairs)
    apart = max(distance({"": one}, {"": other}) for one, other in pairs)
    return Axis(
        name=name, what=what, answer=answer_of(same=same, apart=apart, floor=floor), distance=None if same else apart,
        floors=apart / floor if floor and not same else None,
    )  # fmt: skip

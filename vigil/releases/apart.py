"""How far two releases are apart, whatever the metric says: single steps, losses and final parameters, in noise floors.

Single steps begin from the same states on both sides, so that their distance is a release's own. Free-running training carries
every rounding on: losses and final parameters are told as shares of their size too, beside what another seed would have changed.
Nothing is judged here: each side's steps were held against float64 before, and that judges them.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from runners.contract.errors import DAMAGED_ARCHIVE
from runners.contract.protocol.cases import CASES, read_answers
from runners.contract.protocol.checkpoint import FINAL, load_state
from vigil.documents.comparison import LossesMoved, StatesMoved, StepMoved
from vigil.documents.invocation import Invocation
from vigil.documents.verdict import Verdict
from vigil.documents.verification import Verification
from vigil.errors import CannotRun, VigilError
from vigil.process.recording import read_record, spec_of
from vigil.verify.distance import compare
from vigil.verify.examination import remove_tensors
from vigil.verify.floors import Floor
from vigil.verify.golden import Golden, load_golden, path_of
from vigil.verify.standard_cases import derived
from vigil.verify.standards import RUNNER

_FIRST_STEP, _LATE_STEP = "init/full", "late/full"
Tensors = Mapping[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Moved:
    """What moved between two sides. why_no_floors: why nothing can be told in noise floors, if it cannot."""

    steps: tuple[StepMoved, ...]
    losses: LossesMoved | None
    states: StatesMoved | None
    why_no_floors: str | None = None


def what_moved(old: Path, new: Path) -> Moved:
    """Return how far two invocations of the same runs are apart, and remove the tensors of verifications that were right.

    Args:
        old, new: their directories. The answers to their verifications were kept.
    """
    invocation, verified = Invocation.read(old), [_verified(directory) for directory in (old, new)]
    precision, tape, problem = invocation.context.precision, None, None
    steps: tuple[StepMoved, ...] = ()
    try:
        tape = _tape_of(old, invocation)
        steps = _steps_moved(tape, *verified, precision=precision)
        problem = None if steps else "no training step was answered under both"
    except VigilError as error:
        problem = str(error).rstrip(".")
    for directory in verified:
        _remove_what_is_right(directory)
    floors = tape.floors.get(precision, {}) if tape else {}
    size = tape.norms[_FIRST_STEP]["loss"] if tape else math.nan
    first = floors[_FIRST_STEP]["loss"].distance / size if floors and size else None
    return Moved(steps, losses_moved(old, new, floor=first), states_moved(old, new, floors=floors.get(_LATE_STEP, {})), problem)


def losses_moved(old: Path, new: Path, *, floor: float | None = None) -> LossesMoved | None:
    """Return by how much the losses of the same seeds differ between two invocations, as a share of the larger of each two.

    Args:
        floor: how far rounding moves the loss of a first step, as a share of it, where that is known.
    """
    before, after = _losses(old), _losses(new)
    shares = [list(map(_share, before[seed], after[seed])) for seed in before.keys() & after.keys()]
    if not shares:
        return None
    by_step = [max(step) for step in itertools.zip_longest(*shares, fillvalue=0.0)]
    since = next((index for index, share in enumerate(by_step, start=1) if share), None)
    largest = max(by_step)
    return LossesMoved(
        first_step=by_step[0],
        first_step_floors=by_step[0] / floor if floor else None,
        largest=largest,
        step=by_step.index(largest) + 1,
        since=since,
        seeds=len(shares),
    )


def states_moved(old: Path, new: Path, *, floors: Mapping[str, Floor]) -> StatesMoved | None:
    """Return how far the final states of the same seeds are apart; None where no seed has one on both sides.

    Args:
        floors: of the parameters after one late step, where they are known.
    """
    before, after = _final_states(old), _final_states(new)
    seeds = sorted(before.keys() & after.keys())
    if not seeds:
        return None
    every = [
        (name, _distance(array, after[seed].get(name)), _norm([array])) for seed in seeds for name, array in before[seed].items()
    ]

    def in_floors(name: str, distance: float) -> float:
        return _over(distance, floors[name].distance) if name in floors else 0.0

    tensor, distance, size = max(every, key=lambda each: in_floors(*each[:2]) if floors else _over(*each[1:]))
    shares = [_apart(before[seed], after[seed]) for seed in seeds]
    between_seeds = [_apart(before[seed], before[other]) for seed, other in itertools.pairwise(seeds)]
    return StatesMoved(
        seeds=len(seeds),
        equal=shares.count(0.0),
        share=max(shares),
        between_seeds=statistics.median(between_seeds) if between_seeds else None,
        tensor=tensor,
        tensor_share=_over(distance, size),
        tensor_floors=in_floors(tensor, distance) if floors else None,
    )


def _verified(directory: Path) -> Path:
    """Return the directory of an invocation's first rung; where it has none, one in which nothing is."""
    rung = Invocation.read(directory).verify
    return (directory / rung.path).parent if rung and rung.path else directory


def _tape_of(directory: Path, invocation: Invocation) -> Golden:
    """Return the golden tape that an invocation's first rung was held against. Raises CannotRun where there is none."""
    recipe, spec = invocation.recipe, spec_of(directory / invocation.runs[0])
    path = path_of(recipe.name, recipe.profile, source=invocation.source)
    data_directory = Path(spec.data_directory) if spec.data_directory else None
    return load_golden(path, recipe=recipe, data_directory=data_directory, source=invocation.source)


def _steps_moved(tape: Golden, old: Path, new: Path, *, precision: str) -> tuple[StepMoved, ...]:
    """Return, of each step that both sides answered, the tensor that is furthest from the other side's."""
    if precision not in tape.floors:
        raise CannotRun(f"the golden tape has no noise floors for {precision}")
    answers = [_answers(each / RUNNER) for each in (old, new)]
    to_float64 = [_ratios(each) for each in (old, new)]
    cases = {case.name: case for case in tape.cases}
    found = []
    for name in (name for name in answers[0] if name in answers[1] and name in cases):
        state, floors = tape.probes[cases[name].state].state, tape.floors[precision][name]
        before, after = (derived(tape.training, state, each[name]) for each in answers)
        ratios = {tensor: _ratio(name, tensor, before, after, floor=floor) for tensor, floor in floors.items()}
        tensor, ratio = max(ratios.items(), key=lambda each: each[1])
        found.append(
            StepMoved(
                case=name,
                tensors=len(ratios),
                equal=sum(not each for each in ratios.values()),
                tensor=tensor,
                ratio=ratio,
                old_ratio=to_float64[0].get((name, tensor)),
                new_ratio=to_float64[1].get((name, tensor)),
            )
        )
    return tuple(found)


def _ratio(case: str, tensor: str, before: Tensors, after: Tensors, *, floor: Floor) -> float:
    """Return how far a tensor is from the other side's, in floors; what one side alone has is infinitely far."""
    if tensor not in before or tensor not in after:
        return math.inf if tensor in before or tensor in after else 0.0
    if np.array_equal(before[tensor], after[tensor], equal_nan=True):
        return 0.0
    reference = {tensor: np.asarray(before[tensor], np.float64)}
    [difference] = compare(case, after, reference, {tensor: floor})
    return difference.ratio


def _answers(directory: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return what a runner answered, by the name of the case; nothing of cases that it did not come to. Raises CannotRun."""
    if not (directory / CASES).is_file():
        return {}
    lines = json.loads((directory / CASES).read_text(encoding="utf-8"))
    there = [index for index in range(len(lines)) if (directory / f"answers-{index}.npz").is_file()]
    try:
        return {lines[index]["name"]: read_answers(directory, index) for index in there}
    except DAMAGED_ARCHIVE as error:
        raise CannotRun(f"{directory}: no whole answers ({type(error).__name__}: {error})") from error


def _ratios(directory: Path) -> dict[tuple[str, str], float]:
    """Return how far each tensor of a verification is from float64, in floors."""
    try:
        return {(each.case, each.tensor): each.ratio for each in Verification.read(directory).tensors}
    except (OSError, VigilError):
        return {}


def _remove_what_is_right(directory: Path) -> None:
    """Remove the tensors of a verification that found nothing wrong; those of another one are evidence."""
    try:
        is_right = Verification.read(directory).verdict.name is Verdict.REPRODUCED
    except (OSError, VigilError):
        return
    if is_right:
        remove_tensors(directory / RUNNER)


def _losses(directory: Path) -> dict[int, tuple[float, ...]]:
    """Return the losses of the runs of an invocation that have any, by seed."""
    records = [read_record(directory / name) for name in Invocation.read(directory).runs]
    return {record.seed: record.losses for record in records if record and record.losses}


def _final_states(directory: Path) -> dict[int, dict[str, np.ndarray]]:
    """Return the parameters at the end of the runs of an invocation, by seed."""
    found = {}
    for name in Invocation.read(directory).runs:
        record = read_record(directory / name)
        try:
            state, _ = load_state(directory / name / FINAL)
        except (OSError, ValueError):
            continue
        if record and record.status == "finished":
            found[record.seed] = {name: array for name, array in state.items() if name.startswith("params/")}
    return found


def _share(one: float, other: float) -> float:
    """Return a difference as a share of the larger; infinite where one of the two alone is no number."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    share = abs(one - other) / max(abs(one), abs(other))
    return share if math.isfinite(share) else math.inf


def _apart(one: Tensors, other: Tensors) -> float:
    """Return how far two states are apart, all arrays together, as a share of the first one's size."""
    return _over(math.hypot(*(_distance(array, other.get(name)) for name, array in one.items())), _norm(one.values()))


def _distance(one: np.ndarray, other: np.ndarray | None) -> float:
    """Return the norm of a difference; infinite where there is nothing to take it from, or it is no number."""
    if other is None or np.shape(one) != np.shape(other):
        return math.inf
    if np.array_equal(one, other, equal_nan=True):
        return 0.0
    distance = float(np.linalg.norm(np.asarray(one, np.float64) - np.asarray(other, np.float64)))
    return distance if math.isfinite(distance) else math.inf


def _norm(arrays: Iterable[np.ndarray]) -> float:
    return math.hypot(*(float(np.linalg.norm(np.asarray(array, np.float64))) for array in arrays))


def _over(distance: float, size: float) -> float:
    """Return a distance in a unit; what moved by no more than nothing is at 0, and anything else infinitely far."""
    return distance / size if size > 0 else math.inf if distance > 0 else 0.0

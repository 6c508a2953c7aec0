"""How a verify task answers its cases, but for the framework: which calls are made, from which state, and what is written.

Every call begins from the state that the case names (teacher forcing): no call sees what an earlier one left. The exception is a
trajectory, which is about what calls leave.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from runners.contract.data.batches import Labels
from runners.contract.errors import Unsupported
from runners.contract.kinds.table import kind_of
from runners.contract.protocol.cases import Answers, Case, Probes, by_trainer, read_cases
from runners.contract.protocol.checkpoint import State
from runners.contract.protocol.session import Session
from runners.contract.protocol.spec import RunSpec

_DIFFERING_KEPT = 8
_CHANGED_KEPT = 20


@dataclasses.dataclass(frozen=True)
class Segments:
    """The inputs of a `segments` case, canonical: taps are [batch, height, width, channel] or [batch, channel]."""

    images: np.ndarray
    labels: Labels
    taps: tuple[str, ...]
    cuts: tuple[str, ...]
    leaves: Answers
    cotangents: Answers
    scale: float

    def backwards(self) -> Segments:
        """Return the same rows in reverse order: the same work on other inputs."""
        leaves, cotangents, images, labels = map(_reversed, (self.leaves, self.cotangents, self.images, self.labels))
        return dataclasses.replace(self, images=images, labels=labels, leaves=leaves, cotangents=cotangents)


@dataclasses.dataclass(frozen=True)
class Choices:
    """The inputs of a `choose` case, canonical: `leaves` are put in the place of their taps, `taps` are those to tell of."""

    images: np.ndarray
    labels: Labels
    leaves: Answers
    taps: tuple[str, ...]


class Prober(Protocol):
    """One framework's programs for one size of batch, in the context's mode and precision."""

    warm_up_calls: int
    """How often a program must have been called before it is the one that training mostly runs."""
    has_forward_alone: bool
    """Does `training_forward` leave out the backward pass? If it does not, it takes as long as a step and shows less."""

    def set_state(self, state: State) -> None: ...

    def set_weights(self, state: State) -> None:
        """Load the parameters and statistics of a state, and leave optimizer and loss scaler as they are."""

    def get_state(self) -> State: ...

    def train_step(self, images: np.ndarray, labels: Labels, learning_rate: float) -> Any:
        """Take one step; return the loss."""

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Return logits in evaluation mode, [batch, class]."""

    def training_forward(self, images: np.ndarray, labels: Labels) -> Any:
        """Make one forward pass in training mode, of which only the running statistics are left; return the loss."""

    def accumulate(self, batches: list[tuple[np.ndarray, Labels]], learning_rate: float) -> Any:
        """Take one step by the mean of the micro-batches' gradients; return the mean of their losses."""

    def replica_spread(self) -> dict[str, float]:
        """Return how far apart devices hold what they should hold alike: the largest difference of params, momentum and stats."""

    def segments(self, example: Segments) -> Callable[[Segments], Answers]:
        """Return the program that gives outputs, leaf and parameter gradients, loss and types; statistics move in the state."""

    def choices(self, example: Choices) -> Callable[[], Answers]:
        """Return the program that gives the outputs of some taps, where others are given."""


def answer_cases(session: Session, make_prober: Callable[[RunSpec, tuple[np.ndarray, Labels]], Prober]) -> None:
    """Answer every case of the session's run in order, and finish it.

    Args:
        make_prober: (spec, an example of a training batch) -> prober; called for every new size of batch.
    """
    probes = Probes(session.directory, kind_of(session.spec.training))
    for spec, cases in by_trainer(session.spec, read_cases(session.directory)):
        session.enter("build")
        prober = make_prober(spec, _example(cases, probes))
        kinds: dict[str, Callable[..., Answers]] = {**_KINDS, "segments": functools.partial(_segments, programs={})}
        session.enter("verify")
        for case in cases:
            if case.is_fresh and case is not cases[0]:
                raise ValueError(f"case {case.name!r}: its optimizer is not fresh, for {cases[0].name!r} was answered with it")
            start = time.monotonic()
            answers = kinds[case.kind](case, probes, prober, session.called)
            session.probed(case.index, case.name, answers=answers, seconds=time.monotonic() - start)
    session.finish(None)


def require_oracle(spec: RunSpec) -> None:
    """Raise Unsupported for a context that nobody can judge."""
    if spec.devices > 1 and kind_of(spec.training).across_devices(spec.training["model"]) == "per_device":
        raise Unsupported("verify has no oracle for batch norm per_device on several devices")


def _example(cases: list[Case], probes: Probes) -> tuple[np.ndarray, Labels]:
    """Return the first training batch of cases of one size; one that only predicts has none. Raises ValueError if none has."""
    for case in cases:
        for key in case.batches or ((case.batch,) if case.kind in ("step", "choose", "segments") else ()):
            return probes.batch(key, rows=sum(case.shards))
    raise ValueError(f"cases {[case.name for case in cases]} have no training batch: ask for a step of that size first")


def _reversed(rows: Any) -> Any:
    """Return an array, or several by name, with the rows in reverse order."""
    return {name: array[::-1].copy() for name, array in rows.items()} if isinstance(rows, dict) else rows[::-1].copy()


def _step(case: Case, probes: Probes, prober: Prober, called) -> Answers:
    load = prober.set_weights if case.is_fresh else prober.set_state
    load(probes.state(case.state))
    loss = prober.train_step(*probes.batch(case.batch, rows=sum(case.shards)), case.learning_rate)
    return _after_step(loss, prober, called)


def _predict(case: Case, probes: Probes, prober: Prober, called) -> Answers:
    prober.set_state(probes.state(case.state))
    logits = _evaluated(case, probes, prober)
    called()
    return {"logits": logits, **_group(prober.get_state(), "stats/")}


def _alternate(case: Case, probes: Probes, prober: Prober, called) -> Answers:
    prober.set_state(probes.state(case.state))
    for key in case.batches:
        prober.training_forward(*probes.batch(key, rows=sum(case.shards)))
        called()
    prober.get_state()  # As before every evaluation: the running statistics that devices have of their own become one.
    logits = _evaluated(case, probes, prober)
    return {"logits": logits, **_group(prober.get_state(), "stats/", "params/")}


def _evaluated(case: Case, probes: Probes, prober: Prober) -> np.ndarray:
    """Return the logits of a case's images, in a batch that is filled up as the last one of a test set is."""
    images = probes.evaluated(case.batch, rows=case.evaluation_rows)
    blank = np.zeros((sum(case.evaluation_shards) - len(images), *images.shape[1:]), images.dtype)
    return prober.predict(np.concatenate([images, blank]))[: case.evaluation_rows]


def _accumulate(case: Case, probes: Probes, prober: Prober, called) -> Answers:
    prober.set_state(probes.state(case.state))
    batches = [probes.batch(key, rows=sum(case.shards)) for key in case.batches]
    return _after_step(prober.accumulate(batches, case.learning_rate), prober, called)


def _repeat(case: Case, probes: Probes, prober: Prober, called) -> Answers:
    """Write down the first call of each batch, and of all others those that are farthest from it, each bit pattern once."""
    state = probes.state(case.state)
    steps = case.times if case.steps is None else case.steps
    batches = [probes.batch(key, rows=sum(case.shards)) for key in case.batches]
    kept: list[dict[int, Answers]] = [{} for _ in batches]
    differing = []
    for call in range(-prober.warm_up_calls, case.times):
        prober.set_state(state)
        batch = batches[call % len(batches)]
        if call < steps or not prober.has_forward_alone:
            found = _after_step(prober.train_step(*batch, case.learning_rate), prober, called)
        else:
            loss = prober.training_forward(*batch)
            found = {"loss": np.asarray(float(loss)), **_group(prober.get_state(), "stats/")}
            called()
        if call < 0:
            continue
        seen = kept[call % len(batches)]
        if seen and not _repeats(next(iter(seen.values())), found):
            differing.append(call)
        if not any(_repeats(other, found) for other in seen.values()):
            seen[call] = found
        _forget_the_nearest(kept)
    calls = {call: answers for seen in kept for call, answers in seen.items()}
    answers = {f"{call}/{name}": array for call in sorted(calls) for name, array in calls[call].items()}
    return {**answers, "calls": np.array(sorted(calls), np.int64), "differing": np.array(differing, np.int64)}


def _trajectory(case: Case, probes: Probes, prober: Prober, called) -> Answers:
    """Take all steps in one go, and then some between kept states again, each time from the state that was kept.

    Both times the step has the same input, and its number among the calls is another. Of the second times, those are written
    that ended in other bits; of many, those that are farthest.
    """
    state = probes.state(case.state)
    batches = [probes.batch(key, rows=sum(case.shards)) for key in case.batches]

    def steps(first: int, last: int) -> Answers:
        losses = []
        for step in range(first, last):
            losses.append(float(prober.train_step(*batches[step % len(batches)], case.learning_rate)))
            called()
        return {"loss": np.array(losses), **_replicas(prober), **prober.get_state()}

    prober.set_state(state)
    steps(0, prober.warm_up_calls)
    prober.set_state(state)
    kept = {last: steps(first, last) for first, last in itertools.pairwise((0, *case.kept))}
    others: dict[int, Answers] = {}
    differing = []
    for first, last in itertools.pairwise(case.kept):
        if last not in case.again:
            continue
        prober.set_state({name: array for name, array in kept[first].items() if name in state})
        found = steps(first, last)
        if same_bits(found, kept[last]):
            continue
        differing.append(last)
        others[last] = found
        if len(others) > _DIFFERING_KEPT:
            del others[min(others, key=lambda last: _distance(others[last], kept[last]))]
    answers = {f"{step}/{name}": array for step, found in kept.items() for name, array in found.items()}
    answers |= {f"again/{step}/{name}": array for step, found in others.items() for name, array in found.items()}
    return {**answers, "differing": np.array(differing, np.int64)}


def _repeats(earlier: Answers, found: Answers) -> bool:
    """Has an earlier call given all that this one gives, to the bit? A forward pass gives less than a step."""
    return same_bits(found, {name: array for name, array in earlier.items() if name in found})


def _segments(case: Case, probes: Probes, prober: Prober, called, *, programs: dict[object, Callable]) -> Answers:
    """Called more than once, every other call has the rows backwards: with the same inputs, a stale buffer would not show.

    Cases that cut the model at the same taps have one program, which `programs` keeps.
    """
    images, labels = probes.batch(case.batch, rows=sum(case.shards))
    cotangents = probes.cotangents(case.leaves, case.cuts)
    inputs = Segments(images, labels, case.taps, case.cuts, probes.leaves(case.leaves), cotangents, case.scale)
    state = probes.state(case.state)
    prober.set_state(state)
    cut = case.taps, case.cuts
    program = programs[cut] = programs.get(cut) or prober.segments(inputs)
    first: list[Answers] = [{}, {}]
    changed: dict[str, list[int]] = {name: [] for name in inputs.leaves}
    for call in range(-prober.warm_up_calls, case.times):
        prober.set_state(state)
        found = program(inputs.backwards() if call % 2 else inputs)
        called()
        if call <= 1:
            first[call % 2] = {**found, **_group(prober.get_state(), "stats/")}
            continue
        for name, calls in changed.items():
            output = f"output/{name}"
            if not same_bits({output: found[output]}, {output: first[call % 2][output]}):
                calls.append(call)
    if case.times == 1:
        return first[0]
    return first[0] | {f"changed/{name}": np.array(calls[:_CHANGED_KEPT], np.int64) for name, calls in changed.items()}


def _choose(case: Case, probes: Probes, prober: Prober, called) -> Answers:
    images, labels = probes.batch(case.batch, rows=sum(case.shards))
    state = probes.state(case.state)
    prober.set_state(state)
    program = prober.choices(Choices(images, labels, probes.leaves(case.leaves), case.taps))
    answers: Answers = {}
    for _ in range(1 + prober.warm_up_calls):
        prober.set_state(state)
        answers = program()
        called()
    return answers


_KINDS = {
    "choose": _choose,
    "step": _step,
    "predict": _predict,
    "alternate": _alternate,
    "accumulate": _accumulate,
    "repeat": _repeat,
    "trajectory": _trajectory,
}


def same_bits(ours: Answers, theirs: Answers) -> bool:
    """Are names, types, shapes and bits the same? NaN equals itself here; 0.0 is not -0.0."""
    return ours.keys() == theirs.keys() and all(
        array.dtype == theirs[name].dtype and array.shape == theirs[name].shape and array.tobytes() == theirs[name].tobytes()
        for name, array in ours.items()
    )


def sum_of_parts(parts: list[Answers], *, scale: float) -> Answers:
    """Return the answers of all devices as one: rows joined in order, contributions added up and unscaled in float64.

    Each part has output/..., leaf_gradient/..., parameter_gradient/..., loss and dtype/... of one device.
    """
    joined: Answers = {}
    for name in parts[0]:
        group, arrays = name.split("/")[0], [part[name] for part in parts]
        if group == "dtype":
            joined[name] = arrays[0]
        elif group in ("output", "leaf_gradient"):
            joined[name] = np.concatenate(arrays)
        else:
            joined[name] = np.sum([array.astype(np.float64) for array in arrays], axis=0)
        if group.endswith("_gradient"):
            joined[name] = joined[name].astype(np.float64) / scale
    return joined


def _after_step(loss: Any, prober: Prober, called) -> Answers:
    replicas = _replicas(prober)
    answers = {"loss": np.asarray(float(loss)), **prober.get_state(), **replicas}
    called()
    return answers


def _replicas(prober: Prober) -> Answers:
    """Return how far devices are apart. Ask before the state is read: reading averages what they hold."""
    return {f"replicas/{name}": np.asarray(np.float64(value)) for name, value in prober.replica_spread().items()}


def _group(state: State, *prefixes: str) -> State:
    return {name: array for name, array in state.items() if name.startswith(prefixes)}


def _forget_the_nearest(kept: list[dict[int, Answers]]) -> None:
    """Drop the call that is nearest to the first of its batch, where there are more than are written."""
    distances: dict[int, tuple[float, dict[int, Answers]]] = {}
    if sum(len(seen) for seen in kept) <= _DIFFERING_KEPT + len(kept):
        return
    for seen in kept:
        first, *others = seen
        distances |= {call: (_distance(seen[call], seen[first]), seen) for call in others}
    nearest = min(distances, key=lambda call: distances[call][0])
    del distances[nearest][1][nearest]


def _distance(ours: Answers, theirs: Answers) -> float:
    """Return the largest distance of any array relative to its norm; infinite where it is not a number."""
    largest = 0.0
    for name, array in ours.items():
        with np.errstate(all="ignore"):
            norm = max(np.linalg.norm(np.ravel(theirs[name])), np.finfo(float).tiny)
            distance = np.linalg.norm(np.ravel(array - theirs[name])) / norm
        largest = max(largest, float("inf") if np.isnan(distance) else float(distance))
    return largest

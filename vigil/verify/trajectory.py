"""Hundreds of steps in a row, held piece by piece against the oracle and against themselves.

All other cases begin from a state that is loaded, and none of them makes a hundred calls: what goes wrong after a hundred, or in
one of 256, passes them. Here nothing is loaded on the way. Errors compound, so the oracle begins anew from each state that was
kept; a piece is eight steps long, in which they do not compound by much. Then pieces are taken once more from the state that was
kept, where the step has another number among the calls.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vigil.verify.distance import Difference, compare, plain
from vigil.verify.floors import Floor, floors_of
from vigil.verify.golden import Golden
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.rounding import UNITS, Rounding
from vigil.verify.standard_cases import TRAJECTORY, StandardCase, batch_of, training_for

# Floors of the pieces are alike, within a factor of two (digits_mlp, all precisions): a draw in some of them makes one for all.
_EVERY, _DRAWS = 8, 4
_SEED = 1997
# A piece in which a pre-activation is this near to zero, in unit roundoffs of its layer's deviation, is not held to numbers:
# rounding may turn that gate, which moves a gradient by 70 floors. Of 67 pieces these are 4 in float32; clean programs differ by
# some 10 units. Under low precision gates turn in every piece, and in every draw.
_TURNS = 64.0
Tensors = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Piece:
    """Steps `first` to `last`, as the oracle takes them. has_turns: whether rounding may turn a gate on the way."""

    first: int
    last: int
    expected: Tensors
    has_turns: bool


def keep_floors(case: StandardCase, tape: Golden, *, precision: str) -> None:
    """Keep with the tape what rounding does to each tensor within a piece, from the oracle's own trajectory."""
    if case.name in tape.floors[precision]:
        return
    state, drawn = _whole(tape.probes[case.state].state), []
    for number, (first, last) in enumerate(itertools.pairwise(TRAJECTORY)):
        piece = take(case, tape, state, first, last, precision=precision)
        if number % _EVERY == 0 and not piece.has_turns:
            drawn.append((state, piece))
        state = {name: piece.expected[name] for name in state}
    tape.floors[precision][case.name] = make_floors(case, tape, drawn, precision=precision)


def make_floors(case: StandardCase, tape: Golden, pieces: Iterable[tuple[Tensors, Piece]], *, precision: str) -> dict[str, Floor]:
    """Return one floor for each tensor from pieces that are alike, each with the state that it begins from."""
    units, pairs = UNITS[precision], []
    for state, piece in pieces:
        for draw in range(_DRAWS):
            rounding = Rounding(units, seed=_SEED, draw=piece.first * _DRAWS + draw)
            rounded = take(case, tape, state, piece.first, piece.last, precision=precision, rounding=rounding)
            pairs.append((piece.expected, rounded.expected))
    return floors_of(pairs)


def take(
    case: StandardCase,
    tape: Golden,
    state: Mapping[str, np.ndarray],
    first: int,
    last: int,
    *,
    precision: str,
    rounding: Rounding | None = None,
) -> Piece:
    """Return what the oracle makes of a state in steps `first` to `last` of a case: the losses, and the state after them."""
    training, units, gates = training_for(case, tape.training), UNITS[precision], tape.outline.gates.values()
    losses, nearest = [], math.inf
    for step in range(first, last):
        batch = batch_of(case.batches[step % len(case.batches)], tape.training, tape.probes, tape.batches)
        answer = oracle.train_step(training, state, [batch], case.learning_rate, rounding=rounding)
        losses.append(float(answer["loss"]))
        state = {name: answer[name] for name in state}
        before = [answer[f"output/{tap}"] for tap in gates]
        nearest = min([nearest, *(float(np.abs(x).min() / x.std()) for x in before)])
    has_turns = units.activation == units.master and nearest < _TURNS * units.activation
    return Piece(first, last, {"loss": np.array(losses), **state}, has_turns)


def differences(case: StandardCase, tape: Golden, observed: Mapping[str, np.ndarray], *, precision: str) -> list[Difference]:
    """Return how far each tensor is away at most, over the pieces: from the oracle's, and taken again from its own.

    Tensors are named `<step>/<name>` and `again/<step>/<name>`, after the step that the piece ends before.
    """
    keep_floors(case, tape, precision=precision)
    found = by_piece(case, tape, observed, tape.floors[precision][case.name], TRAJECTORY, precision=precision)
    largest: dict[tuple[bool, str], Difference] = {}
    for each in found:
        key = each.tensor.startswith("again/"), plain(each.tensor)
        if key not in largest or each.ratio > largest[key].ratio:
            largest[key] = each
    return list(largest.values())


def by_piece(
    case: StandardCase,
    tape: Golden,
    observed: Mapping[str, np.ndarray],
    floors: Mapping[str, Floor],
    kept: Sequence[int],
    *,
    precision: str,
) -> list[Difference]:
    """Return the differences of all pieces between kept states, in their order."""
    loaded = _whole(tape.probes[case.state].state)
    found: list[Difference] = []
    for first, last in itertools.pairwise(kept):
        state = after(observed, first, loaded) if first else loaded
        if not all(name in state and state[name].shape == loaded[name].shape for name in loaded):
            continue  # told of the piece that ended there
        if not all(np.isfinite(array).all() for array in state.values()):
            continue  # so is this
        piece = take(case, tape, state, first, last, precision=precision)
        ended, again = (after(observed, last, piece.expected, prefix=prefix) for prefix in ("", "again/"))
        sides = [(f"{last}/", ended, piece.expected)]
        if again and ended.keys() == piece.expected.keys():
            sides.append((f"again/{last}/", again, ended))
        for prefix, ours, theirs in sides:
            for each in compare(case.name, ours, theirs, floors, family=tape.outline.family):
                if each.problem or not piece.has_turns:
                    # Distances alone: to the nearest, float32 loses updates of less than half a unit, and that has a direction.
                    found.append(dataclasses.replace(each, tensor=f"{prefix}{each.tensor}", slope_z=0.0, intercept_z=0.0))
    return found


def after(observed: Mapping[str, np.ndarray], step: int, names: Mapping[str, np.ndarray], *, prefix: str = "") -> Tensors:
    """Return the tensors of these names that an answer has of a kept step, in float64."""
    keys = {name: f"{prefix}{step}/{name}" for name in names}
    return {name: np.asarray(observed[key], np.float64) for name, key in keys.items() if key in observed}


def step_of(tensor: str) -> int:
    """Return the step that the piece of a tensor ends before."""
    return int(tensor.removeprefix("again/").partition("/")[0])


def _whole(state: Mapping[str, np.ndarray]) -> Tensors:
    return {name: np.asarray(array, np.float64) for name, array in state.items()}

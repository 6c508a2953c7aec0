"""What the oracle does for a golden tape, each as one call in a process of its own: a step, an exact answer, draws of floors.

Each is given all that it needs, and `tell`, which it calls when a part is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vigil.verify.floors import Floor, make_floors
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.models import architecture_of
from vigil.verify.oracle.rounding import Rounding
from vigil.verify.probes import Batch, Probe, State
from vigil.verify.standard_cases import StandardCase, Tensors, answer_on, judged_part

Tell = Callable[[], None]


def take_step(training: dict[str, Any], state: State, batch: Batch, learning_rate: float, tell: Tell) -> State:
    """Return the state after an exact step."""
    answer = oracle.train_step(training, state, [batch], learning_rate)
    tell()
    return {key: answer[key] for key in state}


def answer_exactly(data: list[Batch], case: StandardCase, training: dict[str, Any], probe: Probe, tell: Tell) -> Tensors:
    """Return what is judged of the exact answer to a case."""
    found = judged_part(case, answer_on(data, case, training, probe))
    tell()
    return found


def draw_floors(
    data: list[Batch],
    case: StandardCase,
    training: dict[str, Any],
    probe: Probe,
    exact: Tensors,
    precision: str,
    draws: int,
    has_flips: bool,
    tell: Tell,
) -> dict[str, Floor]:
    """Return the floors of a case whose exact answer is known; `tell` is called after every draw."""
    comparable = architecture_of(training).comparable

    def draw(rounding: Rounding) -> Tensors:
        tensors = answer_on(data, case, training, probe, rounding=rounding)
        tell()
        return comparable(tensors, exact)

    return make_floors(comparable(exact, exact), draw, precision=precision, draws=draws, has_flips=has_flips)

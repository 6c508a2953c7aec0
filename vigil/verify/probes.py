"""Where verify looks: states along the oracle's own trajectory, and for each two margin batches and the recipe's full batch.

One flipped ReLU moves every gradient below it by 1e-3, as much as a bug would. So a state's biases are moved by little, until no
pre-activation on the margin batches, of four images, is near zero. The more images, the narrower the gaps. Small batches
are blind to what grows with size, so the full batch is probed as well.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from runners.contract import schedule
from runners.contract.data import streams
from runners.contract.data.batches import Batches, Labels
from runners.contract.kinds import weights
from runners.contract.kinds.table import kind_of
from runners.contract.optimizers import optimizer_of
from runners.contract.protocol.cases import sized
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.models import fix_choices
from vigil.verify.oracle.outline import Outline

MARGIN_IMAGES = 4
# A bias is moved by no more than this part of its channel's spread.
_REACH = 0.02
# The oracle takes each step until the late state. One of more work than this, forward and backward, takes it half a second and
# more: there the late state comes sooner. The largest of a committed tape has 2.0e9 (char_gpt).
_MUCH_WORK = 2.5e9
_MOST_STEPS, _MOST_LARGE_STEPS = {"piecewise": 720, "cosine": 240, "warm_up_cosine": 240}, 24
# A model of more parameters than this is kept in 4 bits, but for its small arrays: char_gpt's 804,096 are 0.3 MB of a tape so,
# and would be up to 1.6 MB in 16. No other recipe has half as many.
_MANY = 2**19
_SMALL = 2**12

State = dict[str, np.ndarray]
Batch = tuple[np.ndarray, Labels]
Choice = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Probe:
    """One state and what is put to it.

    margin: (images, labels) of 4 images; `choice` says which: (training step, index of the first image).
    second: the same, for cases that need another batch.
    """

    name: str
    step: int
    learning_rate: float
    state: State
    margin: Batch
    second: Batch
    full: Batch
    choice: tuple[Choice, Choice]


def is_large(training: dict[str, Any], batches: Batches, *, seed: int) -> bool:
    """Does a step on the recipe's batch take the oracle so long that it can take only a few?"""
    state = weights.initial_state(training, seed=seed)
    batch = fix_choices(training, state, batches.few(0, 0, count=MARGIN_IMAGES))
    return 3 * outline(training, state, batch).work * training["batch_size"] / MARGIN_IMAGES > _MUCH_WORK


def probe_steps(training: dict[str, Any], *, late: int | None = None, is_large: bool = False) -> dict[str, int]:
    """Return the steps to look at: the first, one with momentum, and one after the rate has changed, or as late as is cheap."""
    if late is None:
        rate = training["learning_rate"]
        most = _MOST_LARGE_STEPS if is_large else _MOST_STEPS[rate["kind"]]
        late = min([*rate.get("boundaries", ()), most, training["steps"] - 1])
    return {"init": 0, "early": min(8, max(1, late // 2)), "late": late}


def make_states(
    training: dict[str, Any],
    batches: Batches,
    *,
    seed: int,
    steps: dict[str, int],
    advance: Callable[[int, int], None],
    take: Callable[[dict[str, Any], State, Batch, float], State],
) -> Iterator[tuple[str, State]]:
    """Train by the oracle, and yield the names of the given steps, in their order, with the states before them, in 15 bits.

    Args:
        advance: told (steps done, steps to do).
        take: (training, state, batch, learning rate) -> the state after a step.
    """
    initial = weights.initial_state(training, seed=seed)
    state: State = {name: value.astype(np.float64) for name, value in initial.items()}
    done, last = 0, max(steps.values())
    for name, at in sorted(steps.items(), key=lambda both: both[1]):
        for step in range(done, at):
            rate = schedule.learning_rate(training["learning_rate"], step)
            state = take(training, state, batches.train(step), rate)
            advance(step + 1, last)
        done = at
        yield name, coarse(training, state, initial) if at else state


def quantise(array: np.ndarray, *, bits: int) -> tuple[np.ndarray, float]:
    """Return integers of so many bits and the power of two they are multiples of; done twice, it changes nothing more."""
    # The exponent of the power of two above the largest value, also where that is a power of two itself.
    _, exponent = np.frexp(np.abs(array).max())
    scale = 2.0 ** float(exponent - (bits - 1))
    limit = 2 ** (bits - 1) - 1
    return np.clip(np.rint(array / scale), -limit, limit).astype(np.int16 if bits > 8 else np.int8), scale


def bits_of(training: dict[str, Any], name: str) -> int | None:
    """Return how many bits of a state's array are kept, None for all of float32, 0 where its size alone is kept."""
    optimizer, (group, _, parameter) = optimizer_of(training), name.partition("/")
    if group == "params":
        sizes = {each: math.prod(shape) for each, shape in kind_of(training).parameter_shapes(training["model"]).items()}
        return 4 if sum(sizes.values()) > _MANY and sizes[parameter] > _SMALL else 16
    return {**dict.fromkeys(optimizer.coarse, 8), **dict.fromkeys(optimizer.sized, 0)}.get(group)


def of_size(training: dict[str, Any], name: str, scale: float) -> np.ndarray:
    """Return an array of an optimizer's state of which the size alone is kept: drawn anew, float64 holds it exactly.

    Those that hold squares are from half of their size to one and a half times it: a step divides by their roots.
    """
    group, _, parameter = name.partition("/")
    shape = kind_of(training).parameter_shapes(training["model"])[parameter]
    if optimizer_of(training).sized[group]:
        drawn = 0.5 + streams.uniform(0, f"verify/{name}", count=math.prod(shape))
    else:
        drawn = streams.normal(0, f"verify/{name}", count=math.prod(shape))
    return (scale * drawn).reshape(shape).astype(np.float32).astype(np.float64)


def size_of(array: np.ndarray) -> float:
    """Return the power of two that is nearest to an array's root mean square: what is drawn of a size has the same."""
    mean = float(np.mean(np.square(array)))
    return 2.0 ** round(0.5 * math.log2(mean)) if mean else 0.0


def coarse(training: dict[str, Any], state: State, initial: Mapping[str, np.ndarray]) -> State:
    """Return the state on a coarse grid: small to store, and float32 holds it exactly.

    An array that has not moved from its initial value by a step of the grid is that value, which nothing has to keep.
    """
    result = {}
    for name, array in state.items():
        bits = bits_of(training, name)
        if bits == 0:
            result[name] = of_size(training, name, size_of(array))
        elif bits is None:
            result[name] = array.astype(np.float32).astype(np.float64)
        else:
            integers, scale = quantise(array, bits=bits)
            has_moved = np.abs(array - initial[name]).max() >= scale
            result[name] = integers * scale if has_moved else np.asarray(initial[name], np.float64)
    return result


def make_probe(
    training: dict[str, Any],
    batches: Batches,
    name: str,
    *,
    step: int,
    state: State,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Probe:
    """Return the probe of a state: where gates may flip, of that state with its biases moved away from what flips them.

    Args:
        progress: told (biases moved, all of them).
    """
    choice = (step, 0), (step + 1, 0)
    few = [batches.few(*each, count=MARGIN_IMAGES) for each in choice]
    moved = gated_biases(outline(training, state, fix_choices(training, state, few[0])))
    for done, (bias, taps) in enumerate(moved.items(), start=1):  # in forward order: a bias moves all that is behind it
        found = [_small_taps(training, state, fix_choices(training, state, batch)) for batch in few]
        values = np.concatenate([each[tap].reshape(-1, each[tap].shape[-1]) for each in found for tap in taps])
        key = f"params/{bias}"
        state = state | coarse(training, {key: state[key] - nearby_gap(values)}, state)
        progress(done, len(moved))
    return rebuild_probe(training, batches, name, step=step, state=state, choice=choice)


def gated_biases(parts: Outline) -> dict[str, list[str]]:
    """Return, in forward order, each bias that moves what gates decide by, and the taps that hold that."""
    found: dict[str, list[str]] = {}
    for tap in parts.gates.values():
        biases = [name for name, parameter in parts.parameters.items() if parameter.part == "bias"]
        own = [name for name in biases if tap in parts.users[name]]
        before = [name for name in biases if any(tap in parts.readers.get(user, ()) for user in parts.users[name])]  # of a sum
        found.setdefault((own or before)[0], []).append(tap)
    return found


def nearby_gap(values: np.ndarray) -> np.ndarray:
    """Return, for each column of [value, channel], the middle of the widest gap near zero between its values, or their end."""
    places = np.zeros(values.shape[1])
    for channel, column in enumerate(np.sort(values.T)):
        reach = _REACH * column.std()
        middles = (column[1:] + column[:-1]) / 2
        near = np.array([0.0, -reach, reach, *middles[np.abs(middles) < reach]])
        after = np.searchsorted(column, near)
        below, above = column[np.maximum(after - 1, 0)], column[np.minimum(after, len(column) - 1)]
        places[channel] = near[np.minimum(np.abs(near - below), np.abs(near - above)).argmax()]
    return places


def rebuild_probe(training, batches: Batches, name: str, *, step: int, state: State, choice) -> Probe:
    """Return the probe whose margin batches are known."""
    few = (batches.few(at, first, count=MARGIN_IMAGES) for at, first in choice)
    margin, second, full = (fix_choices(training, state, batch) for batch in (*few, batches.train(step)))
    rate = schedule.learning_rate(training["learning_rate"], step)
    return Probe(name, step, rate, state, margin, second, full, choice)


def outline(training: dict[str, Any], state: State, batch: Batch) -> Outline:
    """Return what a step is made of, by a pass over a margin batch."""
    return oracle.outline(sized(training, rows=MARGIN_IMAGES, evaluation_rows=MARGIN_IMAGES), state, batch)


def margin(training: dict[str, Any], state: State, batch: Batch, parts: Outline) -> float:
    """Return the smallest |pre-activation| of a batch, each relative to the standard deviation of its layer; 0 without gates."""
    taps = _small_taps(training, state, batch)
    before = [taps[tap] for tap in parts.gates.values()]
    return float(min((np.abs(x).min() / x.std() for x in before), default=0.0))


def _small_taps(training: dict[str, Any], state: State, batch: Batch) -> dict[str, np.ndarray]:
    return oracle.taps(sized(training, rows=MARGIN_IMAGES, evaluation_rows=MARGIN_IMAGES), state, batch)

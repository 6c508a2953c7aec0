"""The cases that every context is put to, and what the oracle answers to each.

A case is one call, or a few, from a given state: what a user's training does, one step at a time. The state is loaded before
every call, so that no error is carried from one to the next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.contract.data.batches import Batches, Labels
from runners.contract.kinds.table import kind_of
from runners.contract.optimizers import optimizer_of
from runners.contract.protocol.cases import sized
from runners.contract.schedule import learning_rate
from vigil.documents.context import Context
from vigil.verify import probes as probing
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.models import architecture_of
from vigil.verify.oracle.rounding import Rounding
from vigil.verify.probes import MARGIN_IMAGES, Probe

REPEATS = 56
# In float16 a CPU takes oneDNN's reference for gradients of kernels: of tiny_mask_rcnn's torch-jit-fp16-x1 56 calls took 196 of
# 245 s, and 4.4 s in float32 (Intel Xeon, 2026-11-27). 16 see what is wrong in one call of ten with a probability of 0.81.
_REPEATS_IN_FLOAT16 = 16
# A state is kept every eighth step, and the steps from it are taken twice. The number of these pieces is a prime, so that what
# goes wrong every n calls comes to another place the second time, unless n divides 8 * 67.
TRAJECTORY = tuple(range(0, 8 * 67 + 1, 8))
# Op by op a step takes ten times as long and more. There the steps of one piece in eight are taken twice.
_AGAIN_OP_BY_OP = TRAJECTORY[1::8]
# No part of eight: each piece begins with another batch than the one before.
_BATCHES_IN_TURN = 9
# A loss scale at which no float16 gradient is finite, and which float32 holds.
TOO_LARGE = 2.0**60
# The scale of a real fp16 run's later steps: small enough that no probe overflows, which a correct scaler would skip.
LOSS_SCALE = 4096.0
# What all frameworks are set to: the first scale, and how many good steps double it.
FIRST_SCALE, GOOD_STEPS = 65536.0, 2000
# In an evaluation no image knows of the others: what need not be seen at full size is seen on the first of them.
_FIRST_IMAGES = 64
# Op by op a step takes 2.3 to 3.1 times as long as its forward pass in TensorFlow, 4.0 to 7.2 times in JAX (detector and ResNet,
# margin batch, one core of an AMD EPYC, 2026-11-23). Loss and running statistics show every layer's output. What goes wrong in
# one backward pass of ten, 16 steps see with a probability of 0.81; compiled programs make 56.
_STEPS_OP_BY_OP = 16
# What only a step with taps shows of itself.
_INSIDE = ("output/", "leaf_gradient/")
Tensors = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class StandardCase:
    """One line of what is asked of a runner.

    kind: step, predict, alternate, accumulate, repeat, choose or trajectory, see runners/README.md.
    batches: keys `<probe>/<margin|second|full|ties>`, `few/<step>` (of its training batch), `evaluation`, `evaluation/<n>` (its
    first images); the last is predicted.
    rows: images of a training batch; evaluation_rows: of an evaluation batch.
    is_fresh: the first step of an optimizer that nothing was loaded into.
    scale, good_steps: the loss scaler's state that is loaded.
    """

    name: str
    kind: str
    state: str
    batches: tuple[str, ...]
    learning_rate: float
    rows: int
    evaluation_rows: int
    is_full: bool = False
    is_fresh: bool = False
    scale: float = LOSS_SCALE
    good_steps: int = 0


def standard_cases(training: dict[str, Any], probes: Mapping[str, Probe]) -> list[StandardCase]:
    """Return the cases of a recipe's profile: first those on margin batches, then those on the full batch."""
    small = MARGIN_IMAGES, MARGIN_IMAGES
    full = training["batch_size"], training["evaluation_batch_size"], True
    rates = {name: probe.learning_rate for name, probe in probes.items()}
    schedule, first = training["learning_rate"], probes["early"].step
    later = (learning_rate(schedule, step) for step in range(first, training["steps"]))
    after = next((rate for rate in later if rate != rates["early"]), rates["early"] / 10)
    early, late = "early/margin", "late/margin"
    steps = {name: StandardCase(f"{name}/margin", "step", name, (f"{name}/margin",), rates[name], *small) for name in probes}
    cases = [
        # At step 0 the optimizer's arrays are zero: nothing need be loaded for it.
        dataclasses.replace(steps["init"], is_fresh=True),
        steps["early"],
        # Right after a step at the old rate, from the same state: only the rate has changed.
        StandardCase("early/boundary", "step", "early", (early,), after, *small),
        steps["late"],
        StandardCase("late/evaluation", "predict", "late", (late,), 0.0, *small),
        StandardCase("early/alternation", "alternate", "early", (early, "early/second", early), 0.0, *small),
        StandardCase("early/accumulation", "accumulate", "early", (early, "early/second"), rates["early"], *small),
        StandardCase("early/repeat", "repeat", "early", (early, "early/second"), rates["early"], *small),
    ]
    if architecture_of(training).choices:
        cases.append(StandardCase("init/choices", "choose", "init", ("init/ties",), 0.0, *small))
    cases += [StandardCase(f"{name}/full", "step", name, (f"{name}/full",), rates[name], *full) for name in probes]
    return [*cases, StandardCase("late/evaluation_full", "predict", "late", ("evaluation",), 0.0, *full)]


def further_cases(training: dict[str, Any], probes: Mapping[str, Probe], *, precision: str) -> list[StandardCase]:
    """Return the cases on margin batches that no golden tape is about: of the loss scaler, and of hundreds of steps in a row."""
    cases = []
    early, small = probes["early"], (MARGIN_IMAGES, MARGIN_IMAGES)
    if precision == "fp16":
        step = StandardCase("early/growth", "step", "early", ("early/margin",), early.learning_rate, *small)
        # A power of two: Keras keeps the learning rate times the buffer, and gives back the bits of a buffer only then.
        skipped = dataclasses.replace(step, name="early/overflow", learning_rate=0.125, scale=TOO_LARGE, good_steps=5)
        cases += [dataclasses.replace(step, good_steps=GOOD_STEPS - 1), skipped]
    if architecture_of(training).is_small:
        # As much less than the recipe's as the batches are smaller (Goyal et al. 2017, arXiv 1706.02677, section 2.1): the
        # recipe's would make units die and errors grow.
        rate = probes["init"].learning_rate * MARGIN_IMAGES / training["batch_size"]
        batches = tuple(f"few/{step}" for step in range(_BATCHES_IN_TURN))
        cases.append(StandardCase("init/trajectory", "trajectory", "init", batches, rate, *small))
    return cases


def on_first_images(case: StandardCase) -> StandardCase:
    """Return the case with no more than a few images in its evaluation."""
    if case.evaluation_rows <= _FIRST_IMAGES:
        return case
    cut = dataclasses.replace(case, evaluation_rows=_FIRST_IMAGES)
    return dataclasses.replace(cut, batches=(f"{case.batches[-1]}/{_FIRST_IMAGES}",)) if case.kind == "predict" else cut


def repeats_of(context: Context) -> int:
    """Return how many calls are made to see whether one returns something else."""
    return _REPEATS_IN_FLOAT16 if context.precision == "fp16" and context.device == "cpu" else REPEATS


def whole_steps(mode: str) -> int:
    """Return how many of the repeated calls, the first of them, must be whole steps; the others may be forward passes."""
    return _STEPS_OP_BY_OP if mode == "eager" else REPEATS


def taken_again(mode: str) -> tuple[int, ...]:
    """Return the kept steps of a trajectory to which the steps before are taken a second time."""
    return _AGAIN_OP_BY_OP if mode == "eager" else TRAJECTORY[1:]


def is_of_forward_pass(name: str) -> bool:
    """Is this an answer of a forward pass, and not of a whole step alone?"""
    return name == "loss" or name.startswith("stats/")


def batch_of(key: str, training: dict[str, Any], probes: Mapping[str, Probe], batches: Batches) -> tuple[np.ndarray, Labels]:
    """Return (images, labels) of a batch's key."""
    name, _, which = key.partition("/")
    if name == "evaluation":
        images, labels, _ = next(batches.evaluation())
        return (images[: int(which)], labels[: int(which)]) if which else (images, labels)
    if name == "few":
        return batches.few(int(which), 0, count=MARGIN_IMAGES)
    if which == "ties":
        return _ties(training, probes[name])[0]
    return getattr(probes[name], which)


def answer(
    case: StandardCase,
    training: dict[str, Any],
    probes: Mapping[str, Probe],
    batches: Batches,
    *,
    rounding: Rounding | None = None,
) -> Tensors:
    """Return what the oracle answers, exact or rounded: all that a runner's answer has, taps and gradients besides."""
    return answer_on(data_of(case, training, probes, batches), case, training, probes[case.state], rounding=rounding)


def data_of(
    case: StandardCase, training: dict[str, Any], probes: Mapping[str, Probe], batches: Batches
) -> list[tuple[np.ndarray, Labels]]:
    """Return a case's batches, in its order."""
    return [batch_of(key, training_for(case, training), probes, batches) for key in case.batches]


def answer_on(
    data: list[tuple[np.ndarray, Labels]],
    case: StandardCase,
    training: dict[str, Any],
    probe: Probe,
    *,
    rounding: Rounding | None = None,
) -> Tensors:
    """Return what the oracle answers to a case, whose batches `data` are, at its state's probe."""
    state, training = probe.state, training_for(case, training)
    if case.kind == "choose":
        tensors, _ = choice(case, training, {case.state: probe})
        names = probing.outline(training, state, probe.margin).choices
        return {f"output/{name}": tensors[f"output/{name}"] for name in names}
    if case.kind in ("predict", "alternate"):
        images = kind_of(training).evaluated_images(data[-1][0])
        found = oracle.forward_passes(training, state, data[:-1], images, rounding=rounding)
        return found if case.kind == "alternate" else {name: found[name] for name in found if not name.startswith("params/")}
    if case.kind == "repeat":  # judged against its own first call; this is what that call should give
        data = data[:1]
    return derived(training, state, oracle.train_step(training, state, data, case.learning_rate, rounding=rounding))


def choice(case: StandardCase, training: dict[str, Any], probes: Mapping[str, Probe]) -> tuple[Tensors, Tensors]:
    """Return what the oracle's taps hold in a case about choices, and what is put in the place of some: nothing there rounds."""
    probe, training = probes[case.state], training_for(case, training)
    batch, leaves = _ties(training, probe)
    cotangents = {name: np.zeros_like(leaf) for name, leaf in leaves.items()}
    return oracle.segments(training, probe.state, batch, leaves=leaves, cotangents=cotangents), leaves


def _ties(training: dict[str, Any], probe: Probe) -> tuple[probing.Batch, Tensors]:
    choices = architecture_of(training).choices
    if choices is None:
        raise ValueError(f"{training['model']['name']}: it chooses nothing")
    return choices.ties(probe.margin, training["model"])


def training_for(case: StandardCase, training: dict[str, Any]) -> dict[str, Any]:
    """Return the recipe's resolved content as a runner has it for a case's batches."""
    return sized(training, rows=case.rows, evaluation_rows=case.evaluation_rows)


def has_taps(case: StandardCase) -> bool:
    """Is this one of the steps whose taps are kept: one at each state, on its margin batch?"""
    return case.name.endswith("/margin")


def derived(training: dict[str, Any], state: Mapping[str, np.ndarray], answer: Mapping[str, np.ndarray]) -> Tensors:
    """Return the answer with parameter gradients as the optimizer's state tells of them, in float64.

    An array that the state does not have, or has in another shape, tells of no gradient. Where an optimizer keeps none, steps
    show gradients by the parameters alone.
    """
    optimizer, result = optimizer_of(training), dict(answer)
    if optimizer.witness is None:
        return {name: array for name, array in answer.items() if not name.startswith("parameter_gradient/")}
    for name, after in answer.items():
        slot, _, parameter = name.partition("/")
        if slot == optimizer.witness and name in state and np.shape(after) == np.shape(state[name]):
            gradient = optimizer.gradient(training["optimizer"], state[f"params/{parameter}"], state[name], after)
            result[f"parameter_gradient/{parameter}"] = gradient
    return result


def judged_part(case: StandardCase, answer: Mapping[str, np.ndarray]) -> Tensors:
    """Return what is judged of a case, and the taps of those whose taps are kept."""
    return dict(answer) if has_taps(case) else shown(case, answer)


def shown(case: StandardCase, answer: Mapping[str, np.ndarray]) -> Tensors:
    """Return what is judged of a case: no taps and no gradients of taps, unless the case is about nothing else."""
    return {name: value for name, value in answer.items() if case.kind == "choose" or not name.startswith(_INSIDE)}

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
from vigil.verify import probes as probing
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.models import architecture_of
from vigil.verify.oracle.rounding import Rounding
from vigil.verify.probes import MARGIN_IMAGES, Probe

REPEATS = 56
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

    kind: step, predict, alternate, accumulate, repeat or choose, see runners/README.md.
    batches: keys `<probe>/<margin|second|full|ties>` or `evaluation`; the last is the one that is predicted.
    rows: images of a training batch; evaluation_rows: of an evaluation batch.
    """

    name: str
    kind: str
    state: str
    batches: tuple[str, ...]
    learning_rate: float
    rows: int
    evaluation_rows: int
    is_full: bool = False


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
        steps["init"],
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


def whole_steps(mode: str) -> int:
    """Return how many of the repeated calls, the first of them, must be whole steps; the others may be forward passes."""
    return _STEPS_OP_BY_OP if mode == "eager" else REPEATS


def is_of_forward_pass(name: str) -> bool:
    """Is this an answer of a forward pass, and not of a whole step alone?"""
    return name == "loss" or name.startswith("stats/")


def batch_of(key: str, training: dict[str, Any], probes: Mapping[str, Probe], batches: Batches) -> tuple[np.ndarray, Labels]:
    """Return (images, labels) of a batch's key."""
    if key == "evaluation":
        images, labels, _ = next(batches.evaluation())
        return images, labels
    name, which = key.split("/")
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
    state, training = probes[case.state].state, training_for(case, training)
    data = [batch_of(key, training, probes, batches) for key in case.batches]
    if case.kind == "choose":
        tensors, _ = choice(case, training, probes)
        names = probing.outline(training, state, probes[case.state].margin).choices
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


def shown(case: StandardCase, answer: Mapping[str, np.ndarray]) -> Tensors:
    """Return what is judged of a case: no taps and no gradients of taps, unless the case is about nothing else."""
    return {name: value for name, value in answer.items() if case.kind == "choose" or not name.startswith(_INSIDE)}

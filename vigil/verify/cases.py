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
from runners.contract.protocol.cases import sized
from runners.contract.schedule import learning_rate
from vigil.verify.given import CHOICES, is_detector, ties
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.rounding import Rounding
from vigil.verify.probes import MARGIN_IMAGES, Probe

REPEATS = 56
# What an untapped step shows of itself. The gradients are what its momentum buffers tell of them.
SHOWN = ("loss", "parameter_gradient/", "momentum/", "params/", "stats/", "logits")
Tensors = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Case:
    """One line of what is asked of a runner.

    kind: step, predict, alternate, accumulate or repeat, see runners/README.md; or choose, which is asked for as segments.
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


def standard_cases(training: dict[str, Any], probes: Mapping[str, Probe]) -> list[Case]:
    """Return the cases of a recipe's profile: first those on margin batches, then those on the full batch."""
    small = {"rows": MARGIN_IMAGES, "evaluation_rows": MARGIN_IMAGES}
    full = {"rows": training["batch_size"], "evaluation_rows": training["evaluation_batch_size"], "is_full": True}
    rates = {name: probe.learning_rate for name, probe in probes.items()}
    schedule, first = training["learning_rate"], probes["early"].step
    later = (learning_rate(schedule, step) for step in range(first, training["steps"]))
    after = next((rate for rate in later if rate != rates["early"]), rates["early"] / 10)
    early, late = "early/margin", "late/margin"
    steps = {name: Case(f"{name}/margin", "step", name, (f"{name}/margin",), rates[name], **small) for name in probes}
    cases = [
        steps["init"],
        steps["early"],
        # Right after a step at the old rate, from the same state: only the rate has changed.
        Case("early/boundary", "step", "early", (early,), after, **small),
        steps["late"],
        Case("late/evaluation", "predict", "late", (late,), 0.0, **small),
        Case("early/alternation", "alternate", "early", (early, "early/second", early), 0.0, **small),
        Case("early/accumulation", "accumulate", "early", (early, "early/second"), rates["early"], **small),
        Case("early/repeat", "repeat", "early", (early, "early/second"), rates["early"], **small),
    ]
    if is_detector(training):
        cases.append(Case("init/choices", "choose", "init", ("init/ties",), 0.0, **small))
    cases += [Case(f"{name}/full", "step", name, (f"{name}/full",), rates[name], **full) for name in probes]
    return [*cases, Case("late/evaluation_full", "predict", "late", ("evaluation",), 0.0, **full)]


def batch_of(key: str, training: dict[str, Any], probes: Mapping[str, Probe], batches: Batches) -> tuple[np.ndarray, Labels]:
    """Return (images, labels) of a batch's key."""
    if key == "evaluation":
        images, labels, _ = next(batches.evaluation())
        return images, labels
    name, which = key.split("/")
    if which == "ties":
        return ties(probes[name].margin, training["model"])[0]
    return getattr(probes[name], which)


def answer(
    case: Case,
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
        found, _ = choice(case, training, probes)
        return {f"output/{name}": found[f"output/{name}"] for name in CHOICES}
    if case.kind in ("predict", "alternate"):
        images = kind_of(training).evaluated_images(data[-1][0])
        found = oracle.forward_passes(training, state, data[:-1], images, rounding=rounding)
        return found if case.kind == "alternate" else {name: found[name] for name in found if not name.startswith("params/")}
    if case.kind == "repeat":  # judged against its own first call; this is what that call should give
        data = data[:1]
    return derived(training, state, oracle.train_step(training, state, data, case.learning_rate, rounding=rounding))


def choice(case: Case, training: dict[str, Any], probes: Mapping[str, Probe]) -> tuple[Tensors, Tensors]:
    """Return what the oracle's taps hold in a case about choices, and what is put in the place of some: nothing there rounds."""
    probe, training = probes[case.state], training_for(case, training)
    batch, leaves = ties(probe.margin, training["model"])
    cotangents = {name: np.zeros_like(leaf) for name, leaf in leaves.items()}
    return oracle.segments(training, probe.state, batch, leaves=leaves, cotangents=cotangents), leaves


def training_for(case: Case, training: dict[str, Any]) -> dict[str, Any]:
    """Return the recipe's resolved content as a runner has it for a case's batches."""
    return sized(training, rows=case.rows, evaluation_rows=case.evaluation_rows)


def has_taps(case: Case) -> bool:
    """Is this one of the steps whose taps are kept: one at each state, on its margin batch?"""
    return case.name.endswith("/margin")


def derived(training: dict[str, Any], state: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> Tensors:
    """Return the answer with parameter gradients as its momentum buffers show them, in float64.

    buffer = momentum * buffer + gradient + weight_decay * parameter, all of which but the gradient is known. A buffer that the
    state does not have, or has in another shape, tells of no gradient.
    """
    rule, result = training["optimizer"], dict(found)
    for name, buffer in found.items():
        if name.startswith("momentum/") and name in state and np.shape(buffer) == np.shape(state[name]):
            parameter = name.removeprefix("momentum/")
            known = rule["momentum"] * np.asarray(state[name], np.float64)
            known = known + rule["weight_decay"] * np.asarray(state[f"params/{parameter}"], np.float64)
            result[f"parameter_gradient/{parameter}"] = np.asarray(buffer, np.float64) - known
    return result


def shown(case: Case, found: Mapping[str, np.ndarray]) -> Tensors:
    """Return what is judged of a case: no taps and no gradients of taps, unless the case is about nothing else."""
    return {name: value for name, value in found.items() if case.kind == "choose" or name.startswith(SHOWN)}

"""Every layer alone, forward and backward, on the oracle's own inputs: where inputs are equal and outputs differ is the origin.

All taps of the model are cut at once. What a layer reads is the oracle's tensor, what comes back to it the oracle's gradient,
both on the grid of the context's precision: a cast changes nothing then, and a compiler that leaves it out (as Inductor does
within a fused kernel) has the same inputs as one that does not. So one program of the context's own mode and precision tells of
all layers, and nothing that one does wrong reaches another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vigil.documents.context import Context
from vigil.process.build_spec import rows_of_part
from vigil.verify.ask import shards_for
from vigil.verify.distance import Difference, compare
from vigil.verify.floors import Floor, make_floors
from vigil.verify.golden import Golden
from vigil.verify.oracle import step as oracle
from vigil.verify.oracle.outline import Outline
from vigil.verify.oracle.rounding import Rounding
from vigil.verify.standard_cases import LOSS_SCALE, StandardCase, batch_of, training_for

DRAWS = 8
# What the activations of a precision are kept in; a tf32 product rounds its inputs itself, the arrays are float32.
GRIDS = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16"}
Tensors = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Inspection:
    """One look inside: the model cut at some taps, on one state and batch.

    cuts: empty for the whole model with its taps shown.
    part: rows that no two devices may share.
    """

    name: str
    case: StandardCase
    cuts: tuple[str, ...]
    leaves: Mapping[str, np.ndarray]
    cotangents: Mapping[str, np.ndarray]
    scale: float
    times: int
    part: int


def look_at(tape: Golden, case: StandardCase, *, cuts: Sequence[str] | None = None, precision: str, times: int = 1) -> Inspection:
    """Return the look at a case's state and batch. `cuts`: None for all taps, which sets every layer alone."""
    whole = inside(tape, case)
    taps, choices = tape.outline.taps, tape.outline.choices
    cuts = tuple(taps) if cuts is None else tuple(cuts)
    dtype, scale = GRIDS[precision], LOSS_SCALE if precision == "fp16" else 1.0
    outputs = {name: whole[f"output/{name}"] for name in taps}
    # Boxes that were chosen are kept in the parameters' type, whatever activations are in.
    kept = {name: GRIDS["fp64" if precision == "fp64" else "fp32"] if name in choices else dtype for name in taps}
    leaves = {name: rounded(output, kept[name]) if name in cuts else np.zeros_like(output) for name, output in outputs.items()}
    kind = "layers" if len(cuts) == len(taps) else "segments" if cuts else "tapped"
    return Inspection(
        f"{case.name}/{kind}" + (f"x{times}" if times > 1 else ""),
        case,
        cuts,
        leaves,
        {name: np.zeros_like(outputs[name]) if name in choices else _cotangent(whole, name, dtype, scale=scale) for name in cuts},
        scale,
        times,
        rows_of_part(training_for(case, tape.training)),
    )


def _cotangent(whole: Tensors, tap: str, dtype: str, *, scale: float) -> np.ndarray:
    return rounded(whole[f"leaf_gradient/{tap}"] * scale, dtype) / scale


def inside(tape: Golden, case: StandardCase) -> Tensors:
    """Return the oracle's taps and gradients of a case's state and (first) batch."""
    batch = batch_of(case.batches[0], tape.training, tape.probes, tape.batches)
    return oracle.segments(training_for(case, tape.training), tape.probes[case.state].state, batch, leaves={}, cotangents={})


def line_of(look: Inspection, context: Context) -> dict[str, Any]:
    """Return the look as it stands in cases.json."""
    return {
        "name": look.name,
        "kind": "segments",
        "state": look.case.state,
        "batch": look.case.batches[0],
        "shards": shards_for(context, look.case.rows, part=look.part),
        "evaluation_rows": look.case.evaluation_rows,
        "evaluation_shards": list(context.evaluation_shards(look.case.evaluation_rows)),
        "taps": list(look.leaves),
        "cuts": list(look.cuts),
        "leaves": look.name,
        "scale": look.scale,
        "times": look.times,
    }


def arrays_of(look: Inspection) -> Tensors:
    """Return what probes.npz must hold besides states and batches."""
    arrays = {f"leaf/{look.name}/{name}": value for name, value in look.leaves.items()}
    return arrays | {f"cotangent/{look.name}/{name}": value for name, value in look.cotangents.items()}


def differences_of(look: Inspection, tape: Golden, observed: Mapping[str, np.ndarray], *, precision: str) -> list[Difference]:
    """Return how each tensor of a look differs from the oracle's, which is given the very inputs that the framework had."""
    leaves = {name: look.leaves[name] for name in look.cuts}
    batch = batch_of(look.case.batches[0], tape.training, tape.probes, tape.batches)
    state = tape.probes[look.case.state].state

    def answer(rounding: Rounding | None = None) -> Tensors:
        training = training_for(look.case, tape.training)
        return oracle.segments(training, state, batch, leaves=leaves, cotangents=look.cotangents, rounding=rounding)

    expected = answer()
    for choice, among in tape.outline.choices.items():
        if not set(among) <= set(look.cuts):
            # Chosen from values that rounding moves: another choice need not be a wrong one.
            del expected[f"output/{choice}"]
    has_flips = look.case.is_full and len(look.cuts) < len(look.leaves)
    floors: dict[str, Floor] = make_floors(expected, answer, precision=precision, draws=DRAWS, has_flips=has_flips)
    return compare(look.name, observed, expected, floors, family=tape.outline.family)


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return the array as it is after a cast to `dtype` (float64, float32, float16 or bfloat16), in float64."""
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
        # To the nearest, ties to even: half of the last kept bit, and one more where that bit is odd.
        kept = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return kept.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.asarray(array).astype(dtype).astype(np.float64)


def in_order(differences: Sequence[Difference], outline: Outline) -> list[Difference]:
    """Return differences in the order in which a step makes their tensors: forward, the loss, then backward."""
    return sorted(differences, key=lambda difference: outline.position(difference.tensor))

"""Every layer alone, forward and backward, on the oracle's own inputs: where inputs are equal and outputs differ is the origin.

All taps of the model are cut at once. What a layer reads is the oracle's tensor, what comes back to it the oracle's gradient,
both on the grid of the context's precision: a cast changes nothing then, and a compiler that leaves it out (as Inductor does
within a fused kernel) has the same inputs as one that does not. So one program of the context's own mode and precision tells of
all layers, and nothing that one does wrong reaches another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vigil.verify.ask import LOSS_SCALE, shards_for
from vigil.verify.cases import Case, batch_of, training_for
from vigil.verify.compare import Difference, compare
from vigil.verify.floors import Floor, make_floors
from vigil.verify.given import CHOICES, CHOSEN_FROM
from vigil.verify.golden import Golden
from vigil.verify.oracle import step as oracle

DRAWS = 8
# What the activations of a precision are kept in; a tf32 product rounds its inputs itself, the arrays are float32.
GRIDS = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16"}
Tensors = dict[str, np.ndarray]
_FORWARD = ("output", "stats")
_GRADIENTS = {"kernel": "weight gradient", "bias": "bias gradient", "scale": "scale gradient"}


@dataclasses.dataclass(frozen=True)
class Place:
    """Where in a step a tensor is made: in which layer, in which phase, and what it is of the layer."""

    layer: str
    phase: str
    quantity: str


@dataclasses.dataclass(frozen=True)
class Look:
    """One look inside: the model cut at some taps, on one state and batch.

    cuts: empty for the whole model with its taps shown.
    """

    name: str
    case: Case
    cuts: tuple[str, ...]
    leaves: Mapping[str, np.ndarray]
    cotangents: Mapping[str, np.ndarray]
    scale: float
    times: int = 1


def look_at(tape: Golden, case: Case, *, cuts: Sequence[str] | None = None, precision: str, times: int = 1) -> Look:
    """Return the look at a case's state and batch. `cuts`: None for all taps, which sets every layer alone."""
    whole = inside(tape, case)
    taps = oracle.MODELS[tape.training["model"]["name"]].taps(tape.training["model"])
    cuts = tuple(taps) if cuts is None else tuple(cuts)
    dtype, scale = GRIDS[precision], LOSS_SCALE if precision == "fp16" else 1.0
    outputs = {name: whole[f"output/{name}"] for name in taps}
    # Boxes that were chosen are kept in the parameters' type, whatever activations are in.
    kept = {name: GRIDS["fp64" if precision == "fp64" else "fp32"] if name in CHOICES else dtype for name in taps}
    leaves = {name: rounded(output, kept[name]) if name in cuts else np.zeros_like(output) for name, output in outputs.items()}
    kind = "layers" if len(cuts) == len(taps) else "segments" if cuts else "tapped"
    return Look(
        f"{case.name}/{kind}" + (f"x{times}" if times > 1 else ""),
        case,
        cuts,
        leaves,
        {name: _cotangent(whole, name, dtype, scale=scale) for name in cuts},
        scale,
        times,
    )


def _cotangent(whole: Tensors, tap: str, dtype: str, *, scale: float) -> np.ndarray:
    if tap in CHOICES:
        return np.zeros_like(whole[f"output/{tap}"])
    return rounded(whole[f"leaf_gradient/{tap}"] * scale, dtype) / scale


def inside(tape: Golden, case: Case) -> Tensors:
    """Return the oracle's taps and gradients of a case's state and (first) batch."""
    batch = batch_of(case.batches[0], tape.training, tape.probes, tape.batches)
    return oracle.segments(training_for(case, tape.training), tape.probes[case.state].state, batch, leaves={}, cotangents={})


def line_of(look: Look, context) -> dict[str, Any]:
    """Return the look as it stands in cases.json."""
    return {
        "name": look.name,
        "kind": "segments",
        "state": look.case.state,
        "batch": look.case.batches[0],
        "shards": shards_for(context, look.case.rows),
        "evaluation_rows": look.case.evaluation_rows,
        "evaluation_shards": list(context.evaluation_shards(look.case.evaluation_rows)),
        "cuts": list(look.cuts),
        "leaves": look.name,
        "scale": look.scale,
        "times": look.times,
    }


def arrays_of(look: Look) -> Tensors:
    """Return what probes.npz must hold besides states and batches."""
    arrays = {f"leaf/{look.name}/{name}": value for name, value in look.leaves.items()}
    return arrays | {f"cotangent/{look.name}/{name}": value for name, value in look.cotangents.items()}


def differences_of(look: Look, tape: Golden, observed: Mapping[str, np.ndarray], *, precision: str) -> list[Difference]:
    """Return how each tensor of a look differs from the oracle's, which is given the very inputs that the framework had."""
    leaves = {name: look.leaves[name] for name in look.cuts}
    batch = batch_of(look.case.batches[0], tape.training, tape.probes, tape.batches)
    state = tape.probes[look.case.state].state

    def answer(rounding=None) -> Tensors:
        given = {"leaves": leaves, "cotangents": look.cotangents}
        return oracle.segments(training_for(look.case, tape.training), state, batch, **given, rounding=rounding)

    expected = answer()
    if not set(CHOSEN_FROM) <= set(look.cuts):
        # Chosen from values that rounding moves: another choice need not be a wrong one.
        expected.pop("output/proposals", None)
    has_flips = look.case.is_full and len(look.cuts) < len(look.leaves)
    floors: dict[str, Floor] = make_floors(expected, answer, precision=precision, draws=DRAWS, has_flips=has_flips)
    return compare(look.name, observed, expected, floors)


def rounded(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return the array as it is after a cast to `dtype` (float64, float32, float16 or bfloat16), in float64."""
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
        # To the nearest, ties to even: half of the last kept bit, and one more where that bit is odd.
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return np.asarray(array).astype(dtype).astype(np.float64)


def place_of(tensor: str, readers: Mapping[str, Sequence[str]]) -> Place:
    """Return where a tensor is made. `readers`: tap -> the taps made from it, from the oracle's graph.

    The gradient that arrives at a tap is made by the layers that read it: by the one with weights, where two read it.
    """
    group, _, name = tensor.partition("/")
    if group == "loss":
        return Place("loss", "forward", "loss")
    if group == "output":
        return Place(layer_of(name, readers), "forward", "output")
    if group == "stats":
        layer, _, leaf = name.rpartition(".")
        if not layer:
            return Place(name, "forward", "content")
        return Place(layer, "forward", f"moving average of {leaf}" if leaf in _GRADIENTS else f"running {leaf}")
    if group == "leaf_gradient":
        made = readers[name]
        # Of two readers, the last has the weights; of more, any may be the one.
        layer = layer_of(made[-1], readers) if len(made) < 3 else " or ".join(made)
        return Place(layer, "backward", "data gradient")
    layer, _, leaf = name.rpartition(".")
    if group == "parameter_gradient":
        return Place(layer, "backward", _GRADIENTS[leaf])
    return Place(layer, "update", {"params": leaf, "momentum": f"momentum of {leaf}"}[group])


def layer_of(tap: str, taps: Iterable[str]) -> str:
    """Return the layer whose output a tap is: the last dense layer's where it has no tap of its own."""
    if tap != "logits":
        return tap
    return "contrast" if "head" in taps else "head"


def in_order(differences: Sequence[Difference], taps: Sequence[str], readers: Mapping[str, Sequence[str]]) -> list[Difference]:
    """Return differences in the order in which a step makes their tensors: forward, the loss, then backward."""
    forward = {layer_of(tap, taps): index for index, tap in enumerate([*taps, "loss"])}
    # A layer that both levels of a pyramid share: where it is used last.
    forward |= {f"rpn.{tap.split('.')[1]}": index for tap, index in forward.items() if tap.startswith("rpn") and tap[3] != "."}

    def key(difference: Difference) -> tuple:
        place = place_of(difference.tensor, readers)
        # A key encoder moves before it encodes, what is kept of its keys after that.
        is_before_keys = place.layer.startswith("key.")
        # Of several layers that may have made it, the last one backward: it is whole only then.
        layers = ["keys"] if is_before_keys else place.layer.split(" or ")
        index = min(forward.get(layer, len(forward)) for layer in layers) - 0.5 * is_before_keys
        if place.phase == "forward":
            return (0, index, place.quantity != "output", place.quantity)
        # Backward a layer has its gradient of weights and that of its input at the same time.
        return (1 if place.phase == "backward" else 2, -index, place.quantity)

    return sorted(differences, key=key)

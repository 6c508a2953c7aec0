"""The first tensor of a step that is not finite, what it is made from, and what float64 has there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from vigil.documents.replay import FRAMEWORK, MODEL, RANGE, UNKNOWN, InFloat64, NotFinite, TensorBeside64, TensorRange
from vigil.verify.oracle.outline import Outline

Tensors = Mapping[str, np.ndarray]
# The largest finite number of a type. bfloat16's: 2**128 - 2**120.
HOLDS = {"float16": 65504.0, "bfloat16": float(2**128 - 2**120)} | {
    name: float(np.finfo(name).max) for name in ("float32", "float64")
}
_BACKWARD = ("leaf_gradient/", "parameter_gradient/")


def tensors_of(looked: Tensors, loss: float, after: Tensors, outline: Outline) -> dict[str, np.ndarray]:
    """Return all tensors of a step, in order of computation.

    Args:
        looked: those that the program with its taps gave; loss, after: what the one without gave.
    """
    seen = {name: array for name, array in looked.items() if name.startswith(("output/", *_BACKWARD))}
    updated = {name: np.asarray(array) for name, array in after.items() if not name.startswith(("scaler/", "replicas/"))}
    whole = {**seen, "loss": np.asarray(loss), **updated}
    # A choice has no gradient: nothing reads it that could send one back.
    chosen = {f"leaf_gradient/{name}" for name in outline.choices}
    floats = {name: array for name, array in whole.items() if np.asarray(array).dtype.kind == "f" and name not in chosen}
    return {name: floats[name] for name in sorted(floats, key=outline.position)}


def first_not_finite(tensors: Tensors, state: Tensors, images: np.ndarray, outline: Outline) -> NotFinite | None:
    """Return the first of a step's tensors that is not finite, or None. `tensors`: in order of computation."""
    name = next((name for name, array in tensors.items() if not np.isfinite(array).all()), None)
    if name is None:
        return None
    array, place = tensors[name], outline.place(name)
    wrong = ~np.isfinite(array)
    index = np.unravel_index(int(np.argmax(wrong)), array.shape) if array.ndim else ()
    then = next((other for other, each in tensors.items() if np.isnan(each).any()), None)
    forms = outline.forms.get(place.layer, ())
    known = {**{f"state/{each}": value for each, value in state.items()}, **tensors, "images": images}
    return NotFinite(
        tensor=name,
        layer=place.layer,
        phase=place.phase,
        quantity=place.quantity,
        operator=forms[0].kind if forms and place.phase != "update" else None,
        not_finite=int(np.count_nonzero(wrong)),
        elements=int(array.size),
        index=tuple(map(int, index)),
        value=float(array[index]),
        then_nan=then if then != name else None,
        inputs=tuple(range_of(label, known[key]) for label, key in inputs_of(name, outline) if key in known),
    )


def inputs_of(tensor: str, outline: Outline) -> list[tuple[str, str]]:
    """Return what a tensor is made from: how it is called, and its key, `state/...` of what the step began with."""
    group, _, name = tensor.partition("/")

    def made_from(tap: str) -> list[tuple[str, str]]:
        taps = [(f"output/{other}", f"output/{other}") for other, readers in outline.readers.items() if tap in readers]
        return taps or [("images", "images")]

    def weights(tap: str) -> list[tuple[str, str]]:
        used = (parameter for parameter, users in outline.users.items() if tap in users)
        return [(f"params/{parameter}", f"state/params/{parameter}") for parameter in used]

    if group in ("output", "loss"):
        tap = name or "loss"
        found = [*made_from(tap), *weights(tap)]
    elif group == "leaf_gradient":
        readers = [reader for reader in outline.readers[name] if reader != "loss"]
        arriving = [(f"leaf_gradient/{reader}", f"leaf_gradient/{reader}") for reader in readers] or [("loss", "loss")]
        found = [*arriving, (f"output/{name}", f"output/{name}"), *(each for reader in readers for each in weights(reader))]
    elif group == "parameter_gradient":
        found = []
        for tap in outline.users.get(name, ()):
            found += [(f"leaf_gradient/{tap}", f"leaf_gradient/{tap}"), *made_from(tap)]
    elif group == "stats":
        taps = [tap for tap, layer in outline.layers.items() if layer == outline.statistics[name].layer]
        found = [each for tap in taps for each in made_from(tap)] + [(f"{tensor} before", f"state/{tensor}")]
    else:
        found = [(f"{tensor} before", f"state/{tensor}"), (f"parameter_gradient/{name}", f"parameter_gradient/{name}")]
    return list(dict.fromkeys(found))


def range_of(name: str, array: np.ndarray) -> TensorRange:
    """Return how large a tensor is."""
    finite = np.asarray(array)[np.isfinite(array)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
    return TensorRange(
        tensor=name, elements=int(np.size(array)), not_finite=int(np.size(array)) - finite.size, low=low, high=high
    )


def in_float64(origin: NotFinite, expected: Tensors | None, dtype: str, *, scale: float, why_not: str = "") -> InFloat64:
    """Return what float64 has where the framework has a number that is not finite.

    Args:
        expected: the oracle's tensors of the same state and batch; None where there is no oracle, for the reason `why_not`.
        dtype: of the framework's tensor.
        scale: what the loss was multiplied by: gradients of taps are as many times as large in the framework.
    """
    array = None if expected is None else expected.get(origin.tensor)
    if array is None:
        reason = f"float64 is unknown there: {why_not or 'the oracle has no such tensor'}"
        return InFloat64(cause=UNKNOWN, largest=None, there=None, dtype=dtype, holds=HOLDS.get(dtype), reason=reason)
    times = scale if origin.tensor.startswith(_BACKWARD) else 1.0
    array = np.abs(np.asarray(array, np.float64)) * times
    there = float(array[origin.index]) if array.ndim == len(origin.index) else None
    largest, holds = float(np.max(array, initial=0.0)), HOLDS[dtype]
    if not math.isfinite(largest):
        cause, reason = MODEL, "float64 has it too: the model overflows"
    elif largest > holds:
        scaled = f" times the loss scale {scale:g}" if times != 1.0 else ""
        cause = RANGE
        reason = f"float64 has {largest:.3g}{scaled} there, {dtype} holds {holds:.3g} at most: it is the precision's range"
        if holds > HOLDS["float16"]:
            reason = f"float64 has {largest:.3g} there, {dtype} holds {holds:.3g} at most: the model overflows"
    else:
        cause = FRAMEWORK
        reason = (
            f"float64 is finite there, its largest {largest:.3g}, and {dtype} holds {holds:.3g}: it is the framework's, or a "
            "number on the way to it leaves the precision's range"
        )
    return InFloat64(cause=cause, largest=largest, there=there, dtype=dtype, holds=holds, reason=reason)


def dtype_of(tensor: str, looked: Tensors, *, precision: str) -> str:
    """Return the type of one of the framework's tensors: a tap's is told, all else is kept in the parameters' type."""
    group, _, name = tensor.partition("/")
    told = looked.get(f"dtype/{name}") if group in ("output", "leaf_gradient") else None
    return str(told) if told is not None else ("float64" if precision == "fp64" else "float32")


def beside_float64(tensors: Tensors, expected: Tensors | None) -> tuple[TensorBeside64, ...]:
    """Return each tensor of a step beside the oracle's."""
    return tuple(_beside(name, array, None if expected is None else expected.get(name)) for name, array in tensors.items())


def _beside(name: str, array: np.ndarray, expected: Any) -> TensorBeside64:
    seen = range_of(name, array)
    largest = None if seen.low is None or seen.high is None else max(abs(seen.low), abs(seen.high))
    if expected is None or np.shape(expected) != np.shape(array):
        return TensorBeside64(tensor=name, not_finite=seen.not_finite, largest=largest, in_float64=None, distance=None)
    with np.errstate(all="ignore"):
        right = np.asarray(expected, np.float64)
        norm, apart = float(np.linalg.norm(right)), float(np.linalg.norm(np.asarray(array, np.float64) - right))
    in_64 = float(np.max(np.abs(right), initial=0.0))
    return TensorBeside64(
        tensor=name,
        not_finite=seen.not_finite,
        largest=largest,
        in_float64=in_64,
        distance=apart / norm if norm else apart,
    )

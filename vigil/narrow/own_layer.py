"""The layer that a step's origin names, alone: an operator of one call, at the layer's own sizes.

What the layer is its own text says: `Linear(in_features=6, out_features=5, bias=True)`. A process without the planted fault says
what is right of it; a layer that is right alone leaves the whole step to be written down.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from runners.contract.arrays import read_arrays
from runners.contract.files import replace_text
from runners.contract.operators import frame
from runners.contract.operators.request import OPTION
from runners.contract.operators.trials import GIVEN, PLAIN
from runners.contract.steps import frame as steps
from vigil.documents.narrowing import Shrinking
from vigil.documents.operator import Inputs
from vigil.documents.step import OwnFileFacts, StepContext
from vigil.narrow.own_file import OwnNarrowed, OwnText, Shown, first_that_shows
from vigil.narrow.own_operator import request_of, scripts_of
from vigil.steps.processes import Started, carried_out

_FILE = "layer.py"
# In others autocast gives each layer a precision of its own.
_PRECISION = "fp32"
_SECONDS = 120.0
# Prints what makes the layer, and the shapes of its parameters, as JSON: nothing where its text makes another layer.
_ASKED = """
import importlib.util, json, sys
import torch
path, name = sys.argv[1:3]
spec = importlib.util.spec_from_file_location("own", path)
module = importlib.util.module_from_spec(spec)
sys.modules["own"] = module
spec.loader.exec_module(module)
layer = module.build().get_submodule(name)
shapes = {each: list(value.shape) for each, value in layer.named_parameters()}
text = "torch.nn." + repr(layer)
again = eval(text)
assert type(again) is type(layer) and {each: list(value.shape) for each, value in again.named_parameters()} == shapes
print(json.dumps([text, shapes]))
"""
_OPERATOR = '''"""{text}, alone."""

import numpy as np
import torch


def inputs(seed, rows={rows}):
    random = np.random.default_rng(seed)
    parameters = {parameters}
    return {{"x": random.standard_normal((rows, {shape}), np.float32), "parameters": parameters}}


def candidate(x, parameters):
    return torch.func.functional_call({text}, parameters, (x,))


reference = candidate
'''


class _Layer(NamedTuple):
    """A layer: the expression that makes it, its parameters' shapes, and the shape of what it gets."""

    text: str
    parameters: dict[str, list[int]]
    shape: tuple[int, ...]


def narrow_layer(
    started: Started,
    directory: Path,
    verified: Path,
    context: StepContext,
    own: OwnText,
    *,
    tell: Callable[[str], None] = lambda text: None,
) -> OwnNarrowed | None:
    """Write the script of an origin's layer alone into a directory; None where it is right alone, or cannot be asked.

    Args:
        verified: the directory of the run.
    """
    layer = _layer_of(started, verified, context, own)
    if layer is None:
        return None
    tell(f"asking {layer.text} alone")
    place = directory / "layer"
    place.mkdir(parents=True)
    drawn = ", ".join(
        f'"{name}": random.standard_normal({tuple(shape)}, np.float32)' for name, shape in layer.parameters.items()
    )  # fmt: skip
    text = _OPERATOR.format(
        text=layer.text, rows=layer.shape[0], shape=", ".join(map(str, layer.shape[1:])), parameters=f"{{{drawn}}}"
    )  # fmt: skip
    replace_text(place / _FILE, text)
    facts = OwnFileFacts(path=str(place / _FILE), sha256=hashlib.sha256(text.encode()).hexdigest())
    asked = 0
    for rows in dict.fromkeys((1, layer.shape[0])):
        inputs = Inputs(seed=0, sizes={"rows": rows}, precision=_PRECISION, values=GIVEN, layout=PLAIN)
        clean = dataclasses.replace(started, fault=None)
        request = request_of(clean, facts, "eager", inputs, threads=context.threads)
        ended = carried_out(clean, place / f"rows-{rows}", request, option=OPTION)
        if ended.failure or not (ended.directory / frame.RIGHT).exists():
            continue
        answer = ended.read(frame.ANSWERS)
        for tensor in _tensors(context, list(read_arrays(ended.directory / frame.RIGHT))):
            for mode in dict.fromkeys(("eager", context.context.mode)):
                if mode not in ("eager", "compile"):
                    continue
                needs = (*([f"rows={rows}"] if rows > 1 else []), *([f"mode {mode}"] if mode != "eager" else []))
                says = [f"{layer.text}, a layer of {own.name}: {tensor} is not what it is in float64.",
                        *(f"It needs {each}." for each in needs)]  # fmt: skip
                scripts = scripts_of(
                    started.framework, mode, frame.BUG, tensor, context.threads, inputs, answer, ended.directory,
                    OwnText(place / _FILE, text), says,
                )  # fmt: skip
                shown = first_that_shows(scripts, directory, started)
                asked += 1
                if isinstance(shown, Shown):
                    before, after = "the whole step", f"{layer.text}, {rows} row{'s' if rows > 1 else ''}"
                    shrinking = Shrinking(asked=asked, before=before, after=after, needs=needs)
                    return OwnNarrowed(shown.path, shrinking, shown.like, shown.without)
    return None


def _layer_of(started: Started, verified: Path, context: StepContext, own: OwnText) -> _Layer | None:
    """Return the layer of an origin; None where it is none of PyTorch's own with one input, or of another precision."""
    origin, look = context.origin, verified / f"look-oracle-{_PRECISION}" / steps.EXPECTED
    if origin is None or started.framework != "torch" or context.context.precision != _PRECISION or not look.exists():
        return None
    got = [array.shape for name, array in read_arrays(look).items()
           if name.startswith(f"{steps.LOOK}/forward/") and name.split("/", 3)[3] == f"{origin.where}/input"]  # fmt: skip
    if len(got) != 1 or not got[0]:
        return None
    command = [str(started.python or sys.executable), "-c", _ASKED, str(own.path), origin.where]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return None
    text, parameters = json.loads(done.stdout.splitlines()[-1])
    return _Layer(text, parameters, got[0])


def _tensors(context: StepContext, names: list[str]) -> list[str]:
    """Return which tensors of the layer would be the origin's."""
    assert context.origin is not None
    phase, tensor = context.origin.phase, context.origin.tensor
    if phase == "gradient":
        parameter = tensor.rpartition(".")[2]
        return [name for name in names if name == f"gradients/parameters.{parameter}"]
    wanted = "gradients/x" if phase == "backward" else "outputs/" if phase == "forward" else None
    return [name for name in names if wanted and name.startswith(wanted)]

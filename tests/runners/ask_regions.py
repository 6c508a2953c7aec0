"""Asks one framework's region pieces everything in region_cases.py, in one mode.

    python -m tests.runners.ask_regions torch jit OUT.npz

Each answer is an array named `variant|case|dtype|output`: the variant is empty, or the mistake that was planted.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.runners.region_cases import CASES, DEFECTS, PLANTED_IN, TOGETHER, Case, cotangent

ROOT = Path(__file__).resolve().parents[2]


def pieces_of(framework: str, *, defect: str | None = None) -> types.ModuleType:
    """Return a framework's pieces, with a mistake planted in the source or without."""
    path = ROOT / "runners" / framework / "regions.py"
    source = path.read_text(encoding="utf-8")
    if defect is not None:
        right, wrong = DEFECTS[defect][1][framework]
        assert right in source, f"{path}: {right!r} is not there to be replaced"
        source = source.replace(right, wrong)
    # A file and a module of its own: compilers look up the source of what they compile.
    name = f"regions_{len(sys.modules)}"
    written = Path(sys.argv[3]).with_name(f"{name}.py")
    written.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, written)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(pieces: types.ModuleType, case: Case) -> Callable:
    """Return the case's function of its arrays; it returns a tuple of arrays."""
    together = TOGETHER.get(case.function)

    def call(*arrays):
        found = together(pieces, *arrays, **case.options) if together else getattr(pieces, case.function)(*arrays, **case.options)
        return tuple(found) if isinstance(found, tuple | list) else (found,)

    return call


def torch_answers(pieces: types.ModuleType, case: Case, dtype: str, mode: str) -> list[np.ndarray]:
    """Return what PyTorch answers, outputs and then gradients. A trace is taken of zeros, so that it can remember no value."""
    import torch

    def tensor(array, place):
        made = torch.from_numpy(np.ascontiguousarray(array))
        if made.is_floating_point():
            is_feature = place in case.maps and case.features
            made = made.to(getattr(torch, case.features if is_feature else dtype))
        return made.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last) if place in case.maps else made

    def canonical(made):
        made = made.detach().to(torch.float64) if made.is_floating_point() else made
        if case.maps and made.dim() in (4, 5):
            made = made.movedim(-3, -1)
        return made.numpy()

    function, tensors = called(pieces, case), [tensor(array, place) for place, array in enumerate(case.arguments)]
    for each in tensors[: case.differentiated]:
        each.requires_grad_()
    autocast = torch.autocast("cpu", getattr(torch, case.features)) if case.features else contextlib.nullcontext()
    if mode == "jit":
        with autocast, warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            function = torch.jit.trace(function, tuple(torch.zeros_like(each) for each in tensors), check_trace=False)
        # A trace holds the casts, but not where autocast is off.
        outputs = function(*tensors)
    else:
        if mode == "compile":
            torch._dynamo.reset()
            function = torch.compile(function, fullgraph=True)
        with autocast:
            outputs = function(*tensors)
    if not case.differentiated:
        return [canonical(each) for each in outputs]
    (output,) = outputs
    weights = torch.from_numpy(cotangent(canonical(output).shape)).to(output.dtype)
    weights = weights.movedim(-1, -3) if case.maps else weights
    gradients = torch.autograd.grad((output * weights).sum(), tensors[: case.differentiated])
    return [canonical(each) for each in (output, *gradients)]


def tensorflow_answers(pieces: types.ModuleType, case: Case, dtype: str, mode: str) -> list[np.ndarray]:
    """Return what TensorFlow answers, outputs and then gradients."""
    import tensorflow as tf

    def tensor(array, place):
        if array.dtype.kind != "f":
            return tf.constant(array, tf.bool if array.dtype.kind == "b" else tf.int32)
        return tf.cast(tf.constant(array), case.features if place in case.maps and case.features else dtype)

    def ask(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors[: case.differentiated])
            outputs = called(pieces, case)(*tensors)
            if not case.differentiated:
                return outputs
            (output,) = outputs
            loss = tf.reduce_sum(output * tf.cast(cotangent(tuple(output.shape)), output.dtype))
        return (output, *tape.gradient(loss, tensors[: case.differentiated]))

    if mode != "eager":
        ask = tf.function(ask, autograph=False, jit_compile=mode == "compile")
    answers = ask(*(tensor(array, place) for place, array in enumerate(case.arguments)))
    return [(tf.cast(each, tf.float64) if each.dtype.is_floating else each).numpy() for each in answers]


def jax_answers(pieces: types.ModuleType, case: Case, dtype: str, mode: str) -> list[np.ndarray]:
    """Return what JAX answers, outputs and then gradients. float32 is asked as users have it, without 64-bit types."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", dtype == "float64")
    jax.config.update("jax_default_matmul_precision", "highest")

    def tensor(array, place):
        if array.dtype.kind != "f":
            return jnp.asarray(array, bool if array.dtype.kind == "b" else jnp.int32)
        return jnp.asarray(array, case.features if place in case.maps and case.features else dtype)

    def ask(*tensors):
        moving, fixed = tensors[: case.differentiated], tensors[case.differentiated :]
        if not moving:
            return called(pieces, case)(*fixed)
        output, back = jax.vjp(lambda *moving: called(pieces, case)(*moving, *fixed)[0], *moving)
        return (output, *back(jnp.asarray(cotangent(output.shape), output.dtype)))

    tensors = [tensor(array, place) for place, array in enumerate(case.arguments)]
    if mode == "jit":
        ask = jax.jit(ask)
    elif mode == "compile":
        ask = jax.jit(ask).lower(*tensors).compile()
    return [np.asarray(each, np.float64 if jnp.issubdtype(each.dtype, jnp.floating) else None) for each in ask(*tensors)]


ANSWERS = {"torch": torch_answers, "tensorflow": tensorflow_answers, "jax": jax_answers}


def main(framework: str, mode: str, path: str) -> None:
    """Write all answers of a framework in a mode; in one, in float32, those of every planted mistake as well."""
    found = {}

    def ask(variant, pieces, name, dtype):
        for index, answer in enumerate(ANSWERS[framework](pieces, CASES[name], dtype, mode)):
            found[f"{variant}|{name}|{dtype}|{index}"] = answer

    right = pieces_of(framework)
    for name, case in CASES.items():
        for dtype in case.dtypes:
            ask("", right, name, dtype)
    for defect, (names, sources) in DEFECTS.items() if mode == PLANTED_IN[framework] else ():
        if framework not in sources:
            continue
        wrong = pieces_of(framework, defect=defect)
        for name in names:
            ask(defect, wrong, name, "float32")
    np.savez(path, **found)


def compare_torchvision(path: str) -> None:
    """Write what torchvision's own RoIAlign and suppression answer to the same cases."""
    import torch
    import torchvision

    found = {}
    for name in ("align", "align once", "align thrice", "align border"):
        case = CASES[name]
        features = torch.from_numpy(case.arguments[0]).permute(0, 3, 1, 2).contiguous().requires_grad_()
        boxes = [torch.from_numpy(each) for each in case.arguments[1]]
        options = {"spatial_scale": 1 / case.options["stride"], "sampling_ratio": case.options["samples"], "aligned": True}
        output = torchvision.ops.roi_align(features, boxes, case.options["size"], **options)
        output = output.unflatten(0, case.arguments[1].shape[:2]).movedim(-3, -1)
        (gradient,) = torch.autograd.grad((output * torch.from_numpy(cotangent(tuple(output.shape)))).sum(), [features])
        found[f"{name}|0"], found[f"{name}|1"] = output.detach().numpy(), gradient.permute(0, 2, 3, 1).numpy()
    for name in ("nms", "nms exhausted", "nms at the threshold"):
        case = CASES[name]
        for image, (boxes, scores, valid) in enumerate(zip(*case.arguments, strict=True)):
            rows = np.flatnonzero(valid)
            kept = torchvision.ops.nms(torch.from_numpy(boxes[rows]), torch.from_numpy(scores[rows]), case.options["threshold"])
            found[f"{name}|{image}"] = rows[kept.numpy()]
    np.savez(path, **found)


if __name__ == "__main__":
    if sys.argv[1] == "torchvision":
        compare_torchvision(sys.argv[3])
    else:
        main(*sys.argv[1:])

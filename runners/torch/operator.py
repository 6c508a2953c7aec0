"""A user's operator in PyTorch: the candidate as it is written, and the reference in float64 by shadows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from runners.contract.errors import Unsupported
from runners.contract.operators.frame import Arrays, Framework, Question
from runners.contract.operators.own import CANDIDATE, REFERENCE, OperatorFile, named_leaves
from runners.contract.operators.request import OperatorRequest
from runners.contract.steps.own import Batch, OwnFileError, map_leaves
from runners.torch.devices import device_of
from runners.torch.modes import compile_function, keep_compiled
from runners.torch.precision import set_up as set_up_precision
from runners.torch.shadows import shadowed
from runners.torch.step import describe, to_numpy

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_CPU = torch.device("cpu")


def _set_up(request: OperatorRequest) -> None:
    torch.set_num_threads(request.threads)
    if request.device == "gpu":
        set_up_precision("fp32", device=request.device)
        torch.cuda.set_device(device_of(request.device))
    keep_compiled(request, run_directory=Path())


class Operator:
    """The operator of a file, in a mode."""

    has_layouts = True

    def __init__(self, file: OperatorFile, request: OperatorRequest) -> None:
        self._file, self._device, self._choices = file, device_of(request.device), []
        self._candidate: Callable[[Batch], Any] = lambda arguments: file.call(CANDIDATE, arguments)
        self._reference: Callable[[Batch], Any] = lambda arguments: file.call(REFERENCE, arguments)
        if request.mode == "jit":
            raise Unsupported("jit: torch.jit has no way to take a function with any arguments. Allowed: eager, compile.")
        if request.mode == "compile":
            self._candidate = compile_function(self._candidate, dynamic=False)

    def candidate(self, question: Question) -> tuple[Arrays, Batch]:
        given = self._given(question, self._device)
        found, arguments = self._carried_out(self._candidate, given, question, _read)
        return found, map_leaves(lambda leaf: _read(leaf) if isinstance(leaf, torch.Tensor) else leaf, arguments)

    def reference(self, question: Question) -> Arrays:
        plain = question._replace(layout="plain" if question.layout != "expanded" else "expanded")
        return self._carried_out(self._reference, self._given(plain), plain, _read)[0]

    def exact(self, question: Question, *, draw: int | None = None, moved: Mapping[str, np.ndarray] | None = None) -> Arrays:
        plain = question._replace(layout="plain" if question.layout != "expanded" else "expanded")
        given = self._given(plain)
        with shadowed(draw) as shadows:
            for name, leaf in named_leaves(given):
                if moved and name in moved:
                    shadows.of(leaf.detach()).add_(torch.from_numpy(np.asarray(moved[name])))
            found, _ = self._carried_out(self._reference, given, plain, shadows.array)
        self._choices = shadows.choices
        return found

    def choices(self) -> list[tuple[str, int]]:
        return self._choices

    def _given(self, question: Question, device: torch.device = _CPU) -> Batch:
        """Return inputs as tensors on a device, those that are differentiated as leaves."""
        names = iter([name for name, _ in named_leaves(question.inputs)])

        def tensor(leaf: Any) -> Any:
            name = next(names)
            if not isinstance(leaf, np.ndarray):
                return leaf
            found = torch.from_numpy(leaf.copy()).to(device)
            if not found.is_floating_point():
                return found
            return found.to(_TYPES[question.precision]).requires_grad_(name in question.differentiated)

        return map_leaves(tensor, question.inputs)

    def _carried_out(
        self, function: Callable[[Batch], Any], given: Batch, question: Question, read: Callable[[Any], np.ndarray]
    ) -> tuple[Arrays, Batch]:
        """Return what a function gives, and gradients; and its arguments after it, which are none of autograd's leaves."""
        arguments = map_leaves(lambda leaf: _laid_out(_copied(leaf), question.layout), given)
        result = function(arguments)
        outputs = [(name, leaf) for name, leaf in named_leaves(result) if isinstance(leaf, torch.Tensor)]
        if not outputs:
            raise OwnFileError(f"{self._file.name}: gave {type(result).__name__}. Allowed: tensors, in tuples, lists and dicts.")
        found = {f"outputs/{name}": read(leaf) for name, leaf in outputs}
        differentiable = [(place, leaf) for place, (_, leaf) in enumerate(outputs) if leaf.requires_grad]
        if differentiable:
            cotangents = [self._cotangent(question, place, leaf) for place, leaf in differentiable]
            try:
                torch.autograd.backward([leaf for _, leaf in differentiable], cotangents)
            except Exception as error:
                raise self._file.own.blame("backward", error) from error
        for name, leaf in named_leaves(given):
            if name in question.differentiated:
                found[f"gradients/{name}"] = np.zeros(tuple(leaf.shape)) if leaf.grad is None else read(leaf.grad)
        return found, arguments

    def _cotangent(self, question: Question, place: int, output: Any) -> Any:
        if question.layout == "expanded":
            return torch.ones((), dtype=output.dtype, device=output.device).expand(output.shape)
        numbers = torch.from_numpy(question.cotangent(place, output.shape)).to(output.device, output.dtype)
        return _laid_out(numbers, question.layout)


def _copied(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf


def _laid_out(leaf: Any, layout: str) -> Any:
    """Return a tensor with the same numbers that lies in memory in another way."""
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point() or leaf.ndim == 0 or layout in ("plain", "expanded"):
        return leaf
    if layout == "transposed":
        return leaf.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "strided":
        return leaf.repeat_interleave(2, -1)[..., ::2]
    return torch.cat([leaf.new_zeros(1), leaf.flatten()])[1:].view(leaf.shape)


def _read(tensor: Any) -> np.ndarray:
    return (tensor.detach().float() if tensor.is_floating_point() else tensor.detach()).cpu().numpy().copy()


def _to_numpy(inputs: Batch) -> Batch:
    """Return inputs as NumPy arrays; those in bfloat16 in float32, since the precision that is tried is another."""
    return to_numpy(map_leaves(lambda leaf: leaf.float() if getattr(leaf, "dtype", None) == torch.bfloat16 else leaf, inputs))


FRAMEWORK = Framework("torch", _set_up, describe, _to_numpy, Operator)

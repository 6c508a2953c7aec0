"""Public calls of PyTorch, carried out for an audit."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from runners.contract.audit.derivatives import Derived, tried
from runners.contract.audit.frame import HAS_NONE, Answer, Call, Framework, Question
from runners.contract.audit.request import AuditRequest
from runners.contract.audit.ways import use_keras
from runners.contract.errors import Unsupported
from runners.torch.derivatives import ways_of
from runners.torch.devices import device_of
from runners.torch.modes import compile_function, keep_compiled
from runners.torch.precision import set_up as set_up_precision
from runners.torch.step import describe

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp64": torch.float64}


def _set_up(request: AuditRequest) -> None:
    torch.set_num_threads(request.threads)
    if request.device == "gpu":
        set_up_precision("fp32", device=request.device)
        torch.cuda.set_device(device_of(request.device))
    keep_compiled(request, run_directory=Path())
    use_keras("torch")


class Tools:
    """What a planted defect does to tensors."""

    def is_floating(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.is_floating_point()

    def is_truth(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.dtype == torch.bool

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def scaled(self, value: Any, factor: np.ndarray | float) -> Any:
        return value * torch.as_tensor(factor, dtype=value.dtype)

    def rolled(self, value: Any) -> Any:
        return torch.roll(value, 1, -1)

    def all_true(self, value: Any) -> Any:
        return torch.ones_like(value)

    def narrowed(self, value: Any) -> Any:
        return value.to(torch.bfloat16)

    def like(self, value: Any, other: Any) -> Any:
        return value.to(other.dtype)

    def half_gradient(self, value: Any) -> Any:
        return value / 2 + (value / 2).detach()


class Adapter:
    """How a call is carried out in a mode."""

    tools = Tools()

    def __init__(self, request: AuditRequest) -> None:
        if request.mode == "jit":
            raise Unsupported("jit: torch.jit has no way to take a function with any arguments. Allowed: eager, compile.")
        self._mode, self._device = request.mode, device_of(request.device)

    def prepared(self, call: Call, question: Question) -> Callable[[], Answer]:
        function: Callable[..., Any] = call
        if self._mode == "compile" and not question.is_program:
            function = compile_function(lambda **arguments: call(**arguments), dynamic=False)
        return lambda: self._answer(function, question)

    def _answer(self, function: Callable[..., Any], question: Question) -> Answer:
        leaves = {name: self._leaf(name, array, question) for name, array in question.arguments.items()}
        before = {name: _read(leaf).tobytes() for name, leaf in leaves.items()}
        with self._within():
            found = function(**{name: _laid_out(leaf, question.layout) for name, leaf in leaves.items()}, **question.parameters)
        outputs = list(found) if isinstance(found, (tuple, list)) else [found]
        pairs = [
            (each, _laid_out(torch.as_tensor(cotangent).to(each.device, each.dtype), question.layout))
            for each, cotangent in zip(outputs, question.cotangents, strict=False)
            if cotangent is not None and each.requires_grad and tuple(each.shape) == cotangent.shape
        ]
        if pairs:
            torch.autograd.backward([each for each, _ in pairs], [cotangent for _, cotangent in pairs])
        gradients = {
            name: np.zeros(tuple(leaves[name].shape), np.float32) if leaves[name].grad is None else _read(leaves[name].grad)
            for name in question.differentiated
        }
        changed = tuple(name for name, leaf in leaves.items() if _read(leaf).tobytes() != before[name])

        def read() -> list[np.ndarray]:
            return [_read(each) for each in outputs]

        return Answer(read(), gradients, read, changed)

    def derived(self, call: Call, question: Question) -> Derived:
        # DIFFERS(torch): of a compiled function there is no second derivative, so that these are eager's in every mode.
        given = {name: self._leaf(name, array, question).detach() for name, array in question.arguments.items()}
        chosen = {name: given[name] for name in question.differentiated}
        directions = [
            {name: torch.from_numpy(array).to(self._device, given[name].dtype) for name, array in each.items()}
            for each in question.directions
        ]
        cotangents = [None if each is None else torch.as_tensor(each).to(self._device) for each in question.cotangents]

        def forward(tensors: Any) -> list[Any]:
            with self._within():
                found = call(**{name: tensors.get(name, given[name]) for name in given}, **question.parameters)
            return list(found) if isinstance(found, (tuple, list)) else [found]

        ways = ways_of(forward, chosen, cotangents, *directions)
        gave, derived = tried({way: functools.partial(_read_all, work) for way, work in ways.items()}, refusals=HAS_NONE)
        return derived._replace(arrays={name: each for found in gave.values() for name, each in found.items()})

    def elsewhere(self, call: Call, question: Question) -> list[np.ndarray] | None:
        # Within a device every function goes by another path of Python, which has to hand on all arguments.
        if self._device.type != "cpu" or self._mode != "eager" or not hasattr(torch.device, "__enter__"):
            return None
        leaves = {name: self._leaf(name, array, question) for name, array in question.arguments.items()}
        with torch.device("cpu"):
            found = call(**{name: _laid_out(leaf, question.layout) for name, leaf in leaves.items()}, **question.parameters)
        return [_read(each) for each in (found if isinstance(found, (tuple, list)) else [found])]

    def _within(self) -> contextlib.AbstractContextManager:
        """Let what a call makes, layers and constants among it, be on the GPU, where its arguments are."""
        return contextlib.nullcontext() if self._device.type == "cpu" else self._device

    def forget(self) -> None:
        if self._mode == "compile":
            torch._dynamo.reset()

    def _leaf(self, name: str, array: np.ndarray, question: Question) -> Any:
        if array.dtype.kind in "iu":
            return torch.from_numpy(array.astype(np.int64)).to(self._device)
        found = torch.from_numpy(array.copy()).to(self._device)
        if array.dtype.kind == "b":
            return found
        kind = torch.float32 if name in question.kept else _TYPES[question.precision]
        return found.to(kind).requires_grad_(name in question.differentiated)


def _laid_out(leaf: Any, layout: str) -> Any:
    """Return a tensor with the same numbers that lies in memory in another way."""
    if not leaf.is_floating_point() or leaf.ndim == 0 or layout == "plain":
        return leaf
    if layout == "transposed":
        return leaf.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "strided":
        return leaf.repeat_interleave(2, -1)[..., ::2]
    if layout == "channels_last":
        kinds = {4: torch.channels_last, 5: torch.channels_last_3d}
        return leaf.contiguous(memory_format=kinds[leaf.ndim]) if leaf.ndim in kinds else leaf
    return torch.cat([leaf.new_zeros(1), leaf.flatten()])[1:].view(leaf.shape)


def _read_all(work: Callable[[], dict[str, Any]]) -> dict[str, np.ndarray]:
    return {name: _read(each) for name, each in work().items()}


def _read(value: Any) -> np.ndarray:
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    value = value.detach()
    narrow = value.is_floating_point() and value.dtype != torch.float64
    return (value.float() if narrow else value).contiguous().cpu().numpy().copy()


FRAMEWORK = Framework("torch", _set_up, describe, Adapter)

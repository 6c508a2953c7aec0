"""Public batch norms of PyTorch, as they are asked for the table of batch norms."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from runners.contract.audit import batch_norm as asked
from runners.contract.audit.batch_norm import Form, Public, Shard, Taken
from runners.contract.audit.ways import has_keras, use_keras, version_of_keras
from runners.contract.errors import Unsupported
from runners.torch.modes import compile_function, forget_compiled, trace
from runners.torch.step import describe

_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def _set_up(request: asked.TableRequest) -> None:
    torch.set_num_threads(request.threads)
    use_keras("torch")


class _Module:
    """A module of torch.nn."""

    def __init__(self, form: Form, kind: Callable[..., nn.Module]) -> None:
        self._form = form
        forget_compiled(form.mode)
        self._module = kind(form.channels, **({} if form.momentum is None else {"momentum": form.momentum}))
        if form.scale is not None:
            nn.init.constant_(self._module.weight, form.scale)
        if form.is_cast:
            self._module.to(_TYPES[form.precision])

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        _refuse(mask)
        self._module.train(step != asked.EVALUATION)
        self._module.requires_grad_(step != asked.FROZEN)
        return _taken(self._called, self._form, step, x, cotangent)

    def _called(self, x: torch.Tensor) -> torch.Tensor:
        if self._form.mode == "eager":
            return self._module(x)
        if self._form.mode == "compile":
            return compile_function(self._module)(x)
        return trace(self._module, x.detach(), training=self._module.training, autocast=contextlib.nullcontext())(x)

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._module.running_mean), _read(self._module.running_var)


class _Function:
    """torch.nn.functional.batch_norm, whose caller keeps the statistics."""

    def __init__(self, form: Form) -> None:
        if form.mode == "jit":
            raise Unsupported("jit: torch.jit.trace holds modules here")
        self._form = form
        forget_compiled(form.mode)
        kind = _TYPES[form.precision] if form.is_cast else torch.float32
        self._scale = torch.full((form.channels,), 1.0 if form.scale is None else form.scale, dtype=kind)
        self._bias, self._mean = torch.zeros(form.channels, dtype=kind), torch.zeros(form.channels, dtype=kind)
        self._variance = torch.ones(form.channels, dtype=kind)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        _refuse(mask)
        if step == asked.FROZEN:
            raise Unsupported("a function has nothing to freeze")
        more: dict[str, Any] = {} if self._form.momentum is None else {"momentum": self._form.momentum}
        function: Callable[..., Any] = functional.batch_norm
        if self._form.mode == "compile":
            function = compile_function(functional.batch_norm)
        is_training = step != asked.EVALUATION
        return _taken(
            lambda x: function(x, self._mean, self._variance, self._scale, self._bias, training=is_training, **more),
            self._form, step, x, cotangent,
        )  # fmt: skip

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._mean), _read(self._variance)


def _sync(form: Form, xs: list[np.ndarray], cotangents: list[np.ndarray]) -> list[Shard]:
    """Return what SyncBatchNorm gives in a group of processes: one is enough to be told that it refuses the CPU."""
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("gloo", init_method=f"file://{os.path.join(folder, 'group')}", rank=0, world_size=1)
        try:
            _Module(form, nn.SyncBatchNorm).take(asked.BACKWARD, xs[0], None, cotangents[0])
        finally:
            torch.distributed.destroy_process_group()
    raise Unsupported("SyncBatchNorm takes CPU tensors here, and two processes were not tried")


class _Keras:
    """A layer of Keras on this backend."""

    def __init__(self, form: Form, axes: int) -> None:
        from runners.keras import batch_norms

        self._form = form
        forget_compiled(form.mode)
        self._layer = batch_norms.made(form, axes)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        if self._form.mode == "jit":
            raise Unsupported("jit: torch.jit.trace holds modules here")
        self._layer.trainable = step != asked.FROZEN
        given = None if mask is None else torch.from_numpy(mask)
        function: Callable[..., Any] = self._layer
        if self._form.mode == "compile":
            function = compile_function(self._layer)
        return _taken(
            lambda x: function(x, training=step != asked.EVALUATION, mask=given),
            self._form, step, x, cotangent, is_channels_last=True,
        )  # fmt: skip

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._layer.moving_mean.value), _read(self._layer.moving_variance.value)


def _taken(
    function: Callable[[torch.Tensor], torch.Tensor],
    form: Form,
    step: str,
    x: np.ndarray,
    cotangent: np.ndarray,
    *,
    is_channels_last: bool = False,
) -> Taken:
    """Take a step. Arrays come, and go back, with the channels last."""
    has_backward = step in (asked.BACKWARD, asked.FROZEN)
    leaf = torch.from_numpy(x).to(_TYPES[form.precision]).requires_grad_(has_backward or step == asked.TRAINING)
    moved = leaf if is_channels_last else leaf.movedim(-1, 1)
    with torch.no_grad() if step == asked.NO_GRADIENT else contextlib.nullcontext():
        output = function(moved)
    output = output if is_channels_last else output.movedim(1, -1)
    gradient = None
    if has_backward:
        output.backward(torch.from_numpy(cotangent).to(output.dtype))
        assert leaf.grad is not None
        gradient = _read(leaf.grad)
    return Taken(_read(output), str(output.dtype).removeprefix("torch."), gradient)


def _refuse(mask: np.ndarray | None) -> None:
    if mask is not None:
        raise Unsupported("it takes no mask")


def _read(value: torch.Tensor) -> np.ndarray:
    return value.detach().float().contiguous().numpy().copy()


def _describe() -> dict[str, Any]:
    return describe() | version_of_keras()


def _layers() -> Mapping[str, Public | None]:
    found: dict[str, Public | None] = {
        "torch.nn.BatchNorm1d": Public(2, lambda form: _Module(form, nn.BatchNorm1d)),
        "torch.nn.BatchNorm2d": Public(4, lambda form: _Module(form, nn.BatchNorm2d)),
        "torch.nn.functional.batch_norm": Public(4, _Function),
        "torch.nn.SyncBatchNorm": Public(4, lambda form: _Module(form, nn.SyncBatchNorm), _sync),
    }
    if has_keras():
        found["keras.layers.BatchNormalization"] = Public(4, lambda form: _Keras(form, 4))
    return found


FRAMEWORK = asked.Framework("torch", _set_up, _describe, _layers, dict)

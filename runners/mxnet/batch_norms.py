"""Public batch norms of MXNet, as they are asked for the table of batch norms."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd

from runners.contract.audit import batch_norm as asked
from runners.contract.audit.batch_norm import Form, Public, Shard, Taken
from runners.contract.errors import Unsupported

# bfloat16 goes by a structure of this name: NumPy has no such type.
_TYPES = {"fp32": np.dtype(np.float32), "bf16": np.dtype([("bfloat16", np.uint16)]), "fp16": np.dtype(np.float16)}


def _set_up(request: asked.TableRequest) -> None:
    """MXNet reads how many threads it has from the environment, before it is imported; one was asked for there."""


def _describe() -> dict[str, Any]:
    return {"framework_version": mx.__version__, "framework_path": mx.__file__}


def _taken(function: Callable[[Any], Any], form: Form, step: str, x: np.ndarray, cotangent: np.ndarray) -> Taken:
    """Take a step. Arrays come, and go back, with the channels last."""
    is_two = x.ndim == 2
    given = nd.array(x if is_two else np.moveaxis(x, -1, 1)).astype(_TYPES[form.precision])
    given.attach_grad()
    ways = {asked.EVALUATION: contextlib.nullcontext, asked.NO_GRADIENT: autograd.train_mode}
    with ways.get(step, autograd.record)():
        output = function(given)
    gradient = None
    if step in (asked.BACKWARD, asked.FROZEN):
        pulled = cotangent if is_two else np.moveaxis(cotangent, -1, 1)
        output.backward(nd.array(pulled).astype(output.dtype))
        gradient = _read(given.grad)
    arrays = [each if is_two or each is None else np.moveaxis(each, 1, -1) for each in (_read(output), gradient)]
    kind = np.dtype(output.dtype)
    return Taken(arrays[0], kind.names[0] if kind.names else kind.name, arrays[1])


class _Block:
    """A block of Gluon."""

    def __init__(self, form: Form, kind: Callable[..., Any]) -> None:
        if form.mode == "compile":
            raise Unsupported("compile: MXNet has no compiler; `hybridize` is jit here")
        self._form = form
        self._block = kind(in_channels=form.channels, **({} if form.momentum is None else {"momentum": form.momentum}))
        self._block.initialize()
        if form.scale is not None:
            self._block.gamma.set_data(nd.full((form.channels,), form.scale))
        if form.is_cast:
            self._block.cast(_TYPES[form.precision])
        if form.mode == "jit":
            self._block.hybridize()

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        if mask is not None:
            raise Unsupported("it takes no mask")
        if step == asked.FROZEN:
            self._block.collect_params().setattr("grad_req", "null")
        return _taken(self._block, self._form, step, x, cotangent)

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._block.running_mean.data()), _read(self._block.running_var.data())


class _Function:
    """mxnet.nd.BatchNorm, which writes to the statistics that it is given."""

    def __init__(self, form: Form) -> None:
        if form.mode != "eager":
            raise Unsupported(f"{form.mode}: a function of mxnet.nd is called as it is")
        if form.is_cast:
            raise Unsupported("its statistics are given in float32")
        self._form = form
        self._scale, self._bias = nd.full((form.channels,), 1.0 if form.scale is None else form.scale), nd.zeros(form.channels)
        self._mean, self._variance = nd.zeros(form.channels), nd.ones(form.channels)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        if mask is not None:
            raise Unsupported("it takes no mask")
        if step == asked.FROZEN:
            raise Unsupported("a function has nothing to freeze")
        more = {} if self._form.momentum is None else {"momentum": self._form.momentum}

        def function(x: Any) -> Any:
            return nd.BatchNorm(x, self._scale, self._bias, self._mean, self._variance, **more)

        return _taken(function, self._form, step, x, cotangent)

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._mean), _read(self._variance)


def _shared(form: Form, xs: list[np.ndarray], cotangents: list[np.ndarray]) -> list[Shard]:
    """Return what two CPU contexts of one process give."""
    contexts = [mx.cpu(place) for place in range(len(xs))]
    more = {} if form.momentum is None else {"momentum": form.momentum}
    block = gluon.contrib.nn.SyncBatchNorm(in_channels=form.channels, num_devices=len(xs), **more)
    block.initialize(ctx=contexts)
    given = [nd.array(np.moveaxis(x, -1, 1), ctx=context) for x, context in zip(xs, contexts, strict=True)]
    for each in given:
        each.attach_grad()
    with autograd.record():
        outputs = [block(each) for each in given]
    pulled = [nd.array(np.moveaxis(each, -1, 1), ctx=context) for each, context in zip(cotangents, contexts, strict=True)]
    autograd.backward(outputs, pulled)
    return [
        Shard(
            np.moveaxis(_read(output), 1, -1),
            np.moveaxis(_read(each.grad), 1, -1),
            _read(block.running_mean.data(context)),
            _read(block.running_var.data(context)),
        )
        for output, each, context in zip(outputs, given, contexts, strict=True)
    ]


def _read(value: Any) -> np.ndarray:
    nd.waitall()  # a backward pass may still be writing the running statistics (apache/mxnet#18610)
    return np.asarray(value.astype("float32").asnumpy())


def _layers() -> Mapping[str, Public | None]:
    return {
        "mxnet.gluon.nn.BatchNorm (2 axes)": Public(2, lambda form: _Block(form, gluon.nn.BatchNorm)),
        "mxnet.gluon.nn.BatchNorm (4 axes)": Public(4, lambda form: _Block(form, gluon.nn.BatchNorm)),
        "mxnet.nd.BatchNorm (2 axes)": Public(2, _Function),
        "mxnet.nd.BatchNorm (4 axes)": Public(4, _Function),
        "mxnet.gluon.contrib.nn.SyncBatchNorm": Public(
            4, lambda form: _Block(form, functools.partial(gluon.contrib.nn.SyncBatchNorm, num_devices=1)), _shared
        ),
    }


FRAMEWORK = asked.Framework("mxnet", _set_up, _describe, _layers, dict)

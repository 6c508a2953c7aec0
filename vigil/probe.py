"""For a training script of one's own: what it computes, written down as it runs under `vigil trace`, and nothing otherwise.

`monitor` takes tensors, and nested containers of them, of any framework and NumPy, and returns them; gradients pass through it
and are written down too. `torch`, `keras` and `jax` do that for all layers, gradients and trainable variables by one call.
Without `vigil trace` each returns what it was given. It imports no framework by itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from runners.contract.trace.records import Recorder, add_number, monitored

Value = TypeVar("Value")
_recorder: Recorder | None = None
_TRACERS = {
    "torch": "runners.torch.trace", "tensorflow": "runners.tensorflow.trace", "keras": "runners.tensorflow.trace",
    "jax": "runners.jax.trace", "jaxlib": "runners.jax.trace", "flax": "runners.jax.trace",
}  # fmt: skip


def monitor(value: Value, name: str) -> Value:
    """Write down a value, and the gradient that comes back to it; return it."""
    recorder = _recorder
    if recorder is None:
        return value

    def leaf(each: Any, where: str) -> Any:
        tracer = next((_TRACERS[top] for kind in type(each).__mro__ if (top := kind.__module__.split(".")[0]) in _TRACERS), None)
        if tracer:
            return importlib.import_module(tracer).monitor(recorder, each, where)
        add_number(recorder, each, where)
        return each

    return monitored(value, name, leaf)


def step() -> None:
    """Say that a step is done. From then on steps are counted by these calls, and not by updates of an optimizer."""
    if _recorder is not None:
        if _recorder.counts_steps:
            _recorder.counts_steps, _recorder.step = False, 0
        _recorder.steps()


def torch(model: Any, optimizer: Any = None) -> None:
    """Write down what the modules of a model take and give, their gradients, and the parameters after each update."""
    if _recorder is not None:
        importlib.import_module(_TRACERS["torch"]).watch(_recorder, model, optimizer)


def keras(model: Any) -> None:
    """Write down what the layers of a model give, gradients, and the variables after each update."""
    if _recorder is not None:
        importlib.import_module(_TRACERS["keras"]).watch(_recorder, model)


def jax(loss: Callable) -> Callable:
    """Return a loss function, of which the first argument, its gradients and the result are written down; under `jit` too."""
    return importlib.import_module(_TRACERS["jax"]).watched(_recorder, loss) if _recorder is not None else loss


def start(recorder: Recorder) -> Callable[[str], ModuleType]:
    """Write down from now on; return what imports the part for a framework."""
    global _recorder
    _recorder = recorder
    return lambda framework: importlib.import_module(_TRACERS[framework])

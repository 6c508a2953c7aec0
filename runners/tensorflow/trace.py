"""What a user's script computes with TensorFlow and Keras, written down as it runs: layers, gradients, variables, operators.

Layers of Keras, its optimizers, `tf.GradientTape` and `tf.function` are hooked. Within a function that is compiled into a graph a
record is an operator of the graph, which hands the tensor to Python; XLA cannot have such an operator, so of what it compiles
arguments and results are recorded. To look at operators, functions are carried out one by one.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.python.eager.execute import quick_execute
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.framework import op_callbacks

from runners.contract.trace.digests import digest_of_array
from runners.contract.trace.records import FORWARD, GRADIENT, INPUT, VARIABLE, Recorder, tried
from runners.contract.trace.where import user_line
from runners.tensorflow import determinism

_state = threading.local()  # is_xla: is what is being traced for XLA? is_own: are operators those of a record?
_installed: set[str] = set()
_SAME_NUMBERS = {"ReadVariableOp", "Identity", "NoOp", "Const"}
# What they give is of more than their inputs: they are not called again.
_RANDOM = ("Random", "Stateful", "Multinomial", "TruncatedNormal", "NonDeterministic")
_OF_STATE = ("Assign", "Resource", "Iterator", "Dataset", "VarHandleOp", "EagerPyFunc", "PyFunc")


def install(recorder: Recorder, framework: str, *, has_seeds: bool, has_switch: bool) -> None:
    """Hook what a script may use; Keras and TensorFlow come one after the other, and are one here."""
    if "hooked" in _installed or keras.backend.backend() != "tensorflow":
        return
    _installed.add("hooked")
    recorder.frameworks |= {"tensorflow": tf.__version__, "keras": keras.__version__}
    if has_seeds or has_switch:
        keras.utils.set_random_seed(0)  # without seeds the switch refuses whatever draws
    if has_switch:
        determinism.set_up("on")
    _hook_layers(recorder)
    _hook_gradients(recorder)
    _hook_functions(recorder)
    if recorder.ask.window is not None:
        tf.config.run_functions_eagerly(True)
        op_callbacks.add_op_callback(_Operators(recorder).called)


def monitor(recorder: Recorder, value: Any, name: str) -> Any:
    """Record a tensor, and its gradient in the backward pass; the value of a variable."""
    if isinstance(value, keras.Variable):
        value = value.value
    if isinstance(value, tf.Variable):
        value = value.read_value()
    if not tf.is_tensor(value) or not _has_numbers(value):
        return value
    if not value.dtype.is_floating:
        _record(recorder, value, name, FORWARD)
        return value
    return _passing(recorder, value, name)


def watch(recorder: Recorder, model: Any) -> None:
    """Record the layers of a model, gradients and variables: those of all models are."""
    install(recorder, "keras", has_seeds=False, has_switch=False)


def _passing(recorder: Recorder, value: Any, name: str) -> Any:
    @tf.custom_gradient
    def passing(each: Any) -> Any:
        def back(gradient: Any) -> Any:
            _record(recorder, gradient, name, GRADIENT)
            return gradient

        return tf.identity(each), back

    _record(recorder, value, name, FORWARD)
    return passing(value)


def _hook_layers(recorder: Recorder) -> None:
    own = keras.layers.Layer.__call__
    depth = threading.local()

    @functools.wraps(own)
    def called(layer: Any, *args: Any, **kwargs: Any) -> Any:
        depth.layers = getattr(depth, "layers", 0) + 1
        try:
            tensors = tf.nest.flatten((args, kwargs))
            if depth.layers == 1 and not any(isinstance(each, keras.KerasTensor) for each in tensors):
                for place, each in enumerate(tensors):
                    if tf.is_tensor(each) and _has_numbers(each):
                        _record(recorder, each, f"{layer.path or layer.name}.input{place or ''}", INPUT)
            result = own(layer, *args, **kwargs)
        finally:
            depth.layers -= 1
        if isinstance(layer, keras.Model) or any(isinstance(each, keras.KerasTensor) for each in tf.nest.flatten(result)):
            return result  # a model gives what its last layer gave
        return tf.nest.map_structure(lambda each: monitor(recorder, each, layer.path or layer.name), result)

    keras.layers.Layer.__call__ = called


def _hook_gradients(recorder: Recorder) -> None:
    gradient, apply = tf.GradientTape.gradient, keras.optimizers.Optimizer.apply

    @functools.wraps(gradient)
    def recorded(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        found = gradient(tape, target, sources, *args, **kwargs)
        for place, (source, each) in enumerate(zip(tf.nest.flatten(sources), tf.nest.flatten(found), strict=False)):
            if each is not None:
                own = getattr(source, "path", None) or getattr(source, "name", None)
                name = own if _is_variable(source) else f"source[{place}]"
                _record(recorder, tf.convert_to_tensor(each), str(name), GRADIENT)
        return found

    @functools.wraps(apply)
    def applied(optimizer: Any, gradients: Any, trainable_variables: Any = None) -> Any:
        result = apply(optimizer, gradients, trainable_variables)
        for variable in optimizer._trainable_variables if trainable_variables is None else trainable_variables:
            value = variable.value if isinstance(variable, keras.Variable) else variable
            _record(recorder, value.read_value(), getattr(variable, "path", variable.name), VARIABLE)
        _step(recorder)
        return result

    tf.GradientTape.gradient, keras.optimizers.Optimizer.apply = recorded, applied


def _is_variable(source: Any) -> bool:
    return isinstance(source, (tf.Variable, keras.Variable))


def _hook_functions(recorder: Recorder) -> None:
    own = polymorphic_function.Function.__call__

    @functools.wraps(own)
    def called(function: Any, *args: Any, **kwargs: Any) -> Any:
        is_xla = bool(getattr(function, "_jit_compile", False))
        if not is_xla or not tf.executing_eagerly():
            return own(function, *args, **kwargs)
        name = getattr(function.python_function, "__name__", "function")
        before, _state.is_xla = getattr(_state, "is_xla", False), True
        try:
            for place, each in enumerate(_tensors((args, kwargs))):
                _record(recorder, each, f"{name} argument[{place}]", INPUT)
            result = own(function, *args, **kwargs)
            for place, each in enumerate(_tensors(result)):
                _record(recorder, each, f"{name}[{place}]", FORWARD)
            variables = {id(each): each for one in function._list_all_concrete_functions() for each in one.variables}
            for each in variables.values():
                _record(recorder, each.read_value(), each.name, VARIABLE)
        finally:
            _state.is_xla = before
        if variables and recorder.counts_steps:
            recorder.steps()
        return result

    polymorphic_function.Function.__call__ = called


def _tensors(value: Any) -> list[Any]:
    return [each for each in tf.nest.flatten(value, expand_composites=True) if tf.is_tensor(each) and _has_numbers(each)]


def _has_numbers(tensor: Any) -> bool:
    return isinstance(tensor, tf.Tensor) and tensor.dtype not in (tf.resource, tf.variant, tf.string)


def _record(recorder: Recorder, tensor: Any, name: str, kind: str) -> None:
    """Record a tensor now; or, in a function that is being traced, whenever it runs."""
    if not _has_numbers(tensor):
        return
    if hasattr(tensor, "numpy"):
        before, _state.is_own = getattr(_state, "is_own", False), True
        try:
            _add(recorder, name, kind, _array(tensor))
        finally:
            _state.is_own = before
    elif not getattr(_state, "is_xla", False):

        def add(array: np.ndarray) -> np.int32:
            _add(recorder, name, kind, array)
            return np.int32(0)

        tf.numpy_function(add, [tf.stop_gradient(tensor)], tf.int32)


def _step(recorder: Recorder) -> None:
    """Say that a step is done: now, or whenever the function that is being traced comes here."""

    def done() -> np.int32:
        if recorder.counts_steps:
            recorder.steps()
        return np.int32(0)

    if tf.executing_eagerly():
        done()
    elif not getattr(_state, "is_xla", False):
        tf.numpy_function(done, [], tf.int32)


def _add(recorder: Recorder, name: str, kind: str, array: np.ndarray) -> None:
    is_numpy = array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1
    recorder.add(
        name, kind, str(array.dtype), array.shape, digest_of_array(array),
        lambda: array.copy() if is_numpy else array.astype(np.float32),
    )  # fmt: skip


def _array(tensor: Any) -> np.ndarray:
    """Return the numbers of a tensor where they are: `numpy()` copies them."""
    try:
        return np.asarray(memoryview(tensor))
    except (TypeError, ValueError, BufferError):
        return tensor.numpy()


class _Operators:
    """Writes down the operators of a window, with what they are given and give; one of them is tried alone."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def called(self, kind: Any, inputs: Any, attributes: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> None:
        """Be told by TensorFlow of an operator that it has carried out."""
        recorder = self._recorder
        kind = kind.decode() if isinstance(kind, bytes) else kind
        if graph is not None or getattr(_state, "is_own", False) or not recorder.looks or kind in _SAME_NUMBERS:
            return
        _state.is_own = True
        try:
            given, results = self._told(inputs), self._told(outputs)
            is_random = any(word in kind for word in _RANDOM) and "Call" not in kind
            number = recorder.add_operator(kind, user_line(), given, results, ["random"] if is_random else [])
            if recorder.ask.experiment == number and not kind.startswith(_OF_STATE):
                recorder.write_experiment(self._experiments(kind, inputs, attributes, len(outputs)))
        finally:
            _state.is_own = False

    def _experiments(self, kind: str, inputs: Any, attributes: Any, n: int) -> dict[str, Any]:
        from tensorflow.python.eager import context

        def call(given: Any) -> int:
            return hash(str(self._told(quick_execute(kind, n, list(given), tuple(attributes), context.context()))))

        found = {"alone": tried(lambda: call(inputs))}
        first = inputs[0] if len(inputs) else None
        row = _row(self._recorder, first)
        if row is not None:
            found["the row alone"] = tried(lambda: call([first[row : row + 1], *inputs[1:]]))
        return found

    def _told(self, tensors: Any) -> list[Any]:
        found = [_array(each) for each in tensors if _has_numbers(each)]
        return [[str(each.dtype), list(each.shape), digest_of_array(each)] for each in found]


def _row(recorder: Recorder, first: Any) -> int | None:
    """Return the row of the first input that belongs to that of the result which differed."""
    row = recorder.ask.row
    is_there = row is not None and _has_numbers(first) and len(first.shape) > 1 and row < first.shape[0]
    return row if is_there else None

"""Public calls of TensorFlow and Keras, carried out for an audit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.contract.audit.derivatives import Derived, tried
from runners.contract.audit.frame import HAS_NONE, Answer, Call, Framework, Question
from runners.contract.audit.request import AuditRequest
from runners.contract.audit.ways import use_keras
from runners.tensorflow.derivatives import ways_of
from runners.tensorflow.modes import compile_function, trace
from runners.tensorflow.step import describe, require_cpu, set_threads

_TYPES = {"fp32": tf.float32, "bf16": tf.bfloat16, "fp16": tf.float16, "fp64": tf.float64}
# The families that compute over several devices, which have to be made before the first operation.
_OVER_DEVICES, _REPLICAS = {"fitting", "collectives"}, 2


def _set_up(request: AuditRequest) -> None:
    require_cpu(request.device)
    set_threads(request.threads)
    if _OVER_DEVICES & {*request.families}:
        [cpu] = tf.config.list_physical_devices("CPU")
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * _REPLICAS)
    use_keras("tensorflow")


class Tools:
    """What a planted defect does to tensors."""

    def is_floating(self, value: Any) -> bool:
        return tf.is_tensor(value) and value.dtype.is_floating

    def is_truth(self, value: Any) -> bool:
        return tf.is_tensor(value) and value.dtype == tf.bool

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def scaled(self, value: Any, factor: np.ndarray | float) -> Any:
        return value * tf.cast(tf.constant(factor), value.dtype)

    def rolled(self, value: Any) -> Any:
        return tf.roll(value, 1, -1)

    def all_true(self, value: Any) -> Any:
        return tf.ones_like(value)

    def narrowed(self, value: Any) -> Any:
        return tf.cast(value, tf.bfloat16)

    def like(self, value: Any, other: Any) -> Any:
        return tf.cast(value, other.dtype)

    def half_gradient(self, value: Any) -> Any:
        return value / 2 + tf.stop_gradient(value / 2)


class Adapter:
    """How a call is carried out in a mode."""

    tools = Tools()

    def __init__(self, request: AuditRequest) -> None:
        self._mode = request.mode

    def prepared(self, call: Call, question: Question) -> Callable[[], Answer]:
        names = list(question.arguments)
        given = [_tensor(name, question.arguments[name], question) for name in names]
        cotangents = [None if each is None else tf.constant(each) for each in question.cotangents]

        def work(*arrays: Any) -> tuple[list[Any], list[Any]]:
            arguments = dict(zip(names, arrays, strict=True))
            chosen = [arguments[name] for name in question.differentiated]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(chosen)
                found = call(**arguments, **question.parameters)
                outputs = [tf.convert_to_tensor(each) for each in (found if isinstance(found, (tuple, list)) else (found,))]
            pairs = [
                (each, tf.cast(cotangent, each.dtype))
                for each, cotangent in zip(outputs, cotangents, strict=False)
                if cotangent is not None and each.dtype.is_floating and tuple(each.shape) == tuple(cotangent.shape)
            ]
            if not chosen or not pairs:
                return outputs, [tf.zeros_like(each) for each in chosen]
            gradients = tape.gradient(
                [each for each, _ in pairs],
                chosen,
                output_gradients=[cotangent for _, cotangent in pairs],
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            return outputs, [tf.convert_to_tensor(each) for each in gradients]

        function: Callable[..., Any] = work
        if self._mode != "eager" and not question.is_program:
            function = (compile_function if self._mode == "compile" else trace)(work)

        def made() -> Answer:
            outputs, gradients = function(*given)
            named: Sequence[tuple[str, Any]] = list(zip(question.differentiated, gradients, strict=True))

            def read() -> list[np.ndarray]:
                return [_read(each) for each in outputs]

            return Answer(read(), {name: _read(each) for name, each in named}, read)

        return made

    def derived(self, call: Call, question: Question) -> Derived:
        # DIFFERS(tensorflow): forward mode itself makes functions of what it meets, so that these are eager's in every mode.
        given = {name: _tensor(name, array, question) for name, array in question.arguments.items()}
        chosen = {name: given[name] for name in question.differentiated}
        directions = [
            {name: tf.constant(array, given[name].dtype) for name, array in each.items()} for each in question.directions
        ]
        cotangents = [None if each is None else tf.constant(each) for each in question.cotangents]

        def forward(tensors: Any) -> list[Any]:
            found = call(**{name: tensors.get(name, given[name]) for name in given}, **question.parameters)
            return [tf.convert_to_tensor(each) for each in (found if isinstance(found, (tuple, list)) else (found,))]

        ways = ways_of(forward, chosen, cotangents, *directions)
        gave, derived = tried({way: functools.partial(_read_all, work) for way, work in ways.items()}, refusals=HAS_NONE)
        return derived._replace(arrays={name: each for found in gave.values() for name, each in found.items()})

    def elsewhere(self, call: Call, question: Question) -> list[np.ndarray] | None:
        """DIFFERS(tensorflow): tf.device is no path of its own through Python."""
        return None

    def forget(self) -> None:
        """Functions go with the question that they were traced for."""


def _tensor(name: str, array: np.ndarray, question: Question) -> Any:
    if array.dtype.kind in "iu":
        return tf.constant(array.astype(np.int32))
    if array.dtype.kind == "b":
        return tf.constant(array)
    return tf.cast(tf.constant(array), tf.float32 if name in question.kept else _TYPES[question.precision])


def _read_all(work: Callable[[], dict[str, Any]]) -> dict[str, np.ndarray]:
    return {name: _read(each) for name, each in work().items()}


def _read(value: Any) -> np.ndarray:
    # NumPy alone does not read a bfloat16 tensor without axes.
    array = np.asarray(value.numpy() if tf.is_tensor(value) else value)
    is_narrow = tf.as_dtype(array.dtype).is_floating and array.dtype != np.float64
    return array.astype(np.float32) if is_narrow else array


FRAMEWORK = Framework("tensorflow", _set_up, describe, Adapter)

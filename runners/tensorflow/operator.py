"""A user's operator in TensorFlow: the candidate as it is called, and the reference in float64 by its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.contract.operators.frame import Arrays, Framework, Question
from runners.contract.operators.own import CANDIDATE, REFERENCE, OperatorFile, named_leaves
from runners.contract.operators.request import OperatorRequest
from runners.contract.steps.own import Batch, OwnFileError, map_leaves
from runners.tensorflow.interpreter import Interpreter, Traced
from runners.tensorflow.modes import compile_function, trace
from runners.tensorflow.step import describe, require_cpu, set_threads, to_numpy

_TYPES = {"fp32": tf.float32, "bf16": tf.bfloat16, "fp16": tf.float16}


class Operator:
    """The operator of a file, in a mode."""

    has_layouts = False

    def __init__(self, file: OperatorFile, request: OperatorRequest) -> None:
        self._file, self._mode = file, request.mode
        self._interpreter = Interpreter()
        self._traced: dict[tuple, tuple[Traced, list[str]]] = {}
        self._outputs: dict[tuple, list[tuple[tuple[int, ...], Any]]] = {}
        self._functions: dict[tuple, Callable[..., Any]] = {}

    def candidate(self, question: Question) -> tuple[Arrays, Batch]:
        return self._carried_out(CANDIDATE, question, mode=self._mode), question.inputs

    def reference(self, question: Question) -> Arrays:
        return self._carried_out(REFERENCE, question, mode="eager")

    def exact(self, question: Question, *, draw: int | None = None, moved: Mapping[str, np.ndarray] | None = None) -> Arrays:
        given, cotangents = _tensors(question), self._cotangents(REFERENCE, question)
        key = self._key(question)
        if key not in self._traced:
            names: list[str] = []

            def flat(*arrays: Any) -> list[Any]:
                found = self._differentiated(REFERENCE, question, arrays[: len(given)], arrays[len(given) :])
                names[:] = found
                return list(found.values())

            specs = [tf.TensorSpec(each.shape, each.dtype) for each in [*given, *cotangents]]
            traced: Any = trace(flat)
            self._traced[key] = Traced(traced.get_concrete_function(*specs)), names
        graph, known = self._traced[key]
        wide = [
            tf.cast(each, tf.float64) + moved[name] if moved and name in moved else each
            for name, each in zip(_array_names(question), given, strict=True)
        ]
        self._interpreter.restart(draw)
        results = self._interpreter.run(graph, [*wide, *cotangents])
        return dict(zip(known, map(_read, results), strict=True))

    def choices(self) -> list[tuple[str, int]]:
        return self._interpreter.choices

    def _key(self, question: Question) -> tuple:
        """Return what a program is made for: all but the numbers in arrays."""
        plain = tuple(repr(leaf) for _, leaf in named_leaves(question.inputs) if not isinstance(leaf, np.ndarray))
        return tuple((tuple(each.shape), each.dtype) for each in _tensors(question)), plain, question.differentiated

    def _cotangents(self, name: str, question: Question) -> list[Any]:
        """Return the gradients of a function's floating outputs."""
        key = name, self._key(question)
        if key not in self._outputs:
            specs = [tf.TensorSpec(each.shape, each.dtype) for each in _tensors(question)]
            forward: Any = trace(lambda *arrays: [leaf for _, leaf in self._called(name, question, arrays)])
            found = forward.get_concrete_function(*specs).structured_outputs
            self._outputs[key] = [(tuple(each.shape), each.dtype) for each in found]
        return [
            tf.cast(question.cotangent(place, shape), kind)
            for place, (shape, kind) in enumerate(self._outputs[key])
            if kind.is_floating
        ]

    def _carried_out(self, name: str, question: Question, *, mode: str) -> Arrays:
        given, cotangents = _tensors(question), self._cotangents(name, question)

        def work(*arrays: Any) -> dict[str, Any]:
            return self._differentiated(name, question, arrays[: len(given)], arrays[len(given) :])

        key = name, mode, self._key(question)
        if mode != "eager" and key not in self._functions:
            self._functions[key] = compile_function(work) if mode == "compile" else trace(work)
        found = self._functions.get(key, work)(*given, *cotangents)
        return {each: _read(value) for each, value in found.items()}

    def _called(self, name: str, question: Question, arrays: Sequence[Any]) -> list[tuple[str, Any]]:
        """Return what a function of the file gives of these arrays."""
        rest = iter(arrays)
        arguments = map_leaves(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, question.inputs)
        result = self._file.call(name, arguments)
        outputs = [(path, leaf) for path, leaf in named_leaves(result) if tf.is_tensor(leaf)]
        if not outputs:
            raise OwnFileError(f"{self._file.name}: {name}: gave no tensor. Allowed: tensors, in tuples, lists and dicts.")
        return outputs

    def _differentiated(self, name: str, question: Question, arrays: Sequence[Any], cotangents: Sequence[Any]) -> dict[str, Any]:
        """Return what a function of the file gives of these arrays, and gradients."""
        named = dict(zip(_array_names(question), arrays, strict=True))
        chosen = {each: named[each] for each in question.differentiated}
        with tf.GradientTape() as tape:
            tape.watch(list(chosen.values()))
            outputs = self._called(name, question, arrays)
        found = {f"outputs/{path}": leaf for path, leaf in outputs}
        floating = [leaf for _, leaf in outputs if leaf.dtype.is_floating]
        if not chosen or not floating:
            return found
        try:
            gradients = tape.gradient(floating, chosen, output_gradients=list(cotangents), unconnected_gradients="zero")
        except Exception as error:
            raise self._file.own.blame("backward", error) from error
        return found | {f"gradients/{each}": tf.convert_to_tensor(gradient) for each, gradient in gradients.items()}


def _array_names(question: Question) -> list[str]:
    return [name for name, leaf in named_leaves(question.inputs) if isinstance(leaf, np.ndarray)]


def _tensors(question: Question) -> list[Any]:
    leaves = [leaf for _, leaf in named_leaves(question.inputs) if isinstance(leaf, np.ndarray)]
    return [tf.cast(leaf, _TYPES[question.precision]) if leaf.dtype.kind == "f" else tf.constant(leaf) for leaf in leaves]


def _read(tensor: Any) -> np.ndarray:
    found = np.asarray(tensor.numpy())  # of a single number in bfloat16 TensorFlow makes no array by itself
    return found.astype(np.float32) if tf.as_dtype(found.dtype) in (tf.bfloat16, tf.float16) else found


def _to_numpy(inputs: Batch) -> Batch:
    """Return inputs as NumPy arrays; those in bfloat16 in float32, since the precision that is tried is another."""
    return map_leaves(lambda leaf: leaf.astype(np.float32) if _is_bfloat16(leaf) else leaf, to_numpy(inputs))


def _is_bfloat16(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype == tf.bfloat16.as_numpy_dtype


def _set_up(request: OperatorRequest) -> None:
    require_cpu(request.device)
    set_threads(request.threads)


FRAMEWORK = Framework("tensorflow", _set_up, describe, _to_numpy, Operator)

"""A user's operator in JAX: the candidate as it is called, and the reference in float64 by its equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.contract.operators.frame import Arrays, Framework, Question
from runners.contract.operators.own import CANDIDATE, REFERENCE, OperatorFile, named_leaves
from runners.contract.operators.request import OperatorRequest
from runners.contract.steps.own import Batch, OwnFileError, map_leaves
from runners.jax.interpreter import Flat, Interpreter, flatten
from runners.jax.modes import compile_ahead
from runners.jax.step import describe, placed, read, set_up_file, to_numpy

_TYPES = {"fp32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}


class Operator:
    """The operator of a file, in a mode."""

    has_layouts = False

    def __init__(self, file: OperatorFile, request: OperatorRequest) -> None:
        self._file, self._mode, self._device = file, request.mode, request.device
        self._choices: list[tuple[str, int]] = []
        self._flat: dict[tuple, Flat] = {}
        self._forms: dict[tuple, list[tuple[str, Any]]] = {}
        self._programs: dict[tuple, Callable[..., list[Any]]] = {}

    def candidate(self, question: Question) -> tuple[Arrays, Batch]:
        work, arrays, names = self._differentiated(CANDIDATE, question)
        given = placed(arrays, self._device)
        key = self._key(question, arrays)
        if self._mode != "eager" and key not in self._programs:
            program = jax.jit(work)
            self._programs[key] = compile_ahead(program, *given) if self._mode == "compile" else program
        results = self._programs.get(key, work)(*given)
        return dict(zip(names, map(read, results), strict=True)), question.inputs

    def reference(self, question: Question) -> Arrays:
        work, arrays, names = self._differentiated(REFERENCE, question)
        return dict(zip(names, map(read, work(*map(jnp.asarray, arrays))), strict=True))

    def exact(self, question: Question, *, draw: int | None = None, moved: Mapping[str, np.ndarray] | None = None) -> Arrays:
        work, arrays, names = self._differentiated(REFERENCE, question)
        key = self._key(question, arrays)
        if key not in self._flat:
            shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays]
            self._flat[key] = flatten(jax.make_jaxpr(work)(*shapes), file=str(self._file.own.path))
        given = list(arrays)
        for place, name in enumerate(_array_names(question)):
            if moved and name in moved:
                given[place] = np.asarray(given[place], np.float64) + moved[name]
        interpreter = Interpreter(draw=draw)
        results = interpreter.run(self._flat[key], given)
        self._choices = interpreter.choices
        return dict(zip(names, map(read, results), strict=True))

    def choices(self) -> list[tuple[str, int]]:
        return self._choices

    def _key(self, question: Question, arrays: Sequence[Any]) -> tuple:
        """Return what a program is made for: all but the numbers in arrays."""
        plain = tuple(repr(leaf) for _, leaf in named_leaves(question.inputs) if not isinstance(leaf, np.ndarray))
        return tuple((tuple(each.shape), str(each.dtype)) for each in arrays), plain, question.differentiated

    def _outputs(self, name: str, called: Callable, question: Question, arrays: Sequence[Any]) -> list[tuple[str, Any]]:
        """Return the shapes of what a function gives, by path."""
        key = name, self._key(question, arrays)
        if key not in self._forms:
            try:
                form = jax.eval_shape(called, *(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays))
            except Exception as error:
                raise self._file.own.blame(name, error) from error
            self._forms[key] = [(path, leaf) for path, leaf in named_leaves(form) if hasattr(leaf, "shape")]
            if not self._forms[key]:
                raise OwnFileError(f"{self._file.name}: {name}: gave no array. Allowed: arrays, in tuples, lists and dicts.")
        return self._forms[key]

    def _differentiated(self, name: str, question: Question) -> tuple[Callable[..., list[Any]], list[Any], list[str]]:
        """Return a function of arrays that gives outputs and gradients, its arguments, and the names of its results."""
        arrays = [_typed(leaf, question.precision) for _, leaf in named_leaves(question.inputs) if isinstance(leaf, np.ndarray)]
        names = _array_names(question)
        places = [place for place, each in enumerate(names) if each in question.differentiated]

        def called(*given: Any) -> Any:
            rest = iter(given)
            arguments = map_leaves(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, question.inputs)
            return self._file.call(name, arguments)

        outputs = self._outputs(name, called, question, arrays)
        floating = [place for place, (_, leaf) in enumerate(outputs) if jnp.issubdtype(leaf.dtype, jnp.floating)]
        cotangents = [
            np.asarray(question.cotangent(place, outputs[place][1].shape)).astype(outputs[place][1].dtype) for place in floating
        ]

        def work(*given: Any) -> list[Any]:
            inputs, pulled = given[: len(arrays)], list(given[len(arrays) :])

            def of_differentiated(*chosen: Any) -> tuple[list[Any], list[Any]]:
                whole = list(inputs)
                for place, each in zip(places, chosen, strict=True):
                    whole[place] = each
                leaves = [leaf for _, leaf in named_leaves(called(*whole)) if hasattr(leaf, "shape")]
                return [leaves[place] for place in floating], leaves

            if not places or not floating:
                return [*of_differentiated(*(inputs[place] for place in places))[1]]
            _, pull, leaves = jax.vjp(of_differentiated, *(inputs[place] for place in places), has_aux=True)
            return [*leaves, *pull(pulled)]

        has_gradients = bool(places and floating)
        known = [f"outputs/{path}" for path, _ in outputs]
        known += [f"gradients/{names[place]}" for place in places] if has_gradients else []
        return work, [*arrays, *cotangents], known


def _array_names(question: Question) -> list[str]:
    return [name for name, leaf in named_leaves(question.inputs) if isinstance(leaf, np.ndarray)]


def _typed(leaf: np.ndarray, precision: str) -> Any:
    return leaf.astype(_TYPES[precision]) if leaf.dtype.kind == "f" else np.asarray(jnp.asarray(leaf))


def _to_numpy(inputs: Batch) -> Batch:
    """Return inputs as NumPy arrays; those in bfloat16 in float32, since another precision is tried. Keys stay keys."""

    def plain(leaf: Any) -> Any:
        kind = getattr(leaf, "dtype", None)
        if kind is not None and jax.dtypes.issubdtype(kind, jax.dtypes.extended):
            return leaf
        return to_numpy(leaf.astype(np.float32) if kind == jnp.bfloat16 else leaf)

    return map_leaves(plain, inputs)


FRAMEWORK = Framework("jax", set_up_file, describe, _to_numpy, Operator)

"""Public calls of JAX, flax and optax, carried out for an audit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from runners.contract.audit.derivatives import WAYS, Derived, tried
from runners.contract.audit.frame import HAS_NONE, Answer, Call, Framework, Question, cut_axis
from runners.contract.audit.request import AuditRequest
from runners.contract.audit.ways import use_keras
from runners.contract.errors import Unsupported
from runners.jax.derivatives import ways_of
from runners.jax.devices import AXIS, devices_of, show_devices
from runners.jax.modes import compile_ahead
from runners.jax.step import describe, set_up

_TYPES = {"fp32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16, "fp64": jnp.float64}
# The family that computes over several devices, of which a CPU has to show as many before the first operation.
_COLLECTIVES, _DEVICES = "collectives", 2


def _set_up(request: AuditRequest) -> None:
    set_up(request)
    if _COLLECTIVES in request.families and request.device == "cpu" and request.devices == 1:
        show_devices(_DEVICES, is_op_by_op=False)
    jax.config.update("jax_enable_x64", request.is_wide)
    use_keras("jax")


class Tools:
    """What a planted defect does to arrays."""

    def is_floating(self, value: Any) -> bool:
        return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jnp.floating)

    def is_truth(self, value: Any) -> bool:
        return isinstance(value, jax.Array) and value.dtype == jnp.bool_

    def shape(self, value: Any) -> tuple[int, ...]:
        return tuple(value.shape)

    def scaled(self, value: Any, factor: np.ndarray | float) -> Any:
        return value * jnp.asarray(factor, value.dtype)

    def rolled(self, value: Any) -> Any:
        return jnp.roll(value, 1, -1)

    def all_true(self, value: Any) -> Any:
        return jnp.ones_like(value)

    def narrowed(self, value: Any) -> Any:
        return value.astype(jnp.bfloat16)

    def like(self, value: Any, other: Any) -> Any:
        return value.astype(other.dtype)

    def half_gradient(self, value: Any) -> Any:
        return value / 2 + jax.lax.stop_gradient(value / 2)


class Adapter:
    """How a call is carried out in a mode."""

    tools = Tools()

    def __init__(self, request: AuditRequest) -> None:
        if request.devices > 1 and request.mode == "eager":
            raise Unsupported("op by op JAX takes no parts that are uneven. Allowed over several devices: jit, compile.")
        self._mode = request.mode
        self._mesh = Mesh(np.array(devices_of(request.device, count=request.devices)), (AXIS,)) if request.devices > 1 else None

    def prepared(self, call: Call, question: Question) -> Callable[[], Answer]:
        given = {name: _array(name, each, question) for name, each in question.arguments.items()}
        cotangents = [None if each is None else jnp.asarray(each) for each in question.cotangents]
        chosen = {name: given[name] for name in question.differentiated}
        rest = {name: each for name, each in given.items() if name not in chosen}

        def forward(chosen: dict[str, Any], rest: dict[str, Any]) -> list[Any]:
            arguments = {name: self._cut(chosen.get(name, rest.get(name)), question.layout) for name in given}
            found = call(**arguments, **question.parameters)
            return [jnp.asarray(each) for each in (found if isinstance(found, (tuple, list)) else (found,))]

        def work(chosen: dict[str, Any], rest: dict[str, Any], cotangents: list[Any]) -> tuple[list[Any], dict[str, Any]]:
            if not chosen:
                return forward(chosen, rest), {}

            def of_chosen(chosen: dict[str, Any]) -> tuple[list[Any], list[Any]]:
                outputs = forward(chosen, rest)
                pulled = [each for each, given in zip(outputs, cotangents, strict=False) if _is_pulled(each, given)]
                return pulled, outputs

            pulled, pull, outputs = jax.vjp(of_chosen, chosen, has_aux=True)
            matching = [given for each, given in zip(outputs, cotangents, strict=False) if _is_pulled(each, given)]
            [gradients] = pull([given.astype(each.dtype) for each, given in zip(pulled, matching, strict=True)])
            return outputs, gradients

        function: Callable[..., Any] = work
        if self._mode != "eager" and not question.is_program:
            function = jax.jit(work)
            if self._mode == "compile":
                function = compile_ahead(function, chosen, rest, cotangents)

        def made() -> Answer:
            outputs, gradients = function(chosen, rest, cotangents)

            def read() -> list[np.ndarray]:
                return [_read(each) for each in outputs]

            return Answer(read(), {name: _read(gradients[name]) for name in question.differentiated}, read)

        return made

    def _cut(self, array: Any, layout: str) -> Any:
        """Return an argument cut over the devices, into parts that may be uneven."""
        axis = cut_axis(layout)
        if axis is None or self._mesh is None or array.ndim <= axis or array.shape[axis] < 2:
            return array
        return jax.lax.with_sharding_constraint(array, NamedSharding(self._mesh, PartitionSpec(*[None] * axis, AXIS)))

    def derived(self, call: Call, question: Question) -> Derived:
        given = {name: _array(name, each, question) for name, each in question.arguments.items()}
        chosen = {name: given[name] for name in question.differentiated}
        rest = {name: each for name, each in given.items() if name not in chosen}
        directions = tuple(
            {name: jnp.asarray(each, given[name].dtype) for name, each in direction.items()} for direction in question.directions
        )
        cotangents = [None if each is None else jnp.asarray(each) for each in question.cotangents]
        pulled = {place: each for place, each in enumerate(cotangents) if each is not None}

        # All numbers are arguments: constants are part of a program, so that none would be in the cache for another seed.
        def of_ways(names: Sequence[str], chosen: Any, rest: Any, pulled: Any, directions: Any) -> dict[str, Any]:
            def forward(arrays: Any) -> list[Any]:
                found = call(**{name: arrays[name] if name in arrays else rest[name] for name in given}, **question.parameters)
                return [jnp.asarray(each) for each in (found if isinstance(found, (tuple, list)) else (found,))]

            ways = ways_of(forward, cotangents, *directions)
            return {name: each for way in names for name, each in ways[way](chosen, pulled).items()}

        def run(*names: str) -> dict[str, np.ndarray]:
            work = functools.partial(of_ways, names)
            found = (work if self._mode == "eager" else jax.jit(work))(chosen, rest, pulled, directions)
            return {name: _read(each) for name, each in found.items()}

        try:
            return Derived(run(*WAYS), WAYS, {}, {})
        except Exception:  # which way it was, and what it said, is told by each alone
            gave, alone = tried({name: functools.partial(run, name) for name in WAYS}, refusals=HAS_NONE)
        return alone._replace(arrays={name: each for found in gave.values() for name, each in found.items()})

    def elsewhere(self, call: Call, question: Question) -> list[np.ndarray] | None:
        """DIFFERS(jax): the default device is a setting of JAX that no function of Python looks at."""
        return None

    def forget(self) -> None:
        if self._mode != "eager":
            jax.clear_caches()


def _is_pulled(output: Any, cotangent: Any) -> bool:
    is_floating = jnp.issubdtype(output.dtype, jnp.floating)
    return cotangent is not None and is_floating and output.shape == cotangent.shape


def _array(name: str, array: np.ndarray, question: Question) -> Any:
    if array.dtype.kind in "iu":
        return jnp.asarray(array.astype(np.int32))
    if array.dtype.kind == "b":
        return jnp.asarray(array)
    return jnp.asarray(array, jnp.float32 if name in question.kept else _TYPES[question.precision])


def _read(value: Any) -> np.ndarray:
    array = np.asarray(value)
    is_narrow = jnp.issubdtype(array.dtype, jnp.floating) and array.dtype != np.float64
    return array.astype(np.float32) if is_narrow else array


FRAMEWORK = Framework("jax", _set_up, describe, Adapter)

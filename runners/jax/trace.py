"""What a user's script computes with JAX, written down as it runs: what compiled functions and gradients take and give.

`jax.jit`, `jax.grad` and `jax.value_and_grad` are replaced before the script takes them from the module; within a function that
is being traced they do what they always do. To look at operators, the function is carried out one by one, without compiling.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core

from runners.contract.trace.digests import digest_of_array
from runners.contract.trace.records import FORWARD, GRADIENT, INPUT, Recorder, add_number, repeated
from runners.contract.trace.where import user_line

_recorder: Recorder | None = None
_calls: Counter[str] = Counter()
_recorded: dict[int, weakref.ref] = {}


def _forget(key: int, _: weakref.ref) -> None:
    _recorded.pop(key, None)


_GOLDEN = 0x9E3779B9


def install(recorder: Recorder, framework: str, *, has_seeds: bool, has_switch: bool) -> None:
    """Replace what compiles and differentiates. A program of JAX has its seeds in its keys, and a CPU no switch."""
    global _recorder
    _recorder = recorder
    recorder.frameworks["jax"] = jax.__version__
    jax.jit = _compiling(jax.jit)
    jax.grad = _differentiating(jax.grad, has_value=False)
    jax.value_and_grad = _differentiating(jax.value_and_grad, has_value=True)
    if recorder.ask.window is not None:
        _look_at_operators(recorder)
        if recorder.ask.window[0] < 0 and recorder.ask.window[1] > 2**60:
            jax.config.update("jax_disable_jit", True)


def monitor(recorder: Recorder, value: Any, name: str) -> Any:
    """Record an array, or all arrays of a tree, and their gradients; within what is compiled too."""
    return jax.tree_util.tree_map_with_path(lambda path, leaf: _monitored(leaf, name + jax.tree_util.keystr(path)), value)


def watched(recorder: Recorder, loss: Callable) -> Callable:
    """Return a loss function whose first argument and result are recorded, with their gradients."""
    name = getattr(loss, "__name__", type(loss).__name__)

    @functools.wraps(loss)
    def recorded(first: Any, *args: Any, **kwargs: Any) -> Any:
        return monitor(recorder, loss(monitor(recorder, first, f"{name} argument"), *args, **kwargs), name)

    return recorded


class _Watched:
    """A function of JAX, of which what it takes and gives is recorded where it is called by the script and not by another one."""

    def __init__(self, function: Callable, name: str, kind: Callable[[Any], str]) -> None:
        self._function, self._name, self._kind = function, name, kind
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder = _recorder
        if recorder is None or not recorder.is_on or _is_within(args, kwargs):
            return self._function(*args, **kwargs)
        step, _calls[self._name] = _calls[self._name], _calls[self._name] + 1
        if recorder.counts_steps:
            recorder.reach(step)
        global _depth
        _depth += 1
        try:
            for each in (args, kwargs):
                _record_tree(recorder, each, f"{self._name} argument", lambda path: INPUT, only_new=True)
            with jax.disable_jit(recorder.looks):
                result = self._function(*args, **kwargs)
            jax.block_until_ready(result)
            jax.effects_barrier()
            _record_tree(recorder, result, self._name, self._kind, only_new=False)
        finally:
            _depth -= 1
        if recorder.counts_steps:
            recorder.reach(step + 1)
        return result

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


_depth = 0


def _is_within(args: tuple, kwargs: dict) -> bool:
    """Is it called by another function that is recorded, or while one is being traced?"""
    if _depth:
        return True
    is_clean = getattr(core, "trace_state_clean", lambda: True)()
    return not is_clean or any(isinstance(each, core.Tracer) for each in jax.tree_util.tree_leaves((args, kwargs)))


def _compiling(own: Callable) -> Callable:
    @functools.wraps(own)
    def jit(fun: Any = None, *args: Any, **kwargs: Any) -> Any:
        if fun is None:
            return lambda fun: jit(fun, *args, **kwargs)
        return _Watched(own(fun, *args, **kwargs), _name_of(fun), lambda path: FORWARD)

    return jit


def _differentiating(own: Callable, *, has_value: bool) -> Callable:
    @functools.wraps(own)
    def made(fun: Callable, *args: Any, **kwargs: Any) -> Any:
        def kind(path: Any) -> str:
            return FORWARD if has_value and path and getattr(path[0], "idx", None) == 0 else GRADIENT

        return _Watched(own(fun, *args, **kwargs), f"{own.__name__}({_name_of(fun)})", kind)

    return made


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _record_tree(recorder: Recorder, tree: Any, name: str, kind: Callable[[Any], str], *, only_new: bool) -> None:
    """Record the arrays of a tree; with `only_new` those that no record was made of: an array of JAX never changes."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        if isinstance(leaf, jax.Array) and not isinstance(leaf, core.Tracer):
            known = _recorded.get(id(leaf))
            if only_new and known is not None and known() is leaf:
                continue
            _recorded[id(leaf)] = weakref.ref(leaf, functools.partial(_forget, id(leaf)))
            array = _array(leaf)
            recorder.add(
                name + jax.tree_util.keystr(path), kind(path), str(leaf.dtype), leaf.shape, digest_of_array(array),
                functools.partial(_numbers, array),
            )  # fmt: skip
        elif isinstance(leaf, (np.ndarray, np.generic, int, float, complex)):
            add_number(recorder, leaf, name + jax.tree_util.keystr(path), kind(path))


def _array(leaf: Any) -> np.ndarray:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def _numbers(array: np.ndarray) -> np.ndarray:
    """Return the numbers of an array; of types that NumPy has not itself in float32, which holds all of them."""
    return array if array.dtype.kind in "biufc" and array.dtype.isbuiltin == 1 else array.astype(np.float32)


def _monitored(value: Any, name: str) -> Any:
    if _recorder is None:
        return value
    if not isinstance(value, core.Tracer):
        if isinstance(value, jax.Array):
            _record_tree(_recorder, value, name, lambda path: FORWARD, only_new=False)
        else:
            add_number(_recorder, value, name)
        return value
    if not jnp.issubdtype(value.dtype, np.inexact):
        _call_back(name, FORWARD, value)
        return value
    return _passing(name, value)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _passing(name: str, value: Any) -> Any:
    _call_back(name, FORWARD, value)
    return value


def _forward(name: str, value: Any) -> tuple[Any, None]:
    _call_back(name, FORWARD, value)
    return value, None


def _back(name: str, _: None, gradient: Any) -> tuple[Any]:
    _call_back(name, GRADIENT, gradient)
    return (gradient,)


_passing.defvjp(_forward, _back)


def _call_back(name: str, kind: str, value: Any) -> None:
    """Have a record made when the program runs; the whole array goes along only where it may be kept."""
    assert _recorder is not None
    recorder = _recorder
    dtype, shape = str(value.dtype), tuple(value.shape)
    keeps = recorder.ask.reference is not None or recorder.ask.keep is not None

    def add(digest: Any, *whole: Any) -> None:
        low, high = (int(each) for each in np.asarray(digest))
        recorder.add(name, kind, dtype, shape, high << 32 | low, lambda: _numbers(np.asarray(whole[0])))

    jax.debug.callback(add, digest_in_program(value), *([value] if keeps else []), ordered=True)


def digest_in_program(value: Any) -> Any:
    """Return the digest of an array as two whole numbers: sums modulo 2^32, which have no order, of mixed words and places."""
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    if jnp.issubdtype(value.dtype, np.complexfloating):
        value = jnp.stack([value.real, value.imag])
    if value.dtype == np.bool_:
        value = value.astype(np.uint8)
    kind = {1: jnp.uint8, 2: jnp.uint16}.get(value.dtype.itemsize, jnp.uint32)
    words = jax.lax.bitcast_convert_type(value, kind).astype(jnp.uint32).reshape(-1)
    places = jax.lax.iota(jnp.uint32, words.size) * np.uint32(_GOLDEN)
    return jnp.stack([jnp.sum(_mixed(words + places + np.uint32(seed)), dtype=jnp.uint32) for seed in (1, 0x7F4A7C15)])


def _mixed(words: Any) -> Any:
    """Return the finaliser of MurmurHash3: each bit of a word moves about half of the bits."""
    words = (words ^ words >> 16) * np.uint32(0x85EBCA6B)
    words = (words ^ words >> 13) * np.uint32(0xC2B2AE35)
    return words ^ words >> 16


def _look_at_operators(recorder: Recorder) -> None:
    own = core.EvalTrace.process_primitive
    is_own = False

    def process_primitive(trace: Any, primitive: Any, given: Any, parameters: Any) -> Any:
        nonlocal is_own
        if is_own or not recorder.looks:
            return own(trace, primitive, given, parameters)
        is_own = True
        try:
            number = recorder.operators
            result = own(trace, primitive, given, parameters)
            results = list(result) if primitive.multiple_results else [result]
            recorder.add_operator(primitive.name, user_line(), _told(given), _told(results), [])
            if recorder.ask.experiment == number:

                def call() -> int:
                    again = own(trace, primitive, given, parameters)
                    return hash(str(_told(list(again) if primitive.multiple_results else [again])))

                recorder.write_experiment({"alone": repeated(call)})
            return result
        finally:
            is_own = False

    core.EvalTrace.process_primitive = process_primitive


def _told(values: Any) -> list[Any]:
    return [[str(array.dtype), list(array.shape), digest_of_array(array)] for array in map(_array, map(jnp.asarray, values))]

"""Public batch norms of flax, and Keras's on JAX, as they are asked for the table of batch norms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx

from runners.contract.audit import batch_norm as asked
from runners.contract.audit.batch_norm import Form, Public, Shard, Taken
from runners.contract.audit.ways import has_keras, use_keras, version_of_keras
from runners.contract.errors import Unsupported
from runners.jax.devices import add_xla_flags
from runners.jax.modes import compile_ahead
from runners.jax.step import describe

_TYPES = {"fp32": jnp.float32, "bf16": jnp.bfloat16, "fp16": jnp.float16}
_DEVICES = "devices"
_HAS_BACKWARD = (asked.BACKWARD, asked.FROZEN)


def _set_up(request: asked.TableRequest) -> None:
    jax.config.update("jax_platforms", "cpu")
    add_xla_flags("--xla_force_host_platform_device_count=2", "--xla_cpu_multi_thread_eigen=false")
    use_keras("jax")


def _arguments(form: Form) -> dict[str, Any]:
    """Return how a layer of flax is made: `dtype` is what it computes and gives, `param_dtype` what it holds."""
    given: dict[str, Any] = {} if form.momentum is None else {"momentum": form.momentum}
    if form.precision != "fp32":
        given["dtype"] = _TYPES[form.precision]
    return given | ({"param_dtype": _TYPES[form.precision]} if form.is_cast else {})


def _in_mode(function: Callable[..., Any], form: Form, *arguments: Any) -> Callable[..., Any]:
    if form.mode == "eager":
        return function
    return jax.jit(function) if form.mode == "jit" else compile_ahead(jax.jit(function), *arguments)


def _taken(
    function: Callable[[Any], tuple[Any, Any]], form: Form, step: str, x: np.ndarray, cotangent: np.ndarray
) -> tuple[Taken, Any]:
    """Take a step with a function from x to the output and new statistics; return what it gave, and those."""
    given = jnp.asarray(x, _TYPES[form.precision])

    def work(x: Any, cotangent: Any) -> tuple[Any, Any, Any]:
        if step not in (*_HAS_BACKWARD, asked.TRAINING):
            output, statistics = function(jax.lax.stop_gradient(x) if step == asked.NO_GRADIENT else x)
            return output, None, statistics
        output, pull, statistics = jax.vjp(function, x, has_aux=True)
        return output, pull(cotangent.astype(output.dtype))[0] if step in _HAS_BACKWARD else None, statistics

    output, gradient, statistics = _in_mode(work, form, given, jnp.asarray(cotangent))(given, jnp.asarray(cotangent))
    return Taken(_read(output), str(output.dtype), None if gradient is None else _read(gradient)), statistics


class _Linen:
    """flax.linen.BatchNorm, whose caller keeps the statistics."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._module = linen.BatchNorm(**_arguments(form))
        example = jnp.zeros((2, form.channels), _TYPES[form.precision])
        self._variables = dict(self._module.init(jax.random.key(0), example, use_running_average=True))
        if form.scale is not None:
            self._variables["params"] |= {"scale": jnp.full(form.channels, form.scale, jnp.float32)}

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        if step == asked.FROZEN:
            raise Unsupported("flax freezes parameters in the optimizer, not in the layer")

        def function(x: Any) -> tuple[Any, Any]:
            more = {} if mask is None else {"mask": jnp.asarray(mask)[..., None]}
            if step == asked.EVALUATION:
                return self._module.apply(self._variables, x, use_running_average=True, **more), {}
            return self._module.apply(self._variables, x, use_running_average=False, mutable=["batch_stats"], **more)

        taken, statistics = _taken(function, self._form, step, x, cotangent)
        if step != asked.UNSTORED:
            self._variables |= statistics
        return taken

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._variables["batch_stats"]["mean"]), _read(self._variables["batch_stats"]["var"])


class _Nnx:
    """flax.nnx.BatchNorm, which moves its statistics itself, under nnx's own transformations too."""

    def __init__(self, form: Form) -> None:
        if form.mode == "compile":
            raise Unsupported("compile: a module of nnx is compiled when it is first called")
        self._form = form
        self._module = nnx.BatchNorm(form.channels, rngs=nnx.Rngs(0), **_arguments(form))
        if form.scale is not None:
            self._module.scale[...] = jnp.full(form.channels, form.scale, jnp.float32)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        if step == asked.FROZEN:
            raise Unsupported("flax freezes parameters in the optimizer, not in the layer")
        more = {} if mask is None else {"mask": jnp.asarray(mask)[..., None]}

        def loss(module: Any, x: Any, cotangent: Any) -> tuple[Any, Any]:
            output = module(x, use_running_average=step == asked.EVALUATION, **more)
            return jnp.sum(output * cotangent.astype(output.dtype)), output

        def work(module: Any, x: Any, cotangent: Any) -> tuple[Any, Any]:
            if step == asked.BACKWARD:
                (_, output), gradient = nnx.value_and_grad(loss, argnums=1, has_aux=True)(module, x, cotangent)
                return output, gradient
            return loss(module, jax.lax.stop_gradient(x) if step == asked.NO_GRADIENT else x, cotangent)[1], None

        function = nnx.jit(work) if self._form.mode == "jit" else work
        output, gradient = function(self._module, jnp.asarray(x, _TYPES[self._form.precision]), jnp.asarray(cotangent))
        return Taken(_read(output), str(output.dtype), None if gradient is None else _read(gradient))

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._module.mean[...]), _read(self._module.var[...])


class _Keras:
    """A layer of Keras on this backend: called as it is; where JAX differentiates or compiles, without state, as Keras says."""

    def __init__(self, form: Form) -> None:
        from runners.keras import batch_norms

        self._form = form
        self._layer = batch_norms.made(form, 4)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        layer, is_training = self._layer, step != asked.EVALUATION
        layer.trainable = step != asked.FROZEN
        more = {} if mask is None else {"mask": jnp.asarray(mask)}
        if self._form.mode == "eager" and step not in _HAS_BACKWARD:
            output = layer(jnp.asarray(x, _TYPES[self._form.precision]), training=is_training, **more)
            return Taken(_read(output), str(output.dtype))

        def function(x: Any) -> tuple[Any, Any]:
            held = [[each.value for each in variables] for variables in _variables(layer)]
            return layer.stateless_call(*held, x, training=is_training, **more)

        taken, moved = _taken(function, self._form, step, x, cotangent)
        for variable, value in zip(_variables(layer)[1], moved, strict=True):
            variable.assign(value)
        return taken

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._layer.moving_mean.value), _read(self._layer.moving_variance.value)


def _variables(layer: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    return layer.trainable_variables, layer.non_trainable_variables


def _shared_linen(form: Form, xs: list[np.ndarray], cotangents: list[np.ndarray]) -> list[Shard]:
    """Return what two devices give; shards are as long as the longest, and a mask leaves out what that adds."""
    rows = max(len(x) for x in xs)
    given = [jnp.stack([jnp.asarray(_padded(each, rows)) for each in arrays]) for arrays in (xs, cotangents)]
    kept = jnp.stack([jnp.arange(rows) < len(x) for x in xs])
    module = linen.BatchNorm(**_arguments(form), axis_name=_DEVICES)
    variables = module.init(jax.random.key(0), given[0][0], use_running_average=True)
    is_uneven = not bool(kept.all())

    def step(x: Any, cotangent: Any, kept: Any) -> Any:
        def function(x: Any) -> tuple[Any, Any]:
            more = {"mask": kept.reshape(-1, *[1] * (x.ndim - 1))} if is_uneven else {}
            return module.apply(variables, x, use_running_average=False, mutable=["batch_stats"], **more)

        output, pull, statistics = jax.vjp(function, x, has_aux=True)
        return output, pull(cotangent)[0], statistics["batch_stats"]["mean"], statistics["batch_stats"]["var"]

    told = jax.pmap(step, axis_name=_DEVICES)(*given, kept)
    return [
        Shard(*(_read(each[place])[: len(x)] for each in told[:2]), *(_read(each[place]) for each in told[2:]))
        for place, x in enumerate(xs)
    ]


def _padded(array: np.ndarray, rows: int) -> np.ndarray:
    return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])


def _read(value: Any) -> np.ndarray:
    return np.asarray(value).astype(np.float32)


def _describe() -> dict[str, Any]:
    return describe() | {"flax_version": flax.__version__} | version_of_keras()


def _layers() -> Mapping[str, Public | None]:
    found: dict[str, Public | None] = {
        "flax.linen.BatchNorm": Public(4, _Linen, _shared_linen),
        "flax.nnx.BatchNorm": Public(4, _Nnx),
    }
    if has_keras():
        found["keras.layers.BatchNormalization"] = Public(4, _Keras)
    return found


FRAMEWORK = asked.Framework("jax", _set_up, _describe, _layers, dict)

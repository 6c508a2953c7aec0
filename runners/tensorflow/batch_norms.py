"""Public batch norms of TensorFlow, and Keras's on it, as they are asked for the table of batch norms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from runners.contract.audit import batch_norm as asked
from runners.contract.audit.batch_norm import Form, Public, Shard, Taken
from runners.contract.audit.ways import found, has_keras, use_keras, version_of_keras
from runners.contract.errors import Unsupported
from runners.tensorflow.modes import compile_function, trace
from runners.tensorflow.step import describe, set_threads

_TYPES = {"fp32": tf.float32, "bf16": tf.bfloat16, "fp16": tf.float16}
_HAS_BACKWARD = (asked.BACKWARD, asked.FROZEN)
_KERAS = "keras.layers.BatchNormalization"


def _set_up(request: asked.TableRequest) -> None:
    set_threads(request.threads)
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    use_keras("tensorflow")


def _taken(
    function: Callable[[Any], tuple[Any, Any]], form: Form, step: str, x: np.ndarray, cotangent: np.ndarray
) -> tuple[Taken, Any]:
    """Take a step with a function from x to the output and new statistics; return what it gave, and those."""

    def work(x: Any, cotangent: Any) -> tuple[Any, Any, Any]:
        if step not in (*_HAS_BACKWARD, asked.TRAINING):
            output, statistics = function(tf.stop_gradient(x) if step == asked.NO_GRADIENT else x)
            return output, x, statistics
        with tf.GradientTape() as tape:
            tape.watch(x)
            output, statistics = function(x)
        if step == asked.TRAINING:
            return output, x, statistics
        return output, tape.gradient(output, x, output_gradients=tf.cast(cotangent, output.dtype)), statistics

    in_mode = {"eager": lambda function: function, "jit": trace, "compile": compile_function}[form.mode]
    output, gradient, statistics = in_mode(work)(tf.cast(tf.constant(x), _TYPES[form.precision]), tf.constant(cotangent))
    return Taken(_read(output), output.dtype.name, _read(gradient) if step in _HAS_BACKWARD else None), statistics


class _Function:
    """A function that gives the new statistics: its caller keeps them."""

    def __init__(self, form: Form, call: Callable[..., Any]) -> None:
        if form.is_cast:
            raise Unsupported("its statistics are given in float32")
        self._form, self._call = form, call
        self._scale, self._bias = tf.fill([form.channels], 1.0 if form.scale is None else form.scale), tf.zeros(form.channels)
        self._mean, self._variance = tf.zeros(form.channels), tf.ones(form.channels)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        if mask is not None:
            raise Unsupported("it takes no mask")
        if step == asked.FROZEN:
            raise Unsupported("a function has nothing to freeze")
        more = {} if self._form.momentum is None else {"exponential_avg_factor": self._form.momentum}
        is_training = step != asked.EVALUATION
        # With its default factor, 1, it allows no statistics in training.
        has_statistics = not is_training or self._form.momentum is not None

        def function(x: Any) -> tuple[Any, Any]:
            given = (self._mean, self._variance) if has_statistics else None
            output, mean, variance = self._call(x, self._scale, self._bias, given, is_training=is_training, **more)
            return output, (mean, variance)

        taken, statistics = _taken(function, self._form, step, x, cotangent)
        if is_training and step != asked.UNSTORED:
            self._mean, self._variance = statistics
        return taken

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._mean), _read(self._variance)


def _fused(x: Any, scale: Any, bias: Any, given: Any, **more: Any) -> Any:
    mean, variance = given or (None, None)
    return tf.compat.v1.nn.fused_batch_norm(x, scale, bias, mean, variance, **more)


def _raw(x: Any, scale: Any, bias: Any, given: Any, **more: Any) -> Any:
    mean, variance = given or (tf.zeros(0), tf.zeros(0))
    return tf.raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=bias, mean=mean, variance=variance, **more)[:3]


class _Keras:
    """A layer of Keras on this backend, which moves its statistics itself."""

    def __init__(self, form: Form, **more: Any) -> None:
        from runners.keras import batch_norms

        self._form = form
        self._layer = batch_norms.made(form, 4, **more)

    def take(self, step: str, x: np.ndarray, mask: np.ndarray | None, cotangent: np.ndarray) -> Taken:
        self._layer.trainable = step != asked.FROZEN
        more = {} if mask is None else {"mask": tf.constant(mask)}

        def function(x: Any) -> tuple[Any, Any]:
            return self._layer(x, training=step != asked.EVALUATION, **more), ()

        return _taken(function, self._form, step, x, cotangent)[0]

    def running(self) -> tuple[np.ndarray, np.ndarray]:
        return _read(self._layer.moving_mean.value), _read(self._layer.moving_variance.value)


def _mirrored(form: Form, xs: list[np.ndarray], cotangents: list[np.ndarray], **more: Any) -> list[Shard]:
    """Return what the replicas of MirroredStrategy give, one on each logical device."""
    from runners.keras import batch_norms

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())
    with strategy.scope():
        layer = batch_norms.made(form, 4, **more)

    def replica(x: Any, cotangent: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            output = layer(x, training=True)
        return output, tape.gradient(output, x, output_gradients=cotangent)

    given = [
        strategy.experimental_distribute_values_from_function(
            lambda context, arrays=arrays: tf.constant(arrays[context.replica_id_in_sync_group])
        )
        for arrays in (xs, cotangents)
    ]
    told = strategy.run(tf.function(replica, autograph=False), args=tuple(given))
    parts = [strategy.experimental_local_results(each) for each in (*told, layer.moving_mean.value, layer.moving_variance.value)]
    return [Shard(*(_read(each[place]) for each in parts)) for place in range(len(xs))]


def _read(value: Any) -> np.ndarray:
    return np.asarray(tf.cast(value, tf.float32).numpy())


def _describe() -> dict[str, Any]:
    return describe() | version_of_keras()


def _layers() -> Mapping[str, Public | None]:
    layers: dict[str, Public | None] = {
        "tensorflow.compat.v1.nn.fused_batch_norm": Public(4, lambda form: _Function(form, _fused)),
        "tensorflow.raw_ops.FusedBatchNormV3": Public(4, lambda form: _Function(form, _raw)),
    }
    if has_keras():
        layers[_KERAS] = Public(4, _Keras, _mirrored)
        layers[f"{_KERAS} (synchronized)"] = Public(
            4,
            lambda form: _Keras(form, synchronized=True),
            lambda form, xs, cotangents: _mirrored(form, xs, cotangents, synchronized=True),
        )
    layers["tensorflow.keras.layers.experimental.SyncBatchNormalization"] = None
    return {name: public if found(name) is not None else None for name, public in layers.items()}


def _same() -> Mapping[str, str]:
    name = f"tensorflow.{_KERAS}"
    return {name: _KERAS} if found(name) is not None and found(name) is found(_KERAS) else {}


FRAMEWORK = asked.Framework("tensorflow", _set_up, _describe, _layers, _same)

"""Keras: whole trainings by `Model.fit`, and `evaluate` and `predict`, in the ways that a step may be carried out."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import keras
import numpy as np

from runners.contract.errors import Unsupported
from runners.keras.optimizers import precise

BATCH = 4
_SCALE, _GROWTH_STEPS, _REPLICAS = 1024.0, 2, 2
Call = Callable[..., Any]


class _Way(NamedTuple):
    """How a training is carried out. told: to `compile`, besides; told nothing, Keras compiles a step where its backend can.

    is_scaled: the loss is, by a scale that grows as the training goes on, and gradients are scaled back before anything is done
    with them.
    """

    told: tuple[tuple[str, Any], ...] = ()
    is_scaled: bool = False

    def compile(self, model: Any, optimizer: Any, loss: Any, **given: Any) -> None:
        if self.is_scaled:
            optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=_SCALE, dynamic_growth_steps=_GROWTH_STEPS)
        model.compile(optimizer=optimizer, loss=loss, **given, **dict(self.told))


_PLAIN, _OP_BY_OP, _SCALED = _Way(), _Way((("run_eagerly", True),)), _Way(is_scaled=True)


@contextmanager
def _dense(w: Any, b: Any, **layer: Any) -> Iterator[tuple[Any, Any]]:
    """Give a model of one dense layer, and the type of its numbers."""
    with precise(w) as kind:
        dense = keras.layers.Dense(w.shape[1], dtype=kind, **layer)
        model = keras.Sequential([keras.Input((w.shape[0],), dtype=kind), dense])
        dense.set_weights([_array(w), _array(b)])
        yield model, kind


def _array(tensor: Any) -> np.ndarray:
    return np.array(keras.ops.convert_to_numpy(tensor))


def _told(model: Any, kind: str, *series: Any) -> list[Any]:
    return [keras.ops.convert_to_tensor(np.asarray(each), dtype=kind) for each in (*model.get_weights(), *series)]


def _trained(way: _Way, w: Any, b: Any, x: Any, y: Any, s: Any = None, *, optimizer: Any, epochs: int, **layer: Any) -> Any:
    with _dense(w, b, **layer) as (model, kind):
        way.compile(model, optimizer(), keras.losses.MeanSquaredError(dtype=kind))
        weights = None if s is None else _array(s)
        given = {"batch_size": BATCH, "epochs": epochs, "shuffle": False, "verbose": 0}
        history = model.fit(_array(x), _array(y), sample_weight=weights, **given).history
        return _told(model, kind, history["loss"])


def _fitted(way: _Way, w: Any, b: Any, x: Any, y: Any, s: Any = None, *, rate: float, epochs: int, momentum: float) -> Any:
    return _trained(way, w, b, x, y, s, optimizer=lambda: keras.optimizers.SGD(rate, momentum=momentum), epochs=epochs)


def _of_classes(way: _Way, w: Any, b: Any, x: Any, y: Any, c: Any, *, rate: float, epochs: int) -> Any:
    with _dense(w, b) as (model, kind):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, dtype=kind)
        way.compile(model, keras.optimizers.SGD(rate), loss)
        weights = {number: float(each) for number, each in enumerate(_array(c))}
        given = {"batch_size": BATCH, "epochs": epochs, "shuffle": False, "verbose": 0}
        history = model.fit(_array(x), _array(y), class_weight=weights, **given).history
        return _told(model, kind, history["loss"])


def _by_accumulation(way: _Way, w: Any, b: Any, x: Any, y: Any, s: Any, *, rate: float, epochs: int, period: int) -> Any:
    def optimizer() -> Any:
        return keras.optimizers.SGD(rate, gradient_accumulation_steps=period)

    return _trained(way, w, b, x, y, s, optimizer=optimizer, epochs=epochs)


def _with_average(way: _Way, w: Any, b: Any, x: Any, y: Any, *, rate: float, epochs: int, decay: float, every: int) -> Any:
    def optimizer() -> Any:
        return keras.optimizers.SGD(rate, use_ema=True, ema_momentum=decay, ema_overwrite_frequency=every or None)

    return _trained(way, w, b, x, y, optimizer=optimizer, epochs=epochs)


def _with_penalty(
    way: _Way, w: Any, b: Any, x: Any, y: Any, *, rate: float, epochs: int, penalty: float, decay: float, limit: float
) -> Any:
    def optimizer() -> Any:
        return keras.optimizers.SGD(rate, weight_decay=decay or None, global_clipnorm=limit)

    layer = {"kernel_regularizer": keras.regularizers.L2(penalty)} if penalty else {}
    return _trained(way, w, b, x, y, optimizer=optimizer, epochs=epochs, **layer)


def _validated(way: _Way, w: Any, b: Any, x: Any, y: Any, s: Any, *, rate: float, epochs: int, share: float) -> Any:
    with _dense(w, b) as (model, kind):
        way.compile(model, keras.optimizers.SGD(rate), keras.losses.MeanSquaredError(dtype=kind))
        given = {"batch_size": BATCH, "epochs": epochs, "shuffle": False, "verbose": 0}
        history = model.fit(_array(x), _array(y), sample_weight=_array(s), validation_split=share, **given).history
        return _told(model, kind, history["loss"], history["val_loss"])


def _evaluated(way: _Way, w: Any, b: Any, x: Any, y: Any, s: Any) -> Any:
    with _dense(w, b) as (model, kind):
        metrics = {
            "metrics": [keras.metrics.MeanAbsoluteError("plain", dtype=kind)],
            "weighted_metrics": [keras.metrics.MeanAbsoluteError("weighted", dtype=kind)],
        }
        way.compile(model, "sgd", keras.losses.MeanSquaredError(dtype=kind), **metrics)
        given = {"batch_size": BATCH, "verbose": 0}
        found = model.evaluate(_array(x), _array(y), sample_weight=_array(s), return_dict=True, **given)
        predicted = model.predict(_array(x), **given)
        return [keras.ops.convert_to_tensor(np.asarray(found[name]), dtype=kind) for name in ("loss", "plain", "weighted")] + [
            keras.ops.convert_to_tensor(predicted)
        ]


def _to_two(
    way: _Way, v: Any, z: Any, w: Any, b: Any, x: Any, y: Any, *, rate: float, epochs: int, first: float, second: float
) -> Any:
    with precise(w) as kind:
        given = keras.Input((w.shape[0],), dtype=kind)
        one = keras.layers.Dense(w.shape[1], dtype=kind, name="one")
        other = keras.layers.Dense(2, use_bias=False, dtype=kind, name="other")
        model = keras.Model(given, {"one": one(given), "other": other(given)})
        one.set_weights([_array(w), _array(b)])
        other.set_weights([_array(v)])
        losses = {name: keras.losses.MeanSquaredError(dtype=kind) for name in ("one", "other")}
        way.compile(model, keras.optimizers.SGD(rate), losses, loss_weights={"one": first, "other": second})
        targets = {"one": _array(y), "other": _array(z)}
        history = model.fit(_array(x), targets, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0).history
        found = [one.get_weights()[0], other.get_weights()[0], one.get_weights()[1]]
        found += [history[name] for name in ("loss", "one_loss", "other_loss")]
        return [keras.ops.convert_to_tensor(np.asarray(each), dtype=kind) for each in found]


def _three_a_call(call: Call, **given: Any) -> Any:
    if keras.backend.backend() == "torch":
        raise Unsupported("steps_per_execution: Keras has it on TensorFlow and JAX alone.")
    return call(_Way((("steps_per_execution", 3),)), **given)


def _mirrored(call: Call, **given: Any) -> Any:
    """Carry it out over two devices, each with its part of each batch. The runner of an audit makes them."""
    if keras.backend.backend() != "tensorflow":
        raise Unsupported("MirroredStrategy: TensorFlow alone has it.")
    with _strategy().scope():
        return call(_PLAIN, **given)


@functools.cache
def _strategy() -> Any:
    """Return a strategy, always the same: a second one numbers its sums as the first did, and fails where shapes differ."""
    distribute = sys.modules["tensorflow"].distribute  # which its backend has imported
    return distribute.MirroredStrategy([f"CPU:{number}" for number in range(_REPLICAS)])


CALLS = {
    "fitted": {
        "keras.Model.fit": lambda **given: _fitted(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _fitted(_SCALED, **given),
    },
    "fitted_with_weights": {
        "keras.Model.fit": lambda **given: _fitted(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _fitted(_SCALED, **given),
        "keras.Model.fit (mirrored)": lambda **given: _mirrored(_fitted, **given),
        "keras.Model.fit (op by op)": lambda **given: _fitted(_OP_BY_OP, **given),
        "keras.Model.fit (three steps a call)": lambda **given: _three_a_call(_fitted, **given),
    },
    "fitted_with_weights_of_classes": {
        "keras.Model.fit": lambda **given: _of_classes(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _of_classes(_SCALED, **given),
    },
    "fitted_by_accumulation": {
        "keras.Model.fit": lambda **given: _by_accumulation(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _by_accumulation(_SCALED, **given),
        "keras.Model.fit (mirrored)": lambda **given: _mirrored(_by_accumulation, **given),
        "keras.Model.fit (op by op)": lambda **given: _by_accumulation(_OP_BY_OP, **given),
        "keras.Model.fit (three steps a call)": lambda **given: _three_a_call(_by_accumulation, **given),
    },
    "fitted_with_average": {
        "keras.Model.fit": lambda **given: _with_average(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _with_average(_SCALED, **given),
        "keras.Model.fit (mirrored)": lambda **given: _mirrored(_with_average, **given),
    },
    "fitted_with_penalty": {
        "keras.Model.fit": lambda **given: _with_penalty(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _with_penalty(_SCALED, **given),
        "keras.Model.fit (mirrored)": lambda **given: _mirrored(_with_penalty, **given),
    },
    "fitted_and_validated": {
        "keras.Model.fit": lambda **given: _validated(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _validated(_SCALED, **given),
    },
    "fitted_to_two": {
        "keras.Model.fit": lambda **given: _to_two(_PLAIN, **given),
        "keras.Model.fit (scaled loss)": lambda **given: _to_two(_SCALED, **given),
    },
    "evaluated": {
        "keras.Model.evaluate": lambda **given: _evaluated(_PLAIN, **given),
        "keras.Model.evaluate (mirrored)": lambda **given: _mirrored(_evaluated, **given),
    },
}

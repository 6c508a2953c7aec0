"""Keras: what is made, shaped anew, repeated in loops, and made of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from runners.contract.errors import Unsupported

initializers = keras.initializers


def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)


def _filled_with(make: Callable[..., Any], wanted: float) -> Callable[..., Any]:
    def call(x: Any, value: float) -> Any:
        if value != wanted:
            raise Unsupported(f"value: fills with {wanted} alone.")
        return make(x)

    return call


def _made(initializer: Any) -> Callable[..., Any]:
    return lambda x: initializer(tuple(x.shape), _kind(x))


def _sequence(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, start, stop, count: function(start, stop, count, dtype=_kind(like))


def _together(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: function([x, y])


def _complex(x: Any, y: Any) -> Any:
    return ops.view_as_complex(ops.stack([x, y], axis=-1))


def _of_complex(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, y: Any) -> Any:
        found = function(_complex(x, y))
        return ops.real(found), ops.imag(found)

    return call


def _viewed(x: Any, y: Any) -> Any:
    found = ops.view_as_real(ops.square(_complex(x, y)))
    return found[..., 0], found[..., 1]


def _polar(x: Any, y: Any) -> Any:
    found = ops.polar(x, y)
    return ops.real(found), ops.imag(found)


def _scanned(x: Any, w: Any) -> Any:
    def step(last: Any, each: Any) -> Any:
        now = w * last + each
        return now, now

    return ops.scan(step, ops.zeros_like(x[0]), x)[1]


def _associative(x: Any, w: Any) -> Any:
    """Return the recurrence as an associative operation of pairs: a factor, and what is added."""
    factors = ops.broadcast_to(w, ops.shape(x))
    return ops.associative_scan(lambda one, other: (one[0] * other[0], other[0] * one[1] + other[1]), (factors, x))[1]


def _looped(x: Any, w: Any) -> Any:
    return ops.fori_loop(0, x.shape[0], lambda place, last: w * last + x[place], ops.zeros_like(x[0]))


def _while(x: Any, w: Any) -> Any:
    start = (ops.convert_to_tensor(0), ops.zeros_like(x[0]))
    count = x.shape[0]
    return ops.while_loop(lambda at, last: at < count, lambda at, last: (at + 1, w * last + ops.take(x, at, axis=0)), start)[1]


def _vectorized(x: Any) -> Any:
    if keras.backend.backend() == "tensorflow":
        raise Unsupported("vectorize: not with TensorFlow.")
    return ops.vectorize(lambda row: ops.square(ops.sum(row)), signature="(n)->()")(x)


def _of_any_shape() -> None:
    if keras.backend.backend() == "jax":
        raise Unsupported("a shape that depends on numbers: JAX compiles none.")


def _inverse(x: Any) -> Any:
    _of_any_shape()
    return ops.unique(x, return_inverse=True)[1]


def _nonzero(x: Any) -> Any:
    _of_any_shape()
    return ops.stack(ops.nonzero(x), axis=-1)


def _traced_gradient(x: Any) -> Any:
    """Return x by a function with a gradient of its own, which is the right one."""

    @ops.custom_gradient
    def same(x: Any) -> Any:
        # With PyTorch the arguments of the function come first, and the gradient by its name.
        return x, lambda *given, upstream=None: given[0] if upstream is None else upstream

    return same(x)


CALLS: dict[str, dict[str, Any]] = {
    "copy": {
        "keras.layers.ActivityRegularization": lambda x: keras.layers.ActivityRegularization(0.1, 0.1, dtype=_kind(x))(x),
        "keras.ops.copy": None,
        "keras.ops.array": None,
        "keras.ops.real": None,
        "keras.ops.conj": None,
        "keras.ops.conjugate": None,
        "keras.ops.cast": lambda x: ops.cast(x, _kind(x)),
        "keras.ops.saturate_cast": lambda x: ops.saturate_cast(x, _kind(x)),
        "keras.ops.custom_gradient": _traced_gradient,
        "keras.ops.get_item": lambda x: ops.get_item(x, slice(None)),
    },
    "copy_without_gradient": {"keras.ops.stop_gradient": None},
    "expand_dims": {"keras.ops.expand_dims": lambda x, axis: ops.expand_dims(x, axis)},
    "squeeze": {"keras.ops.squeeze": lambda x: ops.squeeze(x, 1)},
    "ravel": {"keras.ops.ravel": None},
    "reshape": {
        "keras.ops.reshape": lambda x: ops.reshape(x, (x.shape[1], 2, -1)),
        "keras.ops.view": lambda x: ops.reshape(ops.view(x, _kind(x)), (x.shape[1], 2, -1)),
        "keras.ops.rearrange": lambda x: ops.reshape(ops.rearrange(x, "a b c -> (a b c)"), (x.shape[1], 2, -1)),
    },
    "permuted": {"keras.ops.rearrange": lambda x: ops.rearrange(x, "a b c -> c a b")},
    "mirrored_rows": {"keras.ops.flipud": None},
    "mirrored_columns": {"keras.ops.fliplr": None},
    "at_a_place": {"keras.ops.get_item": lambda x: ops.get_item(x, 1)},
    "some_columns": {"keras.ops.get_item": lambda x: ops.get_item(x, (slice(None), slice(1, 4)))},
    "vstack": {"keras.ops.vstack": _together(ops.vstack)},
    "hstack": {"keras.ops.hstack": _together(ops.hstack)},
    "dstack": {"keras.ops.dstack": _together(ops.dstack)},
    "append": {"keras.ops.append": lambda x, y: ops.append(x, y, 1)},
    "halves": {"keras.ops.hsplit": lambda x: ops.hsplit(x, 2)},
    "upper_and_lower": {"keras.ops.vsplit": lambda x: ops.vsplit(x, 2)},
    "front_and_back": {"keras.ops.dsplit": lambda x: ops.dsplit(x, 2)},
    "unstack": {"keras.ops.unstack": None},
    "full": {
        "keras.ops.full": lambda x, value: ops.full(tuple(x.shape), value, dtype=_kind(x)),
        "keras.ops.full_like": lambda x, value: ops.full_like(x, value),
        "keras.ops.zeros": _filled_with(lambda x: ops.zeros(tuple(x.shape), dtype=_kind(x)), 0.0),
        "keras.ops.zeros_like": _filled_with(ops.zeros_like, 0.0),
        "keras.ops.ones": _filled_with(lambda x: ops.ones(tuple(x.shape), dtype=_kind(x)), 1.0),
        "keras.ops.ones_like": _filled_with(ops.ones_like, 1.0),
        "keras.initializers.Zeros": _filled_with(_made(initializers.Zeros()), 0.0),
        "keras.initializers.zeros": _filled_with(_made(initializers.zeros()), 0.0),
        "keras.initializers.Ones": _filled_with(_made(initializers.Ones()), 1.0),
        "keras.initializers.ones": _filled_with(_made(initializers.ones()), 1.0),
        "keras.initializers.Constant": lambda x, value: _made(initializers.Constant(value))(x),
        "keras.initializers.constant": lambda x, value: _made(initializers.constant(value))(x),
    },
    "arange": {"keras.ops.arange": lambda like, start, stop, step: ops.arange(start, stop, step, dtype=_kind(like))},
    "linspace": {"keras.ops.linspace": _sequence(ops.linspace)},
    "logspace": {"keras.ops.logspace": _sequence(ops.logspace)},
    "geomspace": {"keras.ops.geomspace": _sequence(getattr(ops, "geomspace", None))},
    "eye": {"keras.ops.eye": lambda like, rows, columns, above: ops.eye(rows, columns, above, dtype=_kind(like))},
    "identity_matrix": {"keras.ops.identity": lambda like, count: ops.identity(count, dtype=_kind(like))},
    "tri": {"keras.ops.tri": lambda like, rows, columns, above: ops.tri(rows, columns, above, dtype=_kind(like))},
    "unique_inverse": {"keras.ops.unique": _inverse},
    "nonzero": {"keras.ops.nonzero": _nonzero},
    "allclose": {
        "keras.ops.allclose": lambda x, y, by: ops.logical_or(ops.allclose(x + by * y, x, rtol=0.0, atol=0.5), by < 1.0),
    },
    "is_real": {"keras.ops.isreal": None},
    "argpartition": {"keras.ops.argpartition": lambda x: ops.sort(ops.take(x, ops.argpartition(x, 3)[:3]))},
    "sums_of_rows": {
        "keras.ops.vectorize": _vectorized,
        "keras.ops.vectorized_map": lambda x: ops.vectorized_map(lambda row: ops.square(ops.sum(row)), x),
    },
    "recurrence": {"keras.ops.scan": _scanned, "keras.ops.associative_scan": _associative},
    "last_of_recurrence": {"keras.ops.fori_loop": _looped},
    "last_without_gradient": {"keras.ops.while_loop": _while, "keras.ops.fori_loop": _looped},
    "map_of_rows": {
        "keras.ops.map": lambda x: ops.map(lambda row: ops.sum(row * row), x),
        "keras.ops.vectorized_map": lambda x: ops.vectorized_map(lambda row: ops.sum(row * row), x),
    },
    "branch": {
        "keras.ops.cond": lambda x, which: ops.cond(which[0] == 0, lambda: ops.sin(x), lambda: ops.square(x)),
        "keras.ops.switch": lambda x, which: ops.switch(which[0], [ops.sin, ops.square], x),
    },
    "square_of_complex": {
        "keras.ops.view_as_complex": _of_complex(ops.square),
        "keras.ops.real": _of_complex(ops.square),
        "keras.ops.imag": _of_complex(ops.square),
        "keras.ops.view_as_real": _viewed,
    },
    "conjugate": {"keras.ops.conj": _of_complex(ops.conj), "keras.ops.conjugate": _of_complex(ops.conjugate)},
    "angle": {"keras.ops.angle": lambda x, y: ops.angle(_complex(x, y))},
    "sign_of_angle": {"keras.ops.angle": None},
    "polar": {"keras.ops.polar": _polar, "keras.ops.nn.polar": _polar},
}

"""Keras: activations."""

from __future__ import annotations

from typing import Any

import keras

from runners.contract.audit.ways import Call
from runners.keras.weights import applied, kind


def _plain(name: str) -> dict[str, Call | None]:
    """Return the calls of an activation without parameters: as an operation, as an activation, by its name in a layer."""
    return {
        f"keras.ops.{name}": None,
        f"keras.activations.{name}": None,
        f"keras.layers.Activation ({name})": lambda x: keras.layers.Activation(name, dtype=kind(x))(x),
    }


def _prelu(x: Any, weight: Any, **options: Any) -> Any:
    layer = keras.layers.PReLU(dtype=kind(x), **options)
    layer.build(tuple(x.shape))
    return applied(layer, {"alpha": weight}, x)


def _of_channels(x: Any, weight: Any) -> Any:
    found = _prelu(keras.ops.transpose(x, (0, 2, 1)), weight, shared_axes=[1])
    return keras.ops.transpose(found, (0, 2, 1))


CALLS = {
    "relu": {**_plain("relu"), "keras.layers.ReLU": lambda x: keras.layers.ReLU(dtype=kind(x))(x)},
    "relu6": {**_plain("relu6"), "keras.layers.ReLU": lambda x: keras.layers.ReLU(max_value=6.0, dtype=kind(x))(x)},
    "relu_general": {
        "keras.activations.relu": None,
        "keras.layers.ReLU": lambda x, **options: keras.layers.ReLU(dtype=kind(x), **options)(x),
    },
    "leaky_relu": {
        "keras.ops.leaky_relu": None,
        "keras.activations.leaky_relu": None,
        "keras.layers.LeakyReLU": lambda x, negative_slope: keras.layers.LeakyReLU(negative_slope, dtype=kind(x))(x),
    },
    "prelu": {"keras.layers.PReLU": _of_channels},
    "prelu_shared": {"keras.layers.PReLU": lambda x, weight: _prelu(x, weight, shared_axes=[1, 2])},
    "elu": {
        "keras.ops.elu": None,
        "keras.activations.elu": None,
        "keras.layers.ELU": lambda x, alpha: keras.layers.ELU(alpha, dtype=kind(x))(x),
    },
    "celu": {"keras.ops.celu": None, "keras.activations.celu": None},
    "selu": _plain("selu"),
    "gelu": {"keras.ops.gelu": None, "keras.activations.gelu": None},
    "gelu_tail": {"keras.ops.gelu": lambda x: keras.ops.gelu(x, approximate=False)},
    "gelu_tanh_tail": {"keras.ops.gelu": lambda x: keras.ops.gelu(x, approximate=True)},
    "silu": {**_plain("silu"), **_plain("swish")},
    "mish": {each: call for each, call in _plain("mish").items() if not each.startswith("keras.ops")},
    "softplus": _plain("softplus"),
    "softsign": _plain("softsign"),
    "sigmoid": _plain("sigmoid"),
    "sigmoid_far": _plain("sigmoid"),
    "log_sigmoid": _plain("log_sigmoid"),
    "hard_sigmoid": _plain("hard_sigmoid"),
    "hard_swish": {**_plain("hard_swish"), **_plain("hard_silu")},
    "hard_tanh_unit": _plain("hard_tanh"),
    "tanhshrink": _plain("tanh_shrink"),
    "softshrink": {
        "keras.ops.soft_shrink": lambda x, bound: keras.ops.soft_shrink(x, bound),
        "keras.activations.soft_shrink": lambda x, bound: keras.activations.soft_shrink(x, bound),
    },
    "hardshrink": {
        "keras.ops.hard_shrink": lambda x, bound: keras.ops.hard_shrink(x, bound),
        "keras.activations.hard_shrink": lambda x, bound: keras.activations.hard_shrink(x, bound),
    },
    "threshold": {
        "keras.ops.threshold": lambda x, bound, value: keras.ops.threshold(x, bound, value),
        "keras.activations.threshold": lambda x, bound, value: keras.activations.threshold(x, bound, value),
    },
    "squareplus": {"keras.ops.squareplus": None, "keras.activations.squareplus": None},
    "sparse_plus": _plain("sparse_plus"),
    "sparse_sigmoid": _plain("sparse_sigmoid"),
    "identity": {"keras.activations.linear": None, "keras.layers.Identity": lambda x: keras.layers.Identity(dtype=kind(x))(x)},
    "glu": {"keras.ops.glu": None, "keras.activations.glu": None},
    "sparsemax": {
        "keras.ops.sparsemax": None,
        "keras.activations.sparsemax": None,
    },
}

"""JAX and flax: activations. What flax.linen and flax.nnx call by the same names are the functions of jax.nn themselves."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx


def _shared(x: Any, weight: Any) -> Any:
    module = nnx.PReLU()
    module.negative_slope.value = weight[0]
    return module(x)


def _standardize(x: Any, axis: Any, epsilon: float, **more: Any) -> Any:
    return jax.nn.standardize(x, axis=tuple(axis) if isinstance(axis, list) else axis, epsilon=epsilon, **more)


_SIGMOID = {"jax.nn.sigmoid": None, "jax.lax.logistic": None, "jax.scipy.special.expit": None}

CALLS = {
    "relu": {"jax.nn.relu": None, "flax.nnx.relu": None, "jax.numpy.maximum": lambda x: jnp.maximum(x, 0.0)},
    "relu6": {"jax.nn.relu6": None},
    "leaky_relu": {"jax.nn.leaky_relu": None},
    "prelu_shared": {
        "flax.linen.PReLU": lambda x, weight: linen.PReLU().apply({"params": {"negative_slope": weight[0]}}, x),
        "flax.nnx.PReLU": _shared,
    },
    "elu": {"jax.nn.elu": None},
    "celu": {"jax.nn.celu": None},
    "selu": {"jax.nn.selu": None},
    "gelu": {"jax.nn.gelu": None, "flax.nnx.gelu": None},
    "gelu_tail": {"jax.nn.gelu": lambda x: jax.nn.gelu(x, approximate=False)},
    "gelu_tanh_tail": {"jax.nn.gelu": None},
    "silu": {"jax.nn.silu": None, "jax.nn.swish": None},
    "mish": {"jax.nn.mish": None},
    "softplus": {"jax.nn.softplus": None},
    "softsign": {"jax.nn.soft_sign": None},
    "sigmoid": _SIGMOID,
    "sigmoid_far": _SIGMOID,
    "log_sigmoid": {"jax.nn.log_sigmoid": None},
    "hard_sigmoid": {"jax.nn.hard_sigmoid": None},
    "hard_swish": {"jax.nn.hard_swish": None, "jax.nn.hard_silu": None},
    "hard_tanh": {"jax.numpy.clip": lambda x, low, high: jnp.clip(x, low, high)},
    "hard_tanh_unit": {"jax.nn.hard_tanh": None},
    "squareplus": {"jax.nn.squareplus": None},
    "sparse_plus": {"jax.nn.sparse_plus": None},
    "sparse_sigmoid": {"jax.nn.sparse_sigmoid": None},
    "log1mexp": {"jax.nn.log1mexp": None},
    "identity": {"jax.nn.identity": None, "flax.nnx.identity": None},
    "glu": {"jax.nn.glu": None},
    "logit": {"jax.scipy.special.logit": lambda x, eps: jax.scipy.special.logit(x if eps is None else jnp.clip(x, eps, 1 - eps))},
    "standardize": {"jax.nn.standardize": _standardize},
    "standardize_masked": {"jax.nn.standardize": _standardize},
}

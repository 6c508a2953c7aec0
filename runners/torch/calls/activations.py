"""PyTorch: activations. A function that writes in place has a derivative of its own, and gets a copy here."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


def _gelu(approximate: bool) -> str:
    return "tanh" if approximate else "none"


def _gelu_as_used(x: Any, approximate: bool) -> Any:
    """Return what it gives, by its default where that is what is asked."""
    return F.gelu(x, approximate="tanh") if approximate else F.gelu(x)


_SIGMOID = {
    "torch.sigmoid": None,
    "torch.special.expit": None,
    "torch.nn.functional.sigmoid": None,
    "torch.nn.Sigmoid": lambda x: nn.Sigmoid()(x),
    "torch.Tensor.sigmoid_": lambda x: x.clone().sigmoid_(),
}

CALLS = {
    "relu": {
        "torch.relu": None,
        "torch.nn.functional.relu": None,
        "torch.nn.functional.relu (in place)": lambda x: F.relu(x.clone(), inplace=True),
        "torch.nn.ReLU": lambda x: nn.ReLU()(x),
        "torch.Tensor.clamp_min": lambda x: x.clamp_min(0.0),
    },
    "relu6": {
        "torch.nn.functional.relu6": None,
        "torch.nn.functional.relu6 (in place)": lambda x: F.relu6(x.clone(), inplace=True),
        "torch.nn.ReLU6": lambda x: nn.ReLU6()(x),
    },
    "leaky_relu": {
        "torch.nn.functional.leaky_relu": None,
        "torch.nn.functional.leaky_relu (in place)": lambda x, negative_slope: F.leaky_relu(
            x.clone(), negative_slope, inplace=True
        ),
        "torch.nn.LeakyReLU": lambda x, negative_slope: nn.LeakyReLU(negative_slope)(x),
    },
    "rrelu": {
        "torch.rrelu": lambda x, lower, upper: torch.rrelu(x, lower, upper, training=False),
        "torch.nn.functional.rrelu": lambda x, lower, upper: F.rrelu(x, lower, upper, training=False),
        "torch.nn.functional.rrelu (in place)": lambda x, lower, upper: F.rrelu(
            x.clone(), lower, upper, training=False, inplace=True
        ),
        "torch.nn.RReLU": lambda x, lower, upper: nn.RReLU(lower, upper).eval()(x),
    },
    "prelu": {
        "torch.prelu": None,
        "torch.nn.functional.prelu": None,
        "torch.nn.PReLU": lambda x, weight: torch.func.functional_call(nn.PReLU(len(weight)), {"weight": weight}, x),
    },
    "prelu_shared": {
        "torch.prelu": None,
        "torch.nn.functional.prelu": None,
        "torch.nn.PReLU": lambda x, weight: torch.func.functional_call(nn.PReLU(), {"weight": weight}, x),
    },
    "elu": {
        "torch.nn.functional.elu": None,
        "torch.nn.functional.elu (in place)": lambda x, alpha: F.elu(x.clone(), alpha, inplace=True),
        "torch.nn.ELU": lambda x, alpha: nn.ELU(alpha)(x),
    },
    "celu": {
        "torch.celu": None,
        "torch.nn.functional.celu": None,
        "torch.nn.functional.celu (in place)": lambda x, alpha: F.celu(x.clone(), alpha, inplace=True),
        "torch.nn.CELU": lambda x, alpha: nn.CELU(alpha)(x),
    },
    "selu": {
        "torch.selu": None,
        "torch.nn.functional.selu": None,
        "torch.nn.functional.selu (in place)": lambda x: F.selu(x.clone(), inplace=True),
        "torch.nn.SELU": lambda x: nn.SELU()(x),
    },
    "gelu": {
        "torch.nn.functional.gelu": _gelu_as_used,
        "torch.nn.GELU": lambda x, approximate: nn.GELU(approximate=_gelu(approximate))(x),
    },
    "gelu_tail": {"torch.nn.functional.gelu": None},
    "gelu_tanh_tail": {"torch.nn.functional.gelu": lambda x: F.gelu(x, approximate="tanh")},
    "silu": {
        "torch.nn.functional.silu": None,
        "torch.nn.functional.silu (in place)": lambda x: F.silu(x.clone(), inplace=True),
        "torch.nn.SiLU": lambda x: nn.SiLU()(x),
    },
    "mish": {
        "torch.nn.functional.mish": None,
        "torch.nn.functional.mish (in place)": lambda x: F.mish(x.clone(), inplace=True),
        "torch.nn.Mish": lambda x: nn.Mish()(x),
    },
    "softplus": {"torch.nn.functional.softplus": None, "torch.nn.Softplus": lambda x: nn.Softplus()(x)},
    "softplus_threshold": {
        "torch.nn.functional.softplus": None,
        "torch.nn.Softplus": lambda x, beta, threshold: nn.Softplus(beta, threshold)(x),
    },
    "softsign": {"torch.nn.functional.softsign": None, "torch.nn.Softsign": lambda x: nn.Softsign()(x)},
    "sigmoid": _SIGMOID,
    "sigmoid_far": _SIGMOID,
    "log_sigmoid": {"torch.nn.functional.logsigmoid": None, "torch.nn.LogSigmoid": lambda x: nn.LogSigmoid()(x)},
    "hard_sigmoid": {
        "torch.nn.functional.hardsigmoid": None,
        "torch.nn.functional.hardsigmoid (in place)": lambda x: F.hardsigmoid(x.clone(), inplace=True),
        "torch.nn.Hardsigmoid": lambda x: nn.Hardsigmoid()(x),
    },
    "hard_swish": {
        "torch.nn.functional.hardswish": None,
        "torch.nn.functional.hardswish (in place)": lambda x: F.hardswish(x.clone(), inplace=True),
        "torch.nn.Hardswish": lambda x: nn.Hardswish()(x),
    },
    "hard_tanh": {
        "torch.nn.functional.hardtanh": lambda x, low, high: F.hardtanh(x, low, high),
        "torch.nn.functional.hardtanh (in place)": lambda x, low, high: F.hardtanh(x.clone(), low, high, inplace=True),
        "torch.nn.Hardtanh": lambda x, low, high: nn.Hardtanh(low, high)(x),
    },
    "hard_tanh_unit": {"torch.nn.functional.hardtanh": None, "torch.nn.Hardtanh": lambda x: nn.Hardtanh()(x)},
    "tanhshrink": {"torch.nn.functional.tanhshrink": None, "torch.nn.Tanhshrink": lambda x: nn.Tanhshrink()(x)},
    "softshrink": {
        "torch.nn.functional.softshrink": lambda x, bound: F.softshrink(x, bound),
        "torch.nn.Softshrink": lambda x, bound: nn.Softshrink(bound)(x),
    },
    "hardshrink": {
        "torch.hardshrink": lambda x, bound: torch.hardshrink(x, bound),
        "torch.nn.functional.hardshrink": lambda x, bound: F.hardshrink(x, bound),
        "torch.nn.Hardshrink": lambda x, bound: nn.Hardshrink(bound)(x),
    },
    "threshold": {
        "torch.threshold": lambda x, bound, value: torch.threshold(x, bound, value),
        "torch.nn.functional.threshold": lambda x, bound, value: F.threshold(x, bound, value),
        "torch.nn.functional.threshold (in place)": lambda x, bound, value: F.threshold(x.clone(), bound, value, inplace=True),
        "torch.nn.Threshold": lambda x, bound, value: nn.Threshold(bound, value)(x),
    },
    "logit": {"torch.logit": None, "torch.special.logit": None, "torch.Tensor.logit": lambda x, eps: x.logit(eps)},
    "identity": {"torch.nn.Identity": lambda x: nn.Identity()(x)},
    "glu": {
        "torch.nn.functional.glu": lambda x, axis: F.glu(x, axis),
        "torch.nn.GLU": lambda x, axis: nn.GLU(axis)(x),
    },
}

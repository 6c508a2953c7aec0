"""PyTorch: functions of one number, and of two, element by element."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def _written(name: str) -> Any:
    """Return a call of a function that writes over its first argument, of a copy."""
    return lambda x, *more, **others: getattr(torch, name)(x.clone(), *more, *others.values())


CALLS = {
    "exp": {"torch.exp_": _written("exp_"), "torch.exp": None},
    "exp2": {"torch.exp2_": _written("exp2_"), "torch.exp2": None, "torch.special.exp2": None},
    "expm1": {"torch.expm1_": _written("expm1_"), "torch.expm1": None, "torch.special.expm1": None},
    "log": {"torch.log_": _written("log_"), "torch.log": None},
    "log2": {"torch.log2_": _written("log2_"), "torch.log2": None},
    "log10": {"torch.log10_": _written("log10_"), "torch.log10": None},
    "log1p": {"torch.log1p_": _written("log1p_"), "torch.log1p": None, "torch.special.log1p": None},
    "sqrt": {"torch.sqrt_": _written("sqrt_"), "torch.sqrt": None},
    "rsqrt": {"torch.rsqrt_": _written("rsqrt_"), "torch.rsqrt": None},
    "square": {"torch.square_": _written("square_"), "torch.square": None, "torch.Tensor.square": lambda x: x.square()},
    "reciprocal": {"torch.reciprocal_": _written("reciprocal_"), "torch.reciprocal": None},
    "negative": {
        "torch.negative_": _written("negative_"),
        "torch.neg_": _written("neg_"),
        "torch.negative": None,
        "torch.neg": None,
    },
    "absolute": {"torch.abs_": _written("abs_"), "torch.abs": None, "torch.absolute": None},
    "sign": {"torch.sign": None},
    "sin": {"torch.sin_": _written("sin_"), "torch.sin": None},
    "cos": {"torch.cos_": _written("cos_"), "torch.cos": None},
    "tan": {"torch.tan_": _written("tan_"), "torch.tan": None},
    "asin": {"torch.arcsin_": _written("arcsin_"), "torch.asin_": _written("asin_"), "torch.asin": None, "torch.arcsin": None},
    "acos": {"torch.arccos_": _written("arccos_"), "torch.acos_": _written("acos_"), "torch.acos": None, "torch.arccos": None},
    "atan": {"torch.arctan_": _written("arctan_"), "torch.atan_": _written("atan_"), "torch.atan": None, "torch.arctan": None},
    "sinh": {"torch.sinh_": _written("sinh_"), "torch.sinh": None},
    "cosh": {"torch.cosh_": _written("cosh_"), "torch.cosh": None},
    "tanh": {
        "torch.tanh_": _written("tanh_"),
        "torch.tanh": None,
        "torch.nn.functional.tanh": None,
        "torch.nn.Tanh": lambda x: nn.Tanh()(x),
    },
    "asinh": {
        "torch.arcsinh_": _written("arcsinh_"),
        "torch.asinh_": _written("asinh_"),
        "torch.asinh": None,
        "torch.arcsinh": None,
    },
    "acosh": {
        "torch.arccosh_": _written("arccosh_"),
        "torch.acosh_": _written("acosh_"),
        "torch.acosh": None,
        "torch.arccosh": None,
    },
    "atanh": {
        "torch.arctanh_": _written("arctanh_"),
        "torch.atanh_": _written("atanh_"),
        "torch.atanh": None,
        "torch.arctanh": None,
    },
    "floor": {"torch.floor_": _written("floor_"), "torch.floor": None},
    "ceil": {"torch.ceil_": _written("ceil_"), "torch.ceil": None},
    "round": {"torch.round_": _written("round_"), "torch.round": None, "torch.special.round": None},
    "trunc": {"torch.fix_": _written("fix_"), "torch.trunc_": _written("trunc_"), "torch.trunc": None, "torch.fix": None},
    "erf": {"torch.erf_": _written("erf_"), "torch.erf": None, "torch.special.erf": None},
    "erfc": {"torch.erfc_": _written("erfc_"), "torch.erfc": None, "torch.special.erfc": None},
    "erfinv": {"torch.erfinv": None, "torch.special.erfinv": None},
    "lgamma": {"torch.lgamma": None, "torch.special.gammaln": None},
    "digamma": {"torch.digamma": None, "torch.special.digamma": None},
    "i0": {"torch.i0_": _written("i0_"), "torch.i0": None, "torch.special.i0": None},
    "i1": {"torch.special.i1": None},
    "i0e": {"torch.special.i0e": None},
    "i1e": {"torch.special.i1e": None},
    "ndtri": {"torch.special.ndtri": None},
    "sinc": {"torch.sinc_": _written("sinc_"), "torch.sinc": None, "torch.special.sinc": None},
    "add": {"torch.add": None},
    "subtract": {"torch.rsub": lambda x, y: torch.rsub(y, x), "torch.sub": None, "torch.subtract": None},
    "multiply": {"torch.mul": None, "torch.multiply": None},
    "divide": {"torch.divide": None, "torch.div": None, "torch.true_divide": None},
    "power": {"torch.pow": None, "torch.float_power": None},
    "atan2": {"torch.atan2": None, "torch.arctan2": None},
    "hypot": {"torch.hypot": None},
    "logaddexp": {"torch.logaddexp": None},
    "xlogy": {"torch.xlogy_": _written("xlogy_"), "torch.xlogy": None, "torch.special.xlogy": None},
    "xlog1py": {"torch.special.xlog1py": None},
    "maximum": {"torch.maximum": None},
    "minimum": {"torch.minimum": None},
    "fmod": {"torch.fmod": None},
    "floor_divide": {"torch.floor_divide": None},
    "fmax": {"torch.fmax": None},
    "fmin": {"torch.fmin": None},
    "add_column": {"torch.add": None},
    "deg2rad": {
        "torch.deg2rad_": _written("deg2rad_"),
        "torch.deg2rad": None,
    },
    "rad2deg": {
        "torch.rad2deg_": _written("rad2deg_"),
        "torch.rad2deg": None,
    },
    "logaddexp2": {
        "torch.logaddexp2": None,
    },
    "fraction": {
        "torch.frac_": _written("frac_"),
        "torch.frac": None,
    },
    "ldexp": {
        "torch.ldexp_": _written("ldexp_"),
        "torch.ldexp": None,
    },
    "nextafter": {
        "torch.nextafter": None,
    },
    "frexp": {
        "torch.frexp": None,
    },
}

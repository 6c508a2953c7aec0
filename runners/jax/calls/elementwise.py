"""JAX: functions of one number, and of two, element by element."""

from __future__ import annotations

import optax
from jax import lax

CALLS = {
    "exp": {"jax.numpy.exp": None, "jax.lax.exp": None},
    "exp2": {"jax.numpy.exp2": None, "jax.lax.exp2": None},
    "expm1": {"jax.numpy.expm1": None, "jax.lax.expm1": None},
    "log": {"jax.numpy.log": None, "jax.lax.log": None},
    "log2": {"jax.numpy.log2": None},
    "log10": {"jax.numpy.log10": None},
    "log1p": {"jax.numpy.log1p": None, "jax.lax.log1p": None},
    "sqrt": {"jax.numpy.sqrt": None, "jax.lax.sqrt": None},
    "rsqrt": {"jax.lax.rsqrt": None},
    "cbrt": {"jax.numpy.cbrt": None, "jax.lax.cbrt": None},
    "square": {"jax.numpy.square": None, "jax.lax.square": None},
    "reciprocal": {"jax.numpy.reciprocal": None, "jax.lax.reciprocal": None},
    "negative": {"jax.numpy.negative": None, "jax.lax.neg": None},
    "absolute": {"jax.numpy.fabs": None, "jax.numpy.abs": None, "jax.lax.abs": None, "jax.numpy.absolute": None},
    "sign": {"jax.numpy.sign": None, "jax.lax.sign": None},
    "sin": {"jax.numpy.sin": None, "jax.lax.sin": None},
    "cos": {"jax.numpy.cos": None, "jax.lax.cos": None},
    "tan": {"jax.numpy.tan": None, "jax.lax.tan": None},
    "asin": {"jax.numpy.asin": None, "jax.lax.asin": None, "jax.numpy.arcsin": None},
    "acos": {"jax.numpy.acos": None, "jax.lax.acos": None, "jax.numpy.arccos": None},
    "atan": {"jax.numpy.atan": None, "jax.lax.atan": None, "jax.numpy.arctan": None},
    "sinh": {"jax.numpy.sinh": None, "jax.lax.sinh": None},
    "cosh": {"jax.numpy.cosh": None, "jax.lax.cosh": None},
    "tanh": {"jax.numpy.tanh": None, "jax.lax.tanh": None},
    "asinh": {"jax.numpy.asinh": None, "jax.lax.asinh": None, "jax.numpy.arcsinh": None},
    "acosh": {"jax.numpy.acosh": None, "jax.lax.acosh": None, "jax.numpy.arccosh": None},
    "atanh": {"jax.numpy.atanh": None, "jax.lax.atanh": None, "jax.numpy.arctanh": None},
    "floor": {"jax.numpy.floor": None, "jax.lax.floor": None},
    "ceil": {"jax.numpy.ceil": None, "jax.lax.ceil": None},
    "round": {
        "jax.numpy.rint": None, "jax.numpy.around": None, "jax.numpy.round": None,
        "jax.lax.round": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    },
    "trunc": {"jax.numpy.trunc": None},
    "erf": {"jax.lax.erf": None, "jax.scipy.special.erf": None},
    "erfc": {"jax.lax.erfc": None, "jax.scipy.special.erfc": None},
    "erfinv": {"jax.scipy.special.erfinv": None, "jax.lax.erf_inv": None},
    "lgamma": {"jax.lax.lgamma": None, "jax.scipy.special.gammaln": None},
    "digamma": {"jax.lax.digamma": None, "jax.scipy.special.digamma": None},
    "i0": {"jax.numpy.i0": None, "jax.scipy.special.i0": None},
    "i1": {"jax.scipy.special.i1": None},
    "i0e": {"jax.scipy.special.i0e": None, "jax.lax.bessel_i0e": None},
    "i1e": {"jax.scipy.special.i1e": None, "jax.lax.bessel_i1e": None},
    "ndtri": {"jax.scipy.special.ndtri": None},
    "sinc": {"jax.numpy.sinc": None},
    "add": {"optax.apply_updates": lambda x, y: optax.apply_updates(x, y), "jax.numpy.add": None, "jax.lax.add": None},
    "subtract": {"jax.numpy.subtract": None, "jax.lax.sub": None},
    "multiply": {"jax.numpy.multiply": None, "jax.lax.mul": None},
    "divide": {"jax.numpy.divide": None, "jax.lax.div": None, "jax.numpy.true_divide": None},
    "power": {"jax.numpy.power": None, "jax.numpy.pow": None, "jax.lax.pow": None, "jax.numpy.float_power": None},
    "atan2": {"jax.numpy.atan2": None, "jax.lax.atan2": None, "jax.numpy.arctan2": None},
    "hypot": {"jax.numpy.hypot": None},
    "logaddexp": {"jax.numpy.logaddexp": None},
    "xlogy": {"jax.scipy.special.xlogy": None},
    "xlog1py": {"jax.scipy.special.xlog1py": None},
    "maximum": {"jax.numpy.maximum": None, "jax.lax.max": None},
    "minimum": {"jax.numpy.minimum": None, "jax.lax.min": None},
    "fmod": {"jax.lax.rem": None, "jax.numpy.fmod": None},
    "floor_divide": {"jax.numpy.floor_divide": None},
    "fmax": {"jax.numpy.fmax": None},
    "fmin": {"jax.numpy.fmin": None},
    "add_column": {"jax.numpy.add": None},
    "deg2rad": {
        "jax.numpy.radians": None,
        "jax.numpy.deg2rad": None,
    },
    "rad2deg": {
        "jax.numpy.degrees": None,
        "jax.numpy.rad2deg": None,
    },
    "logaddexp2": {
        "jax.numpy.logaddexp2": None,
    },
    "spacing": {
        "jax.numpy.spacing": None,
    },
    "ldexp": {
        "jax.numpy.ldexp": None,
    },
    "nextafter": {
        "jax.numpy.nextafter": None,
        "jax.lax.nextafter": None,
    },
    "integer_power": {
        "jax.lax.integer_pow": lambda x, power: lax.integer_pow(x, power),
    },
    "modf": {
        "jax.numpy.modf": None,
    },
    "frexp": {
        "jax.numpy.frexp": None,
    },
    "divmod": {
        "jax.numpy.divmod": None,
    },
    "high_product": {
        "jax.lax.mulhi": None,
    },
    "leading_zeros": {
        "jax.lax.clz": None,
    },
    "logical_right_shift": {
        "jax.lax.shift_right_logical": None,
    },
}

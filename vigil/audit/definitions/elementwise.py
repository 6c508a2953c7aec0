"""Functions of one number, and of two, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from vigil.audit.arguments import Argument, away, drawn, integers, normal, positive, uniform
from vigil.audit.entry import FLAT, Sizes, operator

NUMPY = "https://numpy.org/doc/stable/reference/routines.math.html"
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/math/"
TORCH = "https://docs.pytorch.org/docs/stable/generated/torch."
SCIPY = "https://docs.scipy.org/doc/scipy/reference/special.html"


def _off_whole(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    return random.integers(-5, 5, shape) + random.uniform(0.1, 0.9, shape)


def _some_zeros(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    return np.where(random.random(shape) < 0.3, 0.0, random.standard_normal(shape))


def _one(name: str, function: Any, x: Argument, *, source: str = NUMPY, takes_any: bool = True, **more: Any) -> None:
    """Enter a function of one number that NumPy or SciPy has."""

    def definition(x: np.ndarray) -> np.ndarray:
        return function(x)

    definition.__name__ = name
    operator(x=x, source=source, sizes=FLAT, is_elementwise=True, takes_any=takes_any, **more)(definition)


def _two(name: str, function: Any, x: Argument, y: Argument, *, source: str = NUMPY, takes_any: bool = True, **more: Any) -> None:
    """Enter a function of two numbers that NumPy or SciPy has."""

    def definition(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return function(x, y)

    definition.__name__ = name
    operator(x=x, y=y, source=source, sizes=FLAT, is_elementwise=True, takes_any=takes_any, **more)(definition)


_one("exp", np.exp, uniform(-10, 10, "n"))
_one("exp2", np.exp2, uniform(-12, 12, "n"))
_one("expm1", np.expm1, uniform(-5, 5, "n"))
_one("log", np.log, positive("n"))
_one("log2", np.log2, positive("n"))
_one("log10", np.log10, positive("n"))
_one("log1p", np.log1p, uniform(-0.9, 5, "n"))
_one("sqrt", np.sqrt, positive("n"))
_one("rsqrt", lambda x: 1.0 / np.sqrt(x), positive("n"), takes_any=False)
_one("cbrt", np.cbrt, positive("n"), takes_any=False)
_one("square", np.square, normal("n"))
_one("reciprocal", np.reciprocal, positive("n"))
_one("negative", np.negative, normal("n"))
_one("absolute", np.abs, away("n"))
_one("sign", np.sign, away("n"))
_one("sin", np.sin, uniform(-6, 6, "n"))
_one("cos", np.cos, uniform(-6, 6, "n"))
_one("tan", np.tan, uniform(-1.4, 1.4, "n"))
_one("asin", np.arcsin, uniform(-0.95, 0.95, "n"))
_one("acos", np.arccos, uniform(-0.95, 0.95, "n"))
_one("atan", np.arctan, normal("n", scale=3.0))
_one("sinh", np.sinh, uniform(-5, 5, "n"))
_one("cosh", np.cosh, uniform(-5, 5, "n"))
_one("tanh", np.tanh, normal("n", scale=2.0))
_one("asinh", np.arcsinh, normal("n", scale=3.0), takes_any=False)
_one("acosh", np.arccosh, uniform(1.1, 5, "n"), takes_any=False)
_one("atanh", np.arctanh, uniform(-0.9, 0.9, "n"), takes_any=False)
_one("floor", np.floor, uniform(-5, 5, "n"))
_one("ceil", np.ceil, uniform(-5, 5, "n"))
_one("round", np.round, uniform(-5, 5, "n"))
_one("trunc", np.trunc, uniform(-5, 5, "n"))
_one("erf", scipy.special.erf, normal("n"), source=SCIPY)
_one("erfc", scipy.special.erfc, normal("n"), source=SCIPY)
_one("erfinv", scipy.special.erfinv, uniform(-0.95, 0.95, "n"), source=SCIPY, takes_any=False)
_one("lgamma", scipy.special.gammaln, positive("n"), source=SCIPY, takes_any=False)
_one("digamma", scipy.special.digamma, positive("n"), source=SCIPY, takes_any=False)
_one("i0", scipy.special.i0, normal("n", scale=2.0), source=SCIPY, takes_any=False)
_one("i1", scipy.special.i1, normal("n", scale=2.0), source=SCIPY, takes_any=False)
_one("i0e", scipy.special.i0e, away("n", scale=2.0), source=SCIPY, takes_any=False)
_one("i1e", scipy.special.i1e, away("n", scale=2.0), source=SCIPY, takes_any=False)
_one("ndtri", scipy.special.ndtri, uniform(0.05, 0.95, "n"), source=SCIPY, takes_any=False)
_one("sinc", np.sinc, away("n"), source="https://numpy.org/doc/stable/reference/generated/numpy.sinc.html", takes_any=False)

_two("add", np.add, normal("n"), normal("n"))
_two("subtract", np.subtract, normal("n"), normal("n"))
_two("multiply", np.multiply, normal("n"), normal("n"))
_two("divide", np.divide, normal("n"), positive("n"))
_two("power", np.power, positive("n"), uniform(-2, 2, "n"), takes_any=False)
_two("atan2", np.arctan2, normal("n"), away("n"), takes_any=False)
_two("hypot", np.hypot, away("n"), away("n"), takes_any=False)
_two("logaddexp", np.logaddexp, normal("n", scale=3.0), normal("n", scale=3.0), takes_any=False)
_two("xlogy", scipy.special.xlogy, positive("n"), positive("n"), source=SCIPY, takes_any=False)
_two("xlog1py", scipy.special.xlog1py, positive("n"), positive("n"), source=SCIPY, takes_any=False)


_two("maximum", np.maximum, uniform(-2.0, -0.1, "n"), uniform(-1.9, 2.0, "n"))
_two("minimum", np.minimum, uniform(-2.0, -0.1, "n"), uniform(-1.9, 2.0, "n"))
_two("fmax", np.fmax, uniform(-2.0, -0.1, "n"), uniform(-1.9, 2.0, "n"))
_two("fmin", np.fmin, uniform(-2.0, -0.1, "n"), uniform(-1.9, 2.0, "n"))
_two("fmod", np.fmod, uniform(-3.9, -3.1, "n"), uniform(1.1, 1.5, "n"), takes_any=False, precisions=("fp32", "fp64"))
_two(
    "floor_divide",
    np.floor_divide,
    uniform(-3.9, -3.1, "n").fixed(),
    uniform(1.1, 1.5, "n").fixed(),
    takes_any=False,
    precisions=("fp32", "fp64"),
)

_one("deg2rad", np.deg2rad, uniform(-400, 400, "n"))
_one("rad2deg", np.rad2deg, uniform(-4, 4, "n"))
_one("fraction", lambda x: x - np.trunc(x), drawn(_off_whole, "n"), source=TORCH + "frac.html", takes_any=False)
_one("spacing", np.spacing, positive("n").fixed(), takes_any=False, precisions=("fp64",))
_two("logaddexp2", np.logaddexp2, normal("n", scale=3.0), normal("n", scale=3.0), takes_any=False)
_two("squared_difference", lambda x, y: (x - y) ** 2, normal("n"), normal("n"), source=TENSORFLOW + "squared_difference")
_two(
    "ldexp",
    lambda x, y: x * np.exp2(y),
    normal("n"),
    integers(-5, 6, "n"),
    takes_any=False,
    source="https://numpy.org/doc/stable/reference/generated/numpy.ldexp.html",
)
_two(
    "divide_no_nan",
    lambda x, y: np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y)),
    normal("n"),
    drawn(_some_zeros, "n", is_differentiated=False),
    takes_any=False,
    source=TENSORFLOW + "divide_no_nan",
)
_two(
    "multiply_no_nan",
    lambda x, y: np.where(y == 0, 0.0, x * y),
    normal("n"),
    drawn(_some_zeros, "n", is_differentiated=False),
    takes_any=False,
    source=TENSORFLOW + "multiply_no_nan",
)
_one(
    "reciprocal_no_nan",
    lambda x: np.where(x == 0, 0.0, 1.0 / np.where(x == 0, 1.0, x)),
    drawn(_some_zeros, "n", is_differentiated=False),
    takes_any=False,
    source=TENSORFLOW + "reciprocal_no_nan",
)
_two(
    "xdivy",
    lambda x, y: np.where(x == 0, 0.0, x / y),
    drawn(_some_zeros, "n", is_differentiated=False),
    positive("n"),
    takes_any=False,
    source=TENSORFLOW + "xdivy",
)
_two(
    "nextafter", lambda x, y: np.nextafter(x, y), normal("n").fixed(), normal("n").fixed(), takes_any=False, precisions=("fp64",)
)


@operator(
    x=away("n"),
    source="https://docs.jax.dev/en/latest/_autosummary/jax.lax.integer_pow.html",
    sizes=FLAT[:4],
    parameters=[{"power": power} for power in (3, 2, 5, -1, -2)],
    is_elementwise=True,
    precisions=("fp32", "fp64"),
)
def integer_power(x: np.ndarray, power: int) -> np.ndarray:
    """Return x times itself, or its reciprocal, so many times."""
    return x**power


@operator(x=drawn(_off_whole, "n"), source="https://numpy.org/doc/stable/reference/generated/numpy.modf.html", sizes=FLAT[:4])
def modf(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what is behind the point, and what is before it, each with the sign of x."""
    return x - np.trunc(x), np.trunc(x)


@operator(x=away("n").fixed(), source="https://numpy.org/doc/stable/reference/generated/numpy.frexp.html", sizes=FLAT[:4])
def frexp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a mantissa from 1/2 to below 1, and an exponent of 2."""
    mantissa, exponent = np.frexp(x)
    return mantissa, exponent.astype(np.int64)


@operator(
    x=uniform(-3.9, -3.1, "n").fixed(),
    y=uniform(1.1, 1.5, "n").fixed(),
    sizes=FLAT[:4],
    precisions=("fp32", "fp64"),
    source="https://numpy.org/doc/stable/reference/generated/numpy.divmod.html",
)
def divmod_(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quotients rounded down, and what they leave."""
    return np.floor(x / y), x - np.floor(x / y) * y


@operator(
    x=integers(-(2**30), 2**30, "n"),
    y=integers(-(2**30), 2**30, "n"),
    sizes=FLAT[:4],
    precisions=("fp32",),
    source="https://docs.jax.dev/en/latest/_autosummary/jax.lax.mulhi.html",
)
def high_product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the upper 32 bits of the product of whole numbers of 32 bits."""
    return (x * y) >> 32


@operator(
    x=integers(0, 2**30, "n"),
    sizes=FLAT[:4],
    precisions=("fp32",),
    source="https://docs.jax.dev/en/latest/_autosummary/jax.lax.clz.html",
)
def leading_zeros(x: np.ndarray) -> np.ndarray:
    """Return how many of 32 bits are zero before the first that is not."""
    return 32 - np.ceil(np.log2(x + 1.0)).astype(np.int64)


@operator(
    x=integers(-(2**30), 2**30, "n"),
    y=integers(0, 9, "n"),
    sizes=FLAT[:4],
    precisions=("fp32",),
    source="https://docs.jax.dev/en/latest/_autosummary/jax.lax.shift_right_logical.html",
)
def logical_right_shift(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 32 bits moved to the right, with zeros behind them."""
    found = (x % 2**32) >> y
    return np.where(found < 2**31, found, found - 2**32)


@operator(x=normal("n", "n"), y=normal("n", 1), source=NUMPY, sizes=({"n": 3}, {"n": 7}, {"n": 33}))
def add_column(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a square matrix plus a column: an axis of one goes along the others, whatever the sizes."""
    return x + y

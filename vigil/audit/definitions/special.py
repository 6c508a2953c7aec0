"""Special functions, as SciPy has them: of Bessel, Airy and Fresnel, gamma, beta and zeta, integrals, and orthogonal polynomials.

Of some, a framework has values and no derivative. Such a function is two entries: its values alone, and with its gradient.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from vigil.audit.arguments import Argument, drawn, normal, positive, uniform
from vigil.audit.entry import Sizes, operator

SCIPY = "https://docs.scipy.org/doc/scipy/reference/generated/scipy.special."
TORCH = "https://docs.pytorch.org/docs/stable/special.html#torch.special."
JAX = "https://docs.jax.dev/en/latest/_autosummary/jax.lax."
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/math/"
SIZES: tuple[Sizes, ...] = tuple({"n": size} for size in (7, 1, 33, 1027, 4099))
WIDE = ("fp32", "fp64")
_ORDER_8 = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}  # weights of central differences


def _function(
    name: str,
    function: Callable[..., Any],
    *arguments: Argument,
    source: str = "",
    parameters: tuple[dict[str, Any], ...] = ({},),
    has_gradient: bool = False,
    **more: Any,
) -> None:
    """Enter a function of numbers x, y, z, v. has_gradient: its values, and under the name with `_gradient` its gradient too."""
    named = dict(zip("xyzv", arguments, strict=False))
    keys = list(parameters[0])

    def enter(name: str, named: dict[str, Argument]) -> None:
        def definition(**given: Any) -> Any:
            return function(*[given[each] for each in (*keys, *named)])

        definition.__name__ = name
        definition.__signature__ = _signature([*named, *keys])
        given: dict[str, Any] = {"sizes": SIZES, "is_elementwise": True, "parameters": parameters, **more, **named}
        operator(source=source or f"{SCIPY}{name}.html", **given)(definition)

    enter(name, {each: argument.fixed() for each, argument in named.items()} if has_gradient else named)
    if has_gradient:
        source = source or f"{SCIPY}{name}.html"
        enter(f"{name}_gradient", named)


def _signature(names: list[str]) -> Any:
    return inspect.Signature([inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in names])


special = scipy.special
_function("ndtr", special.ndtr, normal("n", scale=1.5))
_function("log_ndtr", special.log_ndtr, uniform(-8, 5, "n"))
_function("erfcx", special.erfcx, uniform(-2, 6, "n"))
_function("entr", special.entr, positive("n"))
_function("rel_entr", special.rel_entr, positive("n"), positive("n"))
# Apart: where they are nearly equal, the documented difference is what rounding leaves.
_function(
    "kl_div_of_numbers", special.kl_div, uniform(0.1, 0.8, "n"), uniform(1.2, 4, "n"),
    source=SCIPY + "kl_div.html", takes_equal=False,
)  # fmt: skip
_function("erfcinv", special.erfcinv, uniform(0.05, 1.95, "n"))
_function("boxcox", special.boxcox, positive("n"), uniform(-2, 2, "n"))
_function("boxcox1p", special.boxcox1p, uniform(-0.7, 3, "n"), uniform(-2, 2, "n"))

# Of Bessel and Airy. Numbers keep away from 0, where some of them are not finite.
_function("bessel_j0", special.j0, uniform(-9, 9, "n"), source=SCIPY + "j0.html", has_gradient=True, precisions=WIDE)
_function("bessel_j1", special.j1, uniform(-9, 9, "n"), source=SCIPY + "j1.html", has_gradient=True, precisions=WIDE)
_function("bessel_y0", special.y0, uniform(0.3, 9, "n"), source=SCIPY + "y0.html", has_gradient=True, precisions=WIDE)
_function("bessel_y1", special.y1, uniform(0.3, 9, "n"), source=SCIPY + "y1.html", has_gradient=True, precisions=WIDE)
_function("bessel_i0", special.i0, normal("n", scale=3.0).fixed(), source=SCIPY + "i0.html", precisions=WIDE)
_function("bessel_i1", special.i1, normal("n", scale=3.0).fixed(), source=SCIPY + "i1.html", precisions=WIDE)
_function("bessel_k0", special.k0, uniform(0.2, 9, "n"), source=SCIPY + "k0.html", has_gradient=True, precisions=WIDE)
_function("bessel_k1", special.k1, uniform(0.2, 9, "n"), source=SCIPY + "k1.html", has_gradient=True, precisions=WIDE)
_function("bessel_k0e", special.k0e, uniform(0.2, 90, "n"), source=SCIPY + "k0e.html", has_gradient=True, precisions=WIDE)
_function("bessel_k1e", special.k1e, uniform(0.2, 90, "n"), source=SCIPY + "k1e.html", has_gradient=True, precisions=WIDE)
_function("airy_ai", lambda x: special.airy(x)[0], uniform(-6, 4, "n").fixed(), source=SCIPY + "airy.html", precisions=WIDE)
_function(
    "spherical_bessel_j0",
    lambda x: special.spherical_jn(0, x),
    uniform(0.05, 9, "n").fixed(),
    source=SCIPY + "spherical_jn.html",
    precisions=WIDE,
)

# Gamma, beta and zeta.
_function("gamma", special.gamma, uniform(0.3, 6, "n"))


def _between_whole(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    """Return numbers from -5 to 5, none of them near a whole one, at which the gamma function may have a pole."""
    return random.integers(-5, 5, shape) + random.uniform(0.1, 0.9, shape)


_function("gamma_of_any", special.gamma, drawn(_between_whole, "n"), source=SCIPY + "gamma.html", precisions=WIDE)
_function("gammaln_of_any", special.gammaln, drawn(_between_whole, "n"), source=SCIPY + "gammaln.html", precisions=WIDE)
_function("digamma_of_any", special.digamma, drawn(_between_whole, "n"), source=SCIPY + "digamma.html", precisions=WIDE)
_function("gammasgn", special.gammasgn, drawn(_between_whole, "n", is_differentiated=False))
_function("factorial", lambda x: special.gamma(x + 1.0), uniform(0.1, 6, "n"))
_function("poch", special.poch, uniform(0.5, 5, "n"), uniform(0.2, 3, "n"), takes_equal=False)
_function("comb", special.binom, uniform(5, 9, "n").fixed(), uniform(0.5, 4.5, "n").fixed(), precisions=WIDE)
# With a shape of 0 they are limits, which libraries settle each in its own way.
_OF_SHAPES: dict[str, Any] = {"precisions": WIDE, "takes_equal": False}
_function("gammainc", special.gammainc, uniform(0.3, 12, "n").fixed(), uniform(0.1, 15, "n"), **_OF_SHAPES)
_function("gammaincc", special.gammaincc, uniform(0.3, 12, "n").fixed(), uniform(0.1, 15, "n"), **_OF_SHAPES)
_SHAPES = (uniform(0.3, 12, "n"), uniform(0.1, 15, "n").fixed())
_function("gammainc_by_shape", special.gammainc, *_SHAPES, source=SCIPY + "gammainc.html", **_OF_SHAPES)
_function("gammaincc_by_shape", special.gammaincc, *_SHAPES, source=SCIPY + "gammaincc.html", **_OF_SHAPES)


def _by_shape(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the derivative of the regularized incomplete gamma function by its shape."""
    step = 2.0**-6
    pairs = ((weight, special.gammainc(x + at * step, y) - special.gammainc(x - at * step, y)) for at, weight in _ORDER_8.items())
    return np.asarray(sum(weight * each for weight, each in pairs) / step)


def _sample_by_shape(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the derivative of a sample of the gamma distribution by its shape (https://arxiv.org/abs/1805.08498, eq. 3)."""
    return -_by_shape(x, y) / np.exp((x - 1.0) * np.log(y) - y - special.gammaln(x))


_NEAR = (uniform(1.5, 12, "n").fixed(), uniform(0.5, 15, "n").fixed())
_function("gammainc_shape_derivative", _by_shape, *_NEAR, source=JAX + "igamma_grad_a.html", precisions=WIDE)


@operator(
    x=uniform(1.5, 12, "n").fixed(),
    share=uniform(-1, 1.5, "n").fixed(),
    sizes=SIZES,
    source=JAX + "random_gamma_grad.html",
    precisions=WIDE,
)
def gamma_sample_derivative(x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return how a sample of the gamma distribution moves with its shape x; share: how many deviations it is from the mean."""
    return _sample_by_shape(x, x + share * np.sqrt(x))


_function(
    "betainc", special.betainc, uniform(0.5, 5, "n").fixed(), uniform(0.5, 5, "n").fixed(), uniform(0.05, 0.95, "n"),
    **_OF_SHAPES,
)  # fmt: skip
_function("beta", special.beta, uniform(0.5, 5, "n"), uniform(0.5, 5, "n"))
_function("betaln", special.betaln, uniform(0.5, 5, "n"), uniform(0.5, 5, "n"))
_function("zeta", special.zeta, uniform(1.2, 6, "n").fixed(), uniform(0.5, 5, "n"), has_gradient=True)
_function("polygamma", special.polygamma, uniform(0.5, 6, "n"), parameters=tuple({"order": order} for order in (1, 2, 3, 4, 0)))
_function(
    "multigammaln",
    lambda order, x: order * (order - 1) / 4 * np.log(np.pi) + sum(special.gammaln(x - at / 2) for at in range(order)),
    uniform(3, 10, "n"),
    parameters=tuple({"order": order} for order in (1, 2, 3, 5)),
)


@operator(
    x=positive("m", "n"),
    source=TENSORFLOW + "lbeta",
    sizes=({"m": 3, "n": 4}, {"m": 2, "n": 1}, {"m": 5, "n": 33}, {"m": 2, "n": 1027}),
    precisions=WIDE,
)
def log_beta_of_rows(x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the multivariate beta function of each row."""
    return np.sum(special.gammaln(x), -1) - special.gammaln(np.sum(x, -1))


@operator(like=normal(1).fixed(), sizes=({},), source=SCIPY + "bernoulli.html", precisions=WIDE)
def bernoulli_numbers(like: np.ndarray) -> np.ndarray:
    """Return the first eleven numbers of Bernoulli, beginning with 1 and -1/2."""
    return special.bernoulli(10)


# Integrals.
_function("expi", special.expi, uniform(0.6, 5, "n"))
_function("exp1", special.exp1, uniform(0.1, 5, "n"))
_function("expn", special.expn, uniform(0.1, 5, "n"), parameters=tuple({"order": order} for order in (1, 2, 5, 0)))
_function("dawsn", special.dawsn, uniform(-4, 4, "n"))
_function("fresnel_sin", lambda x: special.fresnel(x)[0], uniform(-4, 4, "n"), source=SCIPY + "fresnel.html")
_function("fresnel_cos", lambda x: special.fresnel(x)[1], uniform(-4, 4, "n"), source=SCIPY + "fresnel.html")
_function("sine_integral", lambda x: special.sici(x)[0], uniform(0.1, 12, "n"), source=SCIPY + "sici.html", precisions=WIDE)
_function("cosine_integral", lambda x: special.sici(x)[1], uniform(0.1, 12, "n"), source=SCIPY + "sici.html", precisions=WIDE)
_function("spence", special.spence, uniform(0.1, 4, "n"))
_function("owens_t", special.owens_t, normal("n"), normal("n"), precisions=WIDE)
_function(
    "faddeeva", lambda x, y: _parts(special.wofz(x + 1j * y)), normal("n").fixed(), uniform(0.1, 3, "n").fixed(),
    source=SCIPY + "wofz.html", precisions=WIDE, is_elementwise=False,
)  # fmt: skip
_function(
    "hyp1f1", special.hyp1f1, uniform(0.5, 3, "n").fixed(), uniform(1, 4, "n").fixed(), uniform(-4, 4, "n"), precisions=WIDE
)
_function(
    "hyp2f1", special.hyp2f1, uniform(0.5, 2, "n").fixed(), uniform(0.5, 2, "n").fixed(), uniform(2, 4, "n").fixed(),
    uniform(-0.6, 0.8, "n"), **_OF_SHAPES,
)  # fmt: skip


def _parts(value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.real(value), np.imag(value)


@operator(
    x=uniform(0.1, 3.0, "n").fixed(),
    y=uniform(-3.0, 3.0, "n").fixed(),
    sizes=({"n": 5}, {"n": 33}),
    parameters=[{"degree": degree, "order": order} for degree, order in ((0, 0), (1, 0), (2, 1), (5, 3), (7, 7))],
    source=SCIPY + "sph_harm_y.html",
    precisions=WIDE,
)
def spherical_harmonic(x: np.ndarray, y: np.ndarray, degree: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return real and imaginary part of a spherical harmonic at a polar angle x and an azimuth y."""
    return _parts(special.sph_harm_y(degree, order, x, y))


@operator(
    x=uniform(0.5, 9.0, "n").fixed(),
    sizes=({"n": 5}, {"n": 33}),
    parameters=[{"order": 0}, {"order": 3}, {"order": 6}],
    source="https://docs.jax.dev/en/latest/_autosummary/jax.scipy.special.bessel_jn.html",
    precisions=WIDE,
)
def bessel_of_orders(x: np.ndarray, order: int) -> np.ndarray:
    """Return the Bessel functions of the first kind of orders from 0 on."""
    return np.stack([special.jv(each, x) for each in range(order + 1)])


# Polynomials, with few and with many zeros.
_DEGREES = tuple({"degree": degree} for degree in (3, 0, 1, 2, 6, 11, 30))
_WITHIN, _UNIT, _AROUND = (uniform(-0.95, 0.95, "n").fixed(), uniform(0.05, 0.95, "n").fixed(), uniform(-2, 2, "n").fixed())


def _third(degree: int, x: np.ndarray) -> np.ndarray:
    """Return the Chebyshev polynomial of the third kind, https://dlmf.nist.gov/18.5.E3."""
    angle = np.arccos(x)
    return np.cos((degree + 0.5) * angle) / np.cos(angle / 2)


def _fourth(degree: int, x: np.ndarray) -> np.ndarray:
    """Return the Chebyshev polynomial of the fourth kind, https://dlmf.nist.gov/18.5.E4."""
    angle = np.arccos(x)
    return np.sin((degree + 0.5) * angle) / np.sin(angle / 2)


def _shifted(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda degree, x: function(degree, 2.0 * x - 1.0)


for _letter, _polynomial in (("t", special.eval_chebyt), ("u", special.eval_chebyu), ("v", _third), ("w", _fourth)):
    _name = f"chebyshev_polynomial_{_letter}"
    _function(_name, _polynomial, _WITHIN, source=TORCH + _name, parameters=_DEGREES, precisions=WIDE)
    _name = f"shifted_{_name}"
    _function(_name, _shifted(_polynomial), _UNIT, source=TORCH + _name, parameters=_DEGREES, precisions=WIDE)
for _name, _polynomial, _argument in (
    ("hermite_polynomial_h", special.eval_hermite, _AROUND),
    ("hermite_polynomial_he", special.eval_hermitenorm, _AROUND),
    ("laguerre_polynomial_l", special.eval_laguerre, uniform(0, 5, "n").fixed()),
    ("legendre_polynomial_p", special.eval_legendre, _WITHIN),
):
    _function(_name, _polynomial, _argument, source=TORCH + _name, parameters=_DEGREES[:-1], precisions=WIDE)

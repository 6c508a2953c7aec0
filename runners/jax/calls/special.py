"""JAX: special functions. A complex argument or result is two: real part and imaginary part."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.scipy.special as special
from jax import lax


def _parts(value: Any) -> Any:
    return jnp.real(value), jnp.imag(value)


def _spherical(x: Any, y: Any, degree: int, order: int) -> Any:
    return _parts(special.sph_harm_y(jnp.full(x.shape, degree), jnp.full(x.shape, order), x, y, n_max=8))


def _order(function: Any) -> Any:
    return lambda x, order: function(order, x)


CALLS: dict[str, dict[str, Any]] = {
    "ndtr": {"jax.scipy.special.ndtr": None},
    "log_ndtr": {"jax.scipy.special.log_ndtr": None},
    "erfcx": {"jax.scipy.special.erfcx": None},
    "entr": {"jax.scipy.special.entr": None},
    "rel_entr": {"jax.scipy.special.rel_entr": None},
    "kl_div_of_numbers": {"jax.scipy.special.kl_div": None},
    "boxcox": {"jax.scipy.special.boxcox": None},
    "boxcox1p": {"jax.scipy.special.boxcox1p": None},
    "gamma": {"jax.scipy.special.gamma": None},
    "gamma_of_any": {"jax.scipy.special.gamma": None},
    "gammaln_of_any": {"jax.scipy.special.gammaln": None, "jax.lax.lgamma": None},
    "digamma_of_any": {"jax.scipy.special.digamma": None, "jax.lax.digamma": None},
    "gammasgn": {"jax.scipy.special.gammasgn": None},
    "factorial": {"jax.scipy.special.factorial": None},
    "poch": {"jax.scipy.special.poch": None},
    "comb": {"jax.scipy.special.comb": None},
    "gammainc": {"jax.scipy.special.gammainc": None, "jax.lax.igamma": None},
    "gammaincc": {"jax.scipy.special.gammaincc": None, "jax.lax.igammac": None},
    "gammainc_by_shape": {"jax.scipy.special.gammainc": None, "jax.lax.igamma": None},
    "gammaincc_by_shape": {"jax.scipy.special.gammaincc": None, "jax.lax.igammac": None},
    "gammainc_shape_derivative": {"jax.lax.igamma_grad_a": None},
    "gamma_sample_derivative": {
        "jax.lax.random_gamma_grad": lambda x, share: lax.random_gamma_grad(x, x + share * jnp.sqrt(x)),
    },
    "betainc": {"jax.scipy.special.betainc": None, "jax.lax.betainc": None},
    "beta": {"jax.scipy.special.beta": None},
    "betaln": {"jax.scipy.special.betaln": None},
    "zeta": {"jax.scipy.special.zeta": None, "jax.lax.zeta": None},
    "zeta_gradient": {"jax.scipy.special.zeta": None},
    "polygamma": {
        "jax.scipy.special.polygamma": _order(special.polygamma),
        "jax.lax.polygamma": lambda x, order: lax.polygamma(jnp.full_like(x, order), x),
    },
    "multigammaln": {"jax.scipy.special.multigammaln": lambda x, order: special.multigammaln(x, order)},
    "bernoulli_numbers": {"jax.scipy.special.bernoulli": lambda like: special.bernoulli(10).astype(like.dtype)},
    "expi": {"jax.scipy.special.expi": None},
    "exp1": {"jax.scipy.special.exp1": None},
    "expn": {"jax.scipy.special.expn": _order(special.expn)},
    "dawsn": {"jax.scipy.special.dawsn": None},
    "fresnel_sin": {"jax.scipy.special.fresnel": lambda x: special.fresnel(x)[0]},
    "fresnel_cos": {"jax.scipy.special.fresnel": lambda x: special.fresnel(x)[1]},
    "sine_integral": {"jax.scipy.special.sici": lambda x: special.sici(x)[0]},
    "cosine_integral": {"jax.scipy.special.sici": lambda x: special.sici(x)[1]},
    "spence": {"jax.scipy.special.spence": None},
    "owens_t": {"jax.scipy.special.owens_t": None},
    "faddeeva": {"jax.scipy.special.wofz": lambda x, y: _parts(special.wofz(lax.complex(x, y)))},
    "hyp1f1": {"jax.scipy.special.hyp1f1": None},
    "hyp2f1": {"jax.scipy.special.hyp2f1": None},
    "spherical_harmonic": {"jax.scipy.special.sph_harm_y": _spherical},
    "bessel_of_orders": {"jax.scipy.special.bessel_jn": lambda x, order: special.bessel_jn(x, v=order)},
}

"""TensorFlow: special functions."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def _polygamma(x: Any, order: int) -> Any:
    return tf.math.polygamma(tf.fill(tf.shape(x), tf.cast(order, x.dtype)), x)


CALLS: dict[str, dict[str, Any]] = {
    "erfcinv": {"tensorflow.math.erfcinv": None},
    "bessel_j0": {"tensorflow.math.special.bessel_j0": None},
    "bessel_j1": {"tensorflow.math.special.bessel_j1": None},
    "bessel_y0": {"tensorflow.math.special.bessel_y0": None},
    "bessel_y1": {"tensorflow.math.special.bessel_y1": None},
    "bessel_i0": {"tensorflow.math.special.bessel_i0": None},
    "bessel_i1": {"tensorflow.math.special.bessel_i1": None},
    "bessel_k0": {"tensorflow.math.special.bessel_k0": None},
    "bessel_k1": {"tensorflow.math.special.bessel_k1": None},
    "bessel_k0e": {"tensorflow.math.special.bessel_k0e": None},
    "bessel_k1e": {"tensorflow.math.special.bessel_k1e": None},
    "bessel_j0_gradient": {"tensorflow.math.special.bessel_j0": None},
    "bessel_j1_gradient": {"tensorflow.math.special.bessel_j1": None},
    "bessel_y0_gradient": {"tensorflow.math.special.bessel_y0": None},
    "bessel_y1_gradient": {"tensorflow.math.special.bessel_y1": None},
    "bessel_k0_gradient": {"tensorflow.math.special.bessel_k0": None},
    "bessel_k1_gradient": {"tensorflow.math.special.bessel_k1": None},
    "bessel_k0e_gradient": {"tensorflow.math.special.bessel_k0e": None},
    "bessel_k1e_gradient": {"tensorflow.math.special.bessel_k1e": None},
    "gammaln_of_any": {"tensorflow.math.lgamma": None},
    "digamma_of_any": {"tensorflow.math.digamma": None},
    "gammainc": {"tensorflow.math.igamma": None},
    "gammaincc": {"tensorflow.math.igammac": None},
    "gammainc_by_shape": {"tensorflow.math.igamma": None},
    "gammaincc_by_shape": {"tensorflow.math.igammac": None},
    "betainc": {"tensorflow.math.betainc": None},
    "zeta": {"tensorflow.math.zeta": None},
    "zeta_gradient": {"tensorflow.math.zeta": None},
    "polygamma": {"tensorflow.math.polygamma": _polygamma},
    "log_beta_of_rows": {"tensorflow.math.lbeta": None},
    "expi": {"tensorflow.math.special.expint": None},
    "dawsn": {"tensorflow.math.special.dawsn": None},
    "fresnel_sin": {"tensorflow.math.special.fresnel_sin": None},
    "fresnel_cos": {"tensorflow.math.special.fresnel_cos": None},
    "spence": {"tensorflow.math.special.spence": None},
}

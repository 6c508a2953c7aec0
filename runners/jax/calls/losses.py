"""JAX: losses of optax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import optax

from runners.contract.errors import Unsupported

Call = Callable[..., Any]


def _only(chosen: bool, call: Callable[[], Any]) -> Any:
    """Return what a call gives where a form is one that optax has."""
    if not chosen:
        raise Unsupported("a function without a reduction, or another parameter that optax has not")
    return call()


def _padding(count: int, lengths: Any, kind: Any) -> Any:
    return (jnp.arange(count) >= lengths[:, None]).astype(kind)


def _ctc(x: Any, y: Any, times: Any, lengths: Any, blank: int) -> Any:
    logits = jnp.transpose(x, (1, 0, 2))
    return optax.ctc_loss(logits, _padding(x.shape[0], times, x.dtype), y, _padding(y.shape[1], lengths, x.dtype), blank_id=blank)


def _fenchel_young(x: Any, y: Any) -> Any:
    """Return the loss of logsumexp, which is the cross entropy of logits where targets have no entropy."""
    return optax.losses.make_fenchel_young_loss(jax.scipy.special.logsumexp)(x, jax.nn.one_hot(y, x.shape[-1], dtype=x.dtype))


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "mse_loss": {
        "optax.losses.squared_error": lambda x, y, reduction: _only(reduction == "none", lambda: optax.squared_error(x, y))
    },
    "half_squared_error": {"optax.losses.l2_loss": lambda x, y: optax.l2_loss(x, y)},
    "huber_loss": {
        "optax.losses.huber_loss": lambda x, y, reduction, delta: _only(
            reduction == "none", lambda: optax.huber_loss(x, y, delta=delta)
        )
    },
    "log_cosh_error": {"optax.losses.log_cosh": lambda x, y: optax.log_cosh(x, y)},
    "binary_cross_entropy_with_logits": {
        "optax.losses.sigmoid_binary_cross_entropy": lambda x, y, reduction: _only(
            reduction == "none", lambda: optax.sigmoid_binary_cross_entropy(x, y)
        )
    },
    "sigmoid_focal_loss": {
        "optax.losses.sigmoid_focal_loss": lambda x, y, alpha, gamma: optax.sigmoid_focal_loss(x, y, alpha=alpha, gamma=gamma)
    },
    "hinge_loss": {"optax.losses.hinge_loss": lambda x, y: optax.hinge_loss(x, y)},
    "perceptron_loss": {"optax.losses.perceptron_loss": lambda x, y: optax.losses.perceptron_loss(x, y)},
    "sparsemax_loss": {"optax.losses.sparsemax_loss": lambda x, y: optax.losses.sparsemax_loss(x, y)},
    "softmax_cross_entropy": {
        "optax.losses.softmax_cross_entropy": lambda x, y, axis: optax.softmax_cross_entropy(x, y, axis=axis),
        "optax.losses.safe_softmax_cross_entropy": lambda x, y, axis: optax.safe_softmax_cross_entropy(x, y),
    },
    "softmax_cross_entropy_of_columns": {
        "optax.losses.softmax_cross_entropy (columns)": lambda x, y, axis: optax.softmax_cross_entropy(x, y, axis=axis)
    },
    "masked_softmax_cross_entropy": {
        "optax.losses.softmax_cross_entropy (mask)": lambda x, y, where: optax.softmax_cross_entropy(x, y, where=where)
    },
    "sparse_softmax_cross_entropy": {
        "optax.losses.softmax_cross_entropy_with_integer_labels": lambda x, y: optax.softmax_cross_entropy_with_integer_labels(
            x, y
        ),
        "optax.losses.softmax_cross_entropy_with_integer_labels (axis)": lambda x, y: (
            optax.softmax_cross_entropy_with_integer_labels(x.T, y, axis=0)
        ),
        "optax.losses.make_fenchel_young_loss": _fenchel_young,
    },
    "poly_loss": {
        "optax.losses.poly_loss_cross_entropy": lambda x, y, epsilon: optax.losses.poly_loss_cross_entropy(x, y, epsilon=epsilon)
    },
    "smooth_labels": {"optax.losses.smooth_labels": lambda x, alpha: optax.smooth_labels(x, alpha)},
    "multiclass_hinge_loss": {"optax.losses.multiclass_hinge_loss": lambda x, y: optax.losses.multiclass_hinge_loss(x, y)},
    "multiclass_perceptron_loss": {
        "optax.losses.multiclass_perceptron_loss": lambda x, y: optax.losses.multiclass_perceptron_loss(x, y)
    },
    "multiclass_sparsemax_loss": {
        "optax.losses.multiclass_sparsemax_loss": lambda x, y: optax.losses.multiclass_sparsemax_loss(x, y)
    },
    "kl_divergence": {"optax.losses.kl_divergence": lambda x, y: optax.kl_divergence(x, y)},
    "masked_kl_divergence": {"optax.losses.kl_divergence (mask)": lambda x, y, where: optax.kl_divergence(x, y, where=where)},
    "kl_divergence_of_logs": {
        "optax.losses.kl_divergence_with_log_targets": lambda x, y: optax.losses.kl_divergence_with_log_targets(x, y)
    },
    "generalized_kl_divergence": {
        "optax.losses.generalized_kl_divergence": lambda x, y: optax.losses.generalized_kl_divergence(x, y),
        "optax.losses.convex_kl_divergence": lambda x, y: optax.losses.convex_kl_divergence(x, y),
    },
    "cosine_similarity_of_rows": {"optax.losses.cosine_similarity": lambda x, y: optax.cosine_similarity(x, y)},
    "cosine_distance": {"optax.losses.cosine_distance": lambda x, y: optax.cosine_distance(x, y)},
    "triplet_margin_loss_of_rows": {
        "optax.losses.triplet_margin_loss": lambda x, y, z, p, margin, eps: optax.losses.triplet_margin_loss(
            x, y, z, norm_degree=p, margin=margin, eps=eps
        )
    },
    "ntxent": {"optax.losses.ntxent": lambda x, y, temperature: optax.losses.ntxent(x, y, temperature)},
    "ranking_softmax_loss": {
        "optax.losses.ranking_softmax_loss": lambda x, y, where, weights: optax.losses.ranking_softmax_loss(
            x, y, where=where, weights=weights
        )
    },
    "dice_loss": {"optax.losses.dice_loss": lambda x, y, **rest: optax.losses.dice_loss(x, y, **rest)},
    "ctc_loss": {
        "optax.losses.ctc_loss": lambda x, y, times, lengths, reduction: _only(
            reduction == "none", lambda: _ctc(x, y, times, lengths, 0)
        )
    },
    "ctc_loss_with_last_blank": {
        "optax.losses.ctc_loss (blank)": lambda x, y, times, lengths: _ctc(x, y, times, lengths, x.shape[-1] - 1)
    },
}

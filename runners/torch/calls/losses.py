"""PyTorch: losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

Call = Callable[..., Any]


def _pair(function: str, module: str, **more: Any) -> dict[str, Call]:
    """Return a loss of x and y as a function and as a module, whose parameters have the same names."""
    return {
        f"torch.nn.functional.{function}": lambda x, y, **rest: getattr(F, function)(x, y, **rest, **more),
        f"torch.nn.{module}": lambda x, y, **rest: getattr(nn, module)(**rest, **more)(x, y),
    }


def _triple(function: str, module: str) -> dict[str, Call]:
    """Return a loss of three tensors as a function and as a module."""
    return {
        f"torch.nn.functional.{function}": lambda x, z, y, **rest: getattr(F, function)(x, z, y, **rest),
        f"torch.nn.{module}": lambda x, z, y, **rest: getattr(nn, module)(**rest)(x, z, y),
    }


def _absolute(x: Any, y: Any) -> Any:
    return (x - y).abs().mean(-1)


def _labels(y: Any, ignore_index: int) -> Any:
    return torch.where(y == -100, ignore_index, y)


_CROSS_ENTROPY: Mapping[str, Call] = {
    "torch.nn.functional.cross_entropy": lambda x, y, ignore_index, **rest: F.cross_entropy(
        x, _labels(y, ignore_index), ignore_index=ignore_index, **rest
    ),
    "torch.nn.CrossEntropyLoss": lambda x, y, ignore_index, **rest: nn.CrossEntropyLoss(ignore_index=ignore_index, **rest)(
        x, _labels(y, ignore_index)
    ),
}


def _linear(x: Any, w: Any, bias: Any, y: Any, weight: Any, reduction: str, label_smoothing: float, **options: Any) -> Any:
    """Return the loss of a linear layer; options: of its parts, which has no smoothing of labels."""
    chosen = nn.LinearCrossEntropyOptions(**options) if options else None
    return F.linear_cross_entropy(
        x, w, y, linear_bias=bias, weight=weight, reduction=reduction, label_smoothing=label_smoothing, options=chosen
    )


def _linear_module(x: Any, w: Any, bias: Any, y: Any, weight: Any, reduction: str, label_smoothing: float) -> Any:
    module = nn.LinearCrossEntropyLoss(
        x.shape[1], w.shape[0], bias=True, weight=weight, reduction=reduction, label_smoothing=label_smoothing, dtype=x.dtype
    )
    return functional_call(module, {"linear.weight": w, "linear.bias": bias}, (x, y))


def _adaptive(x: Any, head: Any, bias: Any, down: Any, tail: Any, below: Any, last: Any, y: Any) -> Any:
    module = nn.AdaptiveLogSoftmaxWithLoss(x.shape[1], 13, [4, 9], div_value=4.0, head_bias=True, dtype=x.dtype)
    weights = {
        "head.weight": head, "head.bias": bias, "tail.0.0.weight": down, "tail.0.1.weight": tail, "tail.1.0.weight": below,
        "tail.1.1.weight": last,
    }  # fmt: skip
    return tuple(functional_call(module, weights, (x, y)))


def _ctc(x: Any, y: Any, times: Any, lengths: Any, reduction: str) -> Any:
    return F.ctc_loss(x.log_softmax(-1), y, times, lengths, reduction=reduction)


def _joined(x: Any, y: Any, times: Any, lengths: Any, reduction: str) -> Any:
    """Return the loss with all labels in one row."""
    joined = torch.cat([row[:length] for row, length in zip(y, lengths, strict=True)])
    return nn.CTCLoss(reduction=reduction)(x.log_softmax(-1), joined, times, lengths)


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "l1_loss": _pair("l1_loss", "L1Loss"),
    "mse_loss": _pair("mse_loss", "MSELoss"),
    "weighted_mse_loss": {
        "torch.nn.functional.mse_loss (weights)": lambda x, y, weight, reduction: F.mse_loss(
            x, y, weight=weight, reduction=reduction
        )
    },
    "weighted_l1_loss": {
        "torch.nn.functional.l1_loss (weights)": lambda x, y, weight, reduction: F.l1_loss(
            x, y, weight=weight, reduction=reduction
        )
    },
    "weighted_huber_loss": {
        "torch.nn.functional.huber_loss (weights)": lambda x, y, weight, **rest: F.huber_loss(x, y, weight=weight, **rest)
    },
    "smooth_l1_loss": _pair("smooth_l1_loss", "SmoothL1Loss"),
    "huber_loss": _pair("huber_loss", "HuberLoss"),
    "soft_margin_loss": _pair("soft_margin_loss", "SoftMarginLoss"),
    "hinge_embedding_loss": _pair("hinge_embedding_loss", "HingeEmbeddingLoss"),
    "margin_ranking_loss": _triple("margin_ranking_loss", "MarginRankingLoss"),
    "cosine_embedding_loss": _triple("cosine_embedding_loss", "CosineEmbeddingLoss"),
    "poisson_nll_loss": _pair("poisson_nll_loss", "PoissonNLLLoss"),
    "gaussian_nll_loss": {
        "torch.nn.functional.gaussian_nll_loss": lambda x, y, variance, **rest: F.gaussian_nll_loss(x, y, variance, **rest),
        "torch.nn.GaussianNLLLoss": lambda x, y, variance, **rest: nn.GaussianNLLLoss(**rest)(x, y, variance),
    },
    "binary_cross_entropy": _pair("binary_cross_entropy", "BCELoss"),
    "weighted_binary_cross_entropy": _pair("binary_cross_entropy", "BCELoss"),
    "binary_cross_entropy_with_logits": _pair("binary_cross_entropy_with_logits", "BCEWithLogitsLoss"),
    "weighted_binary_cross_entropy_with_logits": _pair("binary_cross_entropy_with_logits", "BCEWithLogitsLoss"),
    "weighted_cross_entropy_with_logits": {
        "torch.nn.functional.binary_cross_entropy_with_logits (one weight)": lambda x, y, pos_weight: (
            F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor(pos_weight, dtype=x.dtype), reduction="none")
        )
    },
    "multilabel_soft_margin_loss": _pair("multilabel_soft_margin_loss", "MultiLabelSoftMarginLoss"),
    "cross_entropy": _CROSS_ENTROPY,
    "cross_entropy_of_dims": _CROSS_ENTROPY,
    "nll_loss": {
        "torch.nn.functional.nll_loss": lambda x, y, ignore_index, **rest: F.nll_loss(
            x, _labels(y, ignore_index), ignore_index=ignore_index, **rest
        ),
        "torch.nn.NLLLoss": lambda x, y, ignore_index, **rest: nn.NLLLoss(ignore_index=ignore_index, **rest)(
            x, _labels(y, ignore_index)
        ),
    },
    "cross_entropy_of_probabilities": _pair("cross_entropy", "CrossEntropyLoss"),
    "cross_entropy_of_probabilities_of_dims": _pair("cross_entropy", "CrossEntropyLoss"),
    "softmax_cross_entropy": {
        "torch.nn.functional.cross_entropy (probabilities)": lambda x, y, axis: F.cross_entropy(
            x.movedim(axis, 1), y.movedim(axis, 1), reduction="none"
        )
    },
    "softmax_cross_entropy_of_columns": {
        "torch.nn.functional.cross_entropy (columns)": lambda x, y, axis: F.cross_entropy(
            x.movedim(axis, 1), y.movedim(axis, 1), reduction="none"
        )
    },
    "sparse_softmax_cross_entropy": {
        "torch.nn.functional.cross_entropy (labels alone)": lambda x, y: F.cross_entropy(x, y, reduction="none")
    },
    "multi_margin_loss": _pair("multi_margin_loss", "MultiMarginLoss"),
    "multilabel_margin_loss": _pair("multilabel_margin_loss", "MultiLabelMarginLoss"),
    "kl_div": _pair("kl_div", "KLDivLoss"),
    "kl_div_of_logs": _pair("kl_div", "KLDivLoss", log_target=True),
    "triplet_margin_loss": {
        "torch.nn.functional.triplet_margin_loss": lambda x, y, z, **rest: F.triplet_margin_loss(x, y, z, **rest),
        "torch.nn.TripletMarginLoss": lambda x, y, z, **rest: nn.TripletMarginLoss(**rest)(x, y, z),
    },
    "triplet_margin_of_absolute": {
        "torch.nn.functional.triplet_margin_with_distance_loss": lambda x, y, z, **rest: F.triplet_margin_with_distance_loss(
            x, y, z, distance_function=_absolute, **rest
        ),
        "torch.nn.TripletMarginWithDistanceLoss": lambda x, y, z, **rest: nn.TripletMarginWithDistanceLoss(
            distance_function=_absolute, **rest
        )(x, y, z),
    },
    "ctc_loss": {"torch.nn.functional.ctc_loss": _ctc, "torch.nn.CTCLoss (labels in one row)": _joined},
    "ctc_loss_with_last_blank": {
        "torch.nn.functional.ctc_loss (blank)": lambda x, y, times, lengths: F.ctc_loss(
            x.log_softmax(-1), y, times, lengths, blank=x.shape[-1] - 1, reduction="none"
        )
    },
    "ctc_loss_of_full_lengths": {
        "torch.nn.functional.ctc_loss (full lengths)": lambda x, y: F.ctc_loss(
            x.log_softmax(-1).transpose(0, 1), y, [x.shape[1]] * len(x), [y.shape[1]] * len(x), reduction="none"
        )
    },
    "linear_cross_entropy": {
        "torch.nn.functional.linear_cross_entropy": _linear,
        "torch.nn.LinearCrossEntropyLoss": _linear_module,
        **{
            f"torch.nn.functional.linear_cross_entropy (in parts, {policy})": lambda policy=policy, **given: _linear(
                **given, batch_chunk_size=3, acc_policy=policy
            )
            for policy in ("accurate", "balanced", "compact")
        },
    },
    "adaptive_log_softmax": {"torch.nn.AdaptiveLogSoftmaxWithLoss": _adaptive},
}

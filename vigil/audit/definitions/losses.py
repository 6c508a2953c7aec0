"""Losses: of pairs of numbers, of classes, of labels, of pairs and triples of vectors, and of sequences.

Where frameworks give an operator another name but the same numbers, one entry has all of them. What Keras reduces, it averages
over the last axis first: those losses are entries of their own.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.special

from vigil.audit.arguments import Argument, away, drawn, integers, mask, normal, positive, spread, uniform
from vigil.audit.entry import ROWS, operator

TORCH = "https://docs.pytorch.org/docs/stable/nn.functional.html#loss-functions"
OPTAX = "https://optax.readthedocs.io/en/stable/api/losses.html"
KERAS = "https://keras.io/api/losses/"
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/nn"

SHORT = ROWS[:5]  # 65,537 are for the cheap ones
# Small enough for what compares each pair of classes, and for what knows values by spaces between them.
CLASSES = tuple({"m": rows, "n": size} for rows, size in ((3, 7), (2, 2), (5, 33), (3, 201), (2, 255)))
REDUCTIONS = ({"reduction": "mean"}, {"reduction": "sum"}, {"reduction": "none"})
# Keras's: mean_with_sample_weight divides by the weights' sum.
KERAS_REDUCTIONS = tuple({"reduction": each} for each in ("sum_over_batch_size", "sum", "mean_with_sample_weight", "none"))
WIDE = ("fp32", "fp64")


def _grid(*dims: int | str, offset: float = 0.0) -> Argument:
    """Return an argument near multiples of a half, which differs from one with an offset of a quarter by 0.07 at least."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return 0.5 * random.integers(-4, 5, shape) + offset + random.uniform(-0.09, 0.09, shape)

    return drawn(draw, *dims)


def _signs(*dims: int | str) -> Argument:
    """Return an argument of -1 and 1."""
    return drawn(lambda random, shape, sizes: random.choice((-1.0, 1.0), shape), *dims, is_differentiated=False)


def _bits(*dims: int | str) -> Argument:
    """Return an argument of 0 and 1 as floating numbers."""
    return drawn(lambda random, shape, sizes: random.integers(0, 2, shape).astype(np.float64), *dims, is_differentiated=False)


def _counts(*dims: int | str) -> Argument:
    """Return an argument of whole numbers as floating ones: none is 1, at which Stirling's term begins."""
    choice = (0.0, 2.0, 3.0, 4.0, 7.0)
    return drawn(lambda random, shape, sizes: random.choice(choice, shape), *dims, is_differentiated=False)


def _distribution(*dims: int | str, scale: float = 1.0, log: bool = False) -> Argument:
    """Return an argument of probabilities along the last axis, or their logarithms."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        values = scale * random.standard_normal(shape)
        return scipy.special.log_softmax(values, -1) if log else scipy.special.softmax(values, -1)

    return drawn(draw, *dims)


def _one_hot(*dims: int | str) -> Argument:
    """Return an argument with one 1 along the last axis."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return (random.integers(0, shape[-1], shape[:-1])[..., None] == np.arange(shape[-1])).astype(np.float64)

    return drawn(draw, *dims, is_differentiated=False)


def _reduced(values: np.ndarray, reduction: str) -> np.ndarray:
    """Return values, their mean or their sum."""
    return {"none": values, "mean": np.mean(values), "sum": np.sum(values)}[reduction]


def _with(reductions: Sequence[Mapping[str, Any]], *others: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return sets of parameters: each other one with each reduction."""
    return tuple({**reduction, **other} for other, reduction in itertools.product(others, reductions))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _log_sigmoid(x: np.ndarray) -> np.ndarray:
    return -_softplus(-x)


def _huber(error: np.ndarray, delta: float) -> np.ndarray:
    size = np.abs(error)
    return np.where(size <= delta, 0.5 * error**2, delta * (size - 0.5 * delta))


# Of pairs of numbers.


@operator(x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), parameters=REDUCTIONS, sizes=ROWS, source=TORCH)
def l1_loss(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return |x - y|."""
    return _reduced(np.abs(x - y), reduction)


@operator(x=normal("m", "n"), y=normal("m", "n"), parameters=REDUCTIONS, sizes=ROWS, source=TORCH)
def mse_loss(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return (x - y) squared."""
    return _reduced((x - y) ** 2, reduction)


@operator(x=normal("m", "n"), y=normal("m", "n"), sizes=ROWS, source=OPTAX)
def half_squared_error(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return half of (x - y) squared."""
    return 0.5 * (x - y) ** 2


@operator(x=normal("m", "n"), sizes=SHORT, source=f"{TENSORFLOW}/l2_loss")
def half_sum_of_squares(x: np.ndarray) -> np.ndarray:
    """Return half of the sum of squares."""
    return 0.5 * np.sum(x**2)


@operator(
    x=normal("m", "n"), y=normal("m", "n"), weight=positive("m", "n").fixed(), parameters=REDUCTIONS, sizes=SHORT,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.mse_loss.html",
)  # fmt: skip
def weighted_mse_loss(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str) -> np.ndarray:
    """Return the weighted (x - y) squared; 'mean': the mean of the output is taken."""
    return _reduced(weight * (x - y) ** 2, reduction)


@operator(
    x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), weight=positive("m", "n").fixed(), parameters=REDUCTIONS, sizes=SHORT,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.l1_loss.html",
)  # fmt: skip
def weighted_l1_loss(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str) -> np.ndarray:
    """Return the weighted |x - y|; 'mean': the mean of the output is taken."""
    return _reduced(weight * np.abs(x - y), reduction)


@operator(
    x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), sizes=SHORT, source=TORCH,
    parameters=_with(REDUCTIONS, {"beta": 1.0}, {"beta": 0.5}, {"beta": 0.0}, {"beta": 1.5}),
)  # fmt: skip
def smooth_l1_loss(x: np.ndarray, y: np.ndarray, reduction: str, beta: float) -> np.ndarray:
    """Return the square over two beta below beta, |x - y| - beta / 2 from it."""
    size = np.abs(x - y)
    return _reduced(np.where(size < beta, 0.5 * size**2 / (beta or 1.0), size - 0.5 * beta), reduction)


@operator(
    x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), sizes=SHORT, source=TORCH,
    parameters=_with(REDUCTIONS, {"delta": 1.0}, {"delta": 0.5}, {"delta": 1.5}),
)  # fmt: skip
def huber_loss(x: np.ndarray, y: np.ndarray, reduction: str, delta: float) -> np.ndarray:
    """Return half of the square up to delta, delta (|x - y| - delta / 2) from it (Huber 1964, 10.1214/aoms/1177703732)."""
    return _reduced(_huber(x - y, delta), reduction)


@operator(
    x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), weight=positive("m", "n").fixed(), sizes=SHORT,
    parameters=_with(REDUCTIONS, {"delta": 1.0}, {"delta": 0.5}),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.huber_loss.html",
)  # fmt: skip
def weighted_huber_loss(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, delta: float) -> np.ndarray:
    """Return the weighted Huber loss; 'mean': the mean of the output is taken."""
    return _reduced(weight * _huber(x - y, delta), reduction)


@operator(x=normal("m", "n", scale=3.0), y=normal("m", "n"), sizes=SHORT, source=OPTAX)
def log_cosh_error(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return log(cosh(x - y))."""
    return np.logaddexp(x - y, y - x) - np.log(2.0)


# Some of a thousand such numbers are beyond 11.09, whose power is none of float16.
@operator(x=normal("m", "n", scale=4.0), y=_signs("m", "n"), parameters=REDUCTIONS, sizes=SHORT, source=TORCH)
def soft_margin_loss(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return log(1 + exp(-y x))."""
    return _reduced(_softplus(-y * x), reduction)


@operator(
    x=away("m", "n", kinks=(1.0, 0.5)), y=_signs("m", "n"), sizes=SHORT, source=TORCH,
    parameters=_with(REDUCTIONS, {"margin": 1.0}, {"margin": 0.5}),
)  # fmt: skip
def hinge_embedding_loss(x: np.ndarray, y: np.ndarray, reduction: str, margin: float) -> np.ndarray:
    """Return x where y is 1, max(0, margin - x) where it is -1."""
    return _reduced(np.where(y > 0, x, np.maximum(0.0, margin - x)), reduction)


@operator(
    x=_grid("m", "n"), z=_grid("m", "n", offset=0.25), y=_signs("m", "n"), sizes=SHORT, source=TORCH,
    parameters=_with(REDUCTIONS, {"margin": 0.0}, {"margin": 0.5}),
)  # fmt: skip
def margin_ranking_loss(x: np.ndarray, z: np.ndarray, y: np.ndarray, reduction: str, margin: float) -> np.ndarray:
    """Return max(0, -y (x - z) + margin)."""
    return _reduced(np.maximum(0.0, -y * (x - z) + margin), reduction)


@operator(
    x=uniform(0.2, 1.5, "m", "n"), y=_counts("m", "n"), sizes=SHORT, source=TORCH,
    parameters=_with(
        REDUCTIONS,
        *({"log_input": log, "full": full, "eps": eps} for log in (True, False) for full in (False, True) for eps in (1e-8, 0.1)),
    ),
)  # fmt: skip
def poisson_nll_loss(x: np.ndarray, y: np.ndarray, reduction: str, log_input: bool, full: bool, eps: float) -> np.ndarray:
    """Return exp(x) - y x, or x - y log(x + eps); full: with Stirling's y log y - y + log(2 pi y) / 2 where y is above 1."""
    values = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        large = np.where(y > 1, y, 2.0)
        values = values + np.where(y > 1, large * np.log(large) - large + 0.5 * np.log(2 * np.pi * large), 0.0)
    return _reduced(values, reduction)


@operator(
    x=uniform(-2.0, 2.0, "m", "n"), y=_counts("m", "n"), sizes=SHORT, parameters=({"full": False}, {"full": True}),
    source=f"{TENSORFLOW}/log_poisson_loss",
)  # fmt: skip
def log_poisson_loss(x: np.ndarray, y: np.ndarray, full: bool) -> np.ndarray:
    """Return exp(x) - y x; full: with Stirling's y log y - y + log(2 pi y) / 2, which is 0 for y from 0 to 1."""
    values = np.exp(x) - y * x
    if full:
        large = np.where(y > 1, y, 2.0)
        values = values + np.where(y > 1, large * np.log(large) - large + 0.5 * np.log(2 * np.pi * large), 0.0)
    return values


@operator(
    x=normal("m", "n"), y=normal("m", "n"), variance=positive("m", "n"), sizes=SHORT, source=TORCH,
    parameters=_with(REDUCTIONS, *({"full": full, "eps": eps} for full in (False, True) for eps in (1e-6, 1e-2))),
)  # fmt: skip
def gaussian_nll_loss(x: np.ndarray, y: np.ndarray, variance: np.ndarray, reduction: str, full: bool, eps: float) -> np.ndarray:
    """Return half of log max(variance, eps) + (x - y) squared over it, and half of log(2 pi) where it is full."""
    clipped = np.maximum(variance, eps)
    return _reduced(0.5 * (np.log(clipped) + (x - y) ** 2 / clipped) + (0.5 * np.log(2 * np.pi) if full else 0.0), reduction)


# Of truth values.


@operator(x=uniform(0.05, 0.95, "m", "n"), y=uniform(0.1, 0.9, "m", "n"), parameters=REDUCTIONS, sizes=SHORT, source=TORCH)
def binary_cross_entropy(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return -(y log x + (1 - y) log(1 - x)) for a probability x."""
    return _reduced(-(y * np.log(x) + (1 - y) * np.log1p(-x)), reduction)


@operator(
    x=uniform(0.05, 0.95, "m", "n"), y=_bits("m", "n"), weight=positive("m", "n").fixed(), parameters=REDUCTIONS, sizes=SHORT,
    source=TORCH,
)  # fmt: skip
def weighted_binary_cross_entropy(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str) -> np.ndarray:
    """Return -weight (y log x + (1 - y) log(1 - x)); its mean divides by the count."""
    return _reduced(-weight * (y * np.log(x) + (1 - y) * np.log1p(-x)), reduction)


@operator(x=normal("m", "n", scale=4.0), y=uniform(0.0, 1.0, "m", "n"), parameters=REDUCTIONS, sizes=SHORT, source=TORCH)
def binary_cross_entropy_with_logits(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return -(y log sigmoid(x) + (1 - y) log(1 - sigmoid(x)))."""
    return _reduced(-(y * _log_sigmoid(x) + (1 - y) * _log_sigmoid(-x)), reduction)


@operator(
    x=normal("m", "n", scale=4.0), y=uniform(0.0, 1.0, "m", "n"), weight=positive("m", "n").fixed(),
    pos_weight=positive("n").fixed(), parameters=REDUCTIONS, sizes=SHORT, source=TORCH,
)  # fmt: skip
def weighted_binary_cross_entropy_with_logits(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, pos_weight: np.ndarray, reduction: str
) -> np.ndarray:
    """Return -weight (pos_weight y log sigmoid(x) + (1 - y) log(1 - sigmoid(x))); its mean divides by the count."""
    return _reduced(-weight * (pos_weight * y * _log_sigmoid(x) + (1 - y) * _log_sigmoid(-x)), reduction)


@operator(
    x=normal("m", "n", scale=4.0), y=uniform(0.0, 1.0, "m", "n"), sizes=SHORT,
    parameters=({"pos_weight": 2.0}, {"pos_weight": 0.3}, {"pos_weight": 1.0}),
    source=f"{TENSORFLOW}/weighted_cross_entropy_with_logits",
)  # fmt: skip
def weighted_cross_entropy_with_logits(x: np.ndarray, y: np.ndarray, pos_weight: float) -> np.ndarray:
    """Return -(pos_weight y log sigmoid(x) + (1 - y) log(1 - sigmoid(x)))."""
    return -(pos_weight * y * _log_sigmoid(x) + (1 - y) * _log_sigmoid(-x))


@operator(
    x=normal("m", "n", scale=2.0), y=_bits("m", "n"), sizes=SHORT, source=OPTAX,
    parameters=tuple({"alpha": alpha, "gamma": gamma} for alpha in (0.25, None, 0.9) for gamma in (2.0, 0.5, 3.0)),
)  # fmt: skip
def sigmoid_focal_loss(x: np.ndarray, y: np.ndarray, alpha: float | None, gamma: float) -> np.ndarray:
    """Return -alpha_t (1 - p_t)**gamma log p_t, with p_t the probability of the label (https://arxiv.org/abs/1708.02002)."""
    signed = np.where(y > 0, x, -x)
    share = 1.0 if alpha is None else np.where(y > 0, alpha, 1.0 - alpha)
    return -share * np.exp(gamma * _log_sigmoid(-signed)) * _log_sigmoid(signed)


@operator(
    x=normal("m", "n", scale=2.0),
    y=_bits("m", "n"),
    weight=positive("n").fixed(),
    parameters=REDUCTIONS,
    sizes=SHORT,
    source=TORCH,
)
def multilabel_soft_margin_loss(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str) -> np.ndarray:
    """Return the mean over labels of the weighted binary cross entropy of logits."""
    return _reduced(np.mean(-weight * (y * _log_sigmoid(x) + (1 - y) * _log_sigmoid(-x)), axis=-1), reduction)


@operator(x=away("m", "n", kinks=(1.0, -1.0)), y=_signs("m", "n"), sizes=SHORT, source=OPTAX)
def hinge_loss(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return max(0, 1 - y x)."""
    return np.maximum(0.0, 1.0 - y * x)


@operator(x=away("m", "n"), y=_signs("m", "n"), sizes=SHORT, source=OPTAX)
def perceptron_loss(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return max(0, -y x)."""
    return np.maximum(0.0, -y * x)


@operator(x=away("m", "n", kinks=(1.0, -1.0)), y=integers(0, 2, "m", "n"), sizes=SHORT, source=OPTAX)
def sparsemax_loss(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the binary sparsemax loss (Blondel et al. 2020, https://arxiv.org/abs/1901.02324, section 4.4).

    With s = x for a label of 0 and -x for 1, it is 0 for s <= -1, s for s >= 1 and (s + 1)**2 / 4 between.
    """
    signed = np.where(y > 0, -x, x)
    return np.where(signed <= -1.0, 0.0, np.where(signed >= 1.0, signed, (signed + 1.0) ** 2 / 4.0))


# Of classes.


def _class_loss(
    logs: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, ignored: int, smoothing: float
) -> np.ndarray:
    """Return the weighted negative log likelihood, with classes in axis 1; the mean divides by the weights of the targets."""
    logs = np.moveaxis(logs, 1, -1)
    classes = logs.shape[-1]
    is_used = y != ignored
    label = np.where(is_used, y, 0)
    shares = np.where(is_used, weight[label], 0.0)
    values = -shares * np.take_along_axis(logs, label[..., None], -1)[..., 0]
    if smoothing:
        flat = -np.sum(weight * logs, axis=-1) * is_used
        values = (1.0 - smoothing) * values + smoothing / classes * flat
    return np.sum(values) / np.sum(shares) if reduction == "mean" else _reduced(values, reduction)


def _labels(*dims: int | str, ignored: int) -> Argument:
    """Return labels of which a quarter, but not the first, are the ignored one."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = random.integers(0, sizes["n"], shape)
        drop = random.random(shape) < 0.25
        drop.flat[0] = False
        return np.where(drop, ignored, found)

    return drawn(draw, *dims, is_differentiated=False)


_IGNORE = _with(
    REDUCTIONS,
    {"ignore_index": -100, "label_smoothing": 0.0},
    {"ignore_index": 1, "label_smoothing": 0.0},
    {"ignore_index": -100, "label_smoothing": 0.1},
    {"ignore_index": 1, "label_smoothing": 0.3},
)
_DIMS = tuple({"m": m, "n": n, "d": d} for m, n, d in ((2, 3, 4), (2, 2, 1), (3, 33, 7), (1, 1027, 3), (2, 10, 4099)))


@operator(
    x=normal("m", "n", scale=2.0),
    y=_labels("m", ignored=-100),
    weight=positive("n").fixed(),
    parameters=_IGNORE,
    sizes=SHORT,
    source=TORCH,
)
def cross_entropy(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, ignore_index: int, label_smoothing: float
) -> np.ndarray:
    """Return the weighted cross entropy of logits; ignored labels have none. Labels of -100 lie where no class is ignored."""
    return _class_loss(
        scipy.special.log_softmax(x, 1), np.where(y == -100, ignore_index, y), weight, reduction, ignore_index, label_smoothing
    )


@operator(
    x=normal("m", "n", "d", scale=2.0),
    y=_labels("m", "d", ignored=-100),
    weight=positive("n").fixed(),
    parameters=_IGNORE,
    sizes=_DIMS,
    source=TORCH,
)
def cross_entropy_of_dims(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, ignore_index: int, label_smoothing: float
) -> np.ndarray:
    """Return the weighted cross entropy of logits whose classes lie in axis 1."""
    return _class_loss(
        scipy.special.log_softmax(x, 1), np.where(y == -100, ignore_index, y), weight, reduction, ignore_index, label_smoothing
    )


@operator(
    x=normal("m", "n", "d", scale=2.0), y=_labels("m", "d", ignored=-100), weight=positive("n").fixed(),
    sizes=_DIMS, source=TORCH, parameters=_with(REDUCTIONS, {"ignore_index": -100}, {"ignore_index": 1}),
)  # fmt: skip
def nll_loss(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, ignore_index: int) -> np.ndarray:
    """Return -weight x at each label, with classes in axis 1."""
    return _class_loss(x, np.where(y == -100, ignore_index, y), weight, reduction, ignore_index, 0.0)


@operator(
    x=normal("m", "n", scale=2.0), y=_distribution("m", "n"), weight=positive("n").fixed(), sizes=SHORT, source=TORCH,
    parameters=_with(REDUCTIONS, {"label_smoothing": 0.0}, {"label_smoothing": 0.2}),
)  # fmt: skip
def cross_entropy_of_probabilities(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, label_smoothing: float
) -> np.ndarray:
    """Return -sum(weight y log softmax(x)) of smoothed targets; its mean divides by the rows' count."""
    smooth = y * (1.0 - label_smoothing) + label_smoothing / y.shape[1]
    return _reduced(-np.sum(weight * smooth * scipy.special.log_softmax(x, 1), axis=1), reduction)


@operator(
    x=normal("m", "n", "d", scale=2.0), y=uniform(0.0, 1.0, "m", "n", "d"), parameters=REDUCTIONS, sizes=_DIMS, source=TORCH
)
def cross_entropy_of_probabilities_of_dims(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return -sum(y log softmax(x)) with classes in axis 1; its mean divides by the count of all but classes."""
    return _reduced(-np.sum(y * scipy.special.log_softmax(x, 1), axis=1), reduction)


@operator(
    x=normal("m", "n", scale=2.0), y=_distribution("m", "n"), sizes=SHORT, parameters=({"axis": -1}, {"axis": 1}),
    source=f"{TENSORFLOW}/softmax_cross_entropy_with_logits",
)  # fmt: skip
def softmax_cross_entropy(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """Return -sum(y log softmax(x)) along the last axis, along which y is a distribution."""
    return -np.sum(y * scipy.special.log_softmax(x, axis), axis=axis)


@operator(
    x=normal("m", "n", scale=2.0), sizes=SHORT, parameters=({"axis": 0},),
    source=f"{TENSORFLOW}/softmax_cross_entropy_with_logits",
    y=drawn(lambda random, shape, sizes: scipy.special.softmax(random.standard_normal(shape), 0), "m", "n"),
)  # fmt: skip
def softmax_cross_entropy_of_columns(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    """Return -sum(y log softmax(x)) along the first axis, along which y is a distribution."""
    return -np.sum(y * scipy.special.log_softmax(x, axis), axis=axis)


@operator(x=normal("m", "n", scale=2.0), y=_distribution("m", "n"), where=mask("m", "n"), sizes=SHORT, source=OPTAX)
def masked_softmax_cross_entropy(x: np.ndarray, y: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return -sum(y log softmax(x)) over what the mask has."""
    logs = x - scipy.special.logsumexp(np.where(where, x, -np.inf), axis=-1, keepdims=True)
    return -np.sum(np.where(where, y * logs, 0.0), axis=-1)


@operator(
    x=normal("m", "n", scale=2.0),
    y=integers(0, "n", "m"),
    sizes=SHORT,
    source=f"{TENSORFLOW}/sparse_softmax_cross_entropy_with_logits",
)
def sparse_softmax_cross_entropy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return -log softmax(x) at each label."""
    return -np.take_along_axis(scipy.special.log_softmax(x, -1), y[:, None], -1)[:, 0]


@operator(
    x=normal("m", "n", scale=2.0),
    y=_distribution("m", "n").fixed(),
    sizes=SHORT,
    source=OPTAX,
    parameters=({"epsilon": 2.0}, {"epsilon": -1.0}),
)
def poly_loss(x: np.ndarray, y: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the cross entropy + epsilon (1 - sum(y softmax(x))) (https://arxiv.org/abs/2204.12511)."""
    logs = scipy.special.log_softmax(x, -1)
    return -np.sum(y * logs, axis=-1) + epsilon * (1.0 - np.sum(y * np.exp(logs), axis=-1))


@operator(x=_one_hot("m", "n"), sizes=SHORT, source=OPTAX, parameters=({"alpha": 0.1}, {"alpha": 0.0}, {"alpha": 0.5}))
def smooth_labels(x: np.ndarray, alpha: float) -> np.ndarray:
    """Return (1 - alpha) x + alpha / n."""
    return (1.0 - alpha) * x + alpha / x.shape[-1]


@operator(
    x=spread("m", "n"), y=integers(0, "n", "m"), weight=positive("n").fixed(), sizes=CLASSES, source=TORCH,
    parameters=_with(REDUCTIONS, *({"p": p, "margin": margin} for p in (1, 2) for margin in (1.125, 0.625))),
)  # fmt: skip
def multi_margin_loss(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, p: int, margin: float) -> np.ndarray:
    """Return sum over other classes of weight[y] max(0, margin - x[y] + x)**p, over the number of classes."""
    values = weight[y][:, None] * np.maximum(0.0, margin - np.take_along_axis(x, y[:, None], 1) + x) ** p
    np.put_along_axis(values, y[:, None], 0.0, 1)
    return _reduced(np.sum(values, axis=1) / x.shape[1], reduction)


def _label_lists(*dims: int | str) -> Argument:
    """Return lists of different labels, each ended by -1, with labels behind it that do not count."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = np.stack([random.permutation(shape[1]) for _ in range(shape[0])])
        for row in found:
            end = random.integers(1, shape[1] + 1)
            if end < shape[1]:
                row[end] = -1
        return found

    return drawn(draw, *dims, is_differentiated=False)


def _scattered(*dims: int | str, offset: float = 0.0) -> Argument:
    """Return values in steps of 0.3, which no two differ by 1 of."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        return offset + 0.3 * random.permuted(np.broadcast_to(np.arange(shape[-1]) % 60 - 20.0, shape), axis=-1)

    return drawn(draw, *dims)


@operator(x=_scattered("m", "n"), y=_label_lists("m", "n"), parameters=REDUCTIONS, sizes=CLASSES[:4], source=TORCH)
def multilabel_margin_loss(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return sum over labels, and over classes that are none, of max(0, 1 - x[label] + x[class]), over the number of classes."""
    values = []
    for row, labels in zip(x, y, strict=True):
        ends = np.flatnonzero(labels < 0)
        labels = labels[: ends[0]] if ends.size else labels
        others = np.setdiff1d(np.arange(row.size), labels)
        values.append(np.sum(np.maximum(0.0, 1.0 - row[labels][:, None] + row[others])) / row.size)
    return _reduced(np.array(values), reduction)


@operator(x=_scattered("m", "n"), y=integers(0, "n", "m"), sizes=CLASSES[:3], source=OPTAX)
def multiclass_hinge_loss(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the greatest of x + [class is not y], less x[y]."""
    shifted = x + 1.0
    np.put_along_axis(shifted, y[:, None], np.take_along_axis(x, y[:, None], 1), 1)
    return np.max(shifted, axis=1) - np.take_along_axis(x, y[:, None], 1)[:, 0]


@operator(x=spread("m", "n"), y=integers(0, "n", "m"), sizes=CLASSES, source=OPTAX)
def multiclass_perceptron_loss(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return max(x) - x[y]."""
    return np.max(x, axis=1) - np.take_along_axis(x, y[:, None], 1)[:, 0]


def _sparsemax(x: np.ndarray) -> np.ndarray:
    """Return the projection of a row on the simplex (Martins and Astudillo 2016, https://arxiv.org/abs/1602.02068)."""
    ordered = np.sort(x)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, x.size + 1)
    support = counts[1.0 + counts * ordered > sums][-1]
    return np.maximum(x - (sums[support - 1] - 1.0) / support, 0.0)


@operator(x=spread("m", "n"), y=integers(0, "n", "m"), sizes=CLASSES[:4], precisions=WIDE, source=OPTAX)
def multiclass_sparsemax_loss(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return max over p in the simplex of x . p - |p|**2 / 2, less x[y] - 1 / 2 (https://arxiv.org/abs/1901.02324)."""
    found = []
    for row, label in zip(x, y, strict=True):
        p = _sparsemax(row)
        found.append(row @ p - 0.5 * p @ p + 0.5 - row[label])
    return np.array(found)


# Of distributions.


@operator(
    x=normal("m", "n"), y=_distribution("m", "n"), sizes=SHORT, source=TORCH,
    parameters=({"reduction": "batchmean"}, *REDUCTIONS),
)  # fmt: skip
def kl_div(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return y (log y - x); batchmean: its sum over the first axis's length."""
    values = y * (np.log(y) - x)
    return np.sum(values) / len(x) if reduction == "batchmean" else _reduced(values, reduction)


@operator(
    x=normal("m", "n"), y=_distribution("m", "n", log=True), sizes=SHORT, source=TORCH,
    parameters=({"reduction": "batchmean"}, *REDUCTIONS),
)  # fmt: skip
def kl_div_of_logs(x: np.ndarray, y: np.ndarray, reduction: str) -> np.ndarray:
    """Return exp(y) (y - x); batchmean: its sum over the first axis's length."""
    values = np.exp(y) * (y - x)
    return np.sum(values) / len(x) if reduction == "batchmean" else _reduced(values, reduction)


@operator(x=_distribution("m", "n", log=True), y=_distribution("m", "n"), sizes=SHORT, source=OPTAX)
def kl_divergence(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return sum(y (log y - x)) along the last axis."""
    return np.sum(y * (np.log(y) - x), axis=-1)


@operator(x=_distribution("m", "n", log=True), y=_distribution("m", "n"), where=mask("m", "n"), sizes=SHORT, source=OPTAX)
def masked_kl_divergence(x: np.ndarray, y: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return sum(y (log y - x)) over what the mask has."""
    return np.sum(np.where(where, y * (np.log(y) - x), 0.0), axis=-1)


@operator(x=_distribution("m", "n", log=True), y=_distribution("m", "n", log=True), sizes=SHORT, source=OPTAX)
def kl_divergence_of_logs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return sum(exp(y) (y - x)) along the last axis."""
    return np.sum(np.exp(y) * (y - x), axis=-1)


@operator(x=normal("m", "n"), y=positive("m", "n"), sizes=SHORT, source=OPTAX)
def generalized_kl_divergence(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return sum(y (log y - x) + exp(x) - y) along the last axis: Bregman's of x log x - x."""
    return np.sum(y * (np.log(y) - x) + np.exp(x) - y, axis=-1)


# Of pairs and triples of vectors.

VECTORS = tuple({"m": rows, "n": size} for rows, size in ((3, 7), (1, 5), (5, 33), (3, 1027), (2, 4099)))


def _cosine(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.sum(x * y, -1) / np.sqrt(np.sum(x * x, -1) * np.sum(y * y, -1))


@operator(
    x=normal("m", "n"), z=normal("m", "n"), y=_signs("m"), sizes=VECTORS, source=TORCH,
    parameters=_with(REDUCTIONS, {"margin": 0.0}, {"margin": -0.5}),
)  # fmt: skip
def cosine_embedding_loss(x: np.ndarray, z: np.ndarray, y: np.ndarray, reduction: str, margin: float) -> np.ndarray:
    """Return 1 - cos(x, z) where y is 1, max(0, cos(x, z) - margin) where it is -1."""
    cosine = _cosine(x, z)
    return _reduced(np.where(y > 0, 1.0 - cosine, np.maximum(0.0, cosine - margin)), reduction)


@operator(x=normal("m", "n", mean=0.5), y=normal("m", "n", mean=0.5), sizes=VECTORS, source=OPTAX)
def cosine_similarity_of_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the cosine of rows."""
    return _cosine(x, y)


@operator(x=normal("m", "n", mean=0.5), y=normal("m", "n", mean=0.5), sizes=VECTORS, source=OPTAX)
def cosine_distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 1 less the cosine of rows."""
    return 1.0 - _cosine(x, y)


def _between(x: np.ndarray, y: np.ndarray, p: float, eps: float) -> np.ndarray:
    return np.sum(np.abs(x - y + eps) ** p, axis=-1) ** (1.0 / p)


@operator(
    x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), z=_grid("m", "n", offset=0.25), sizes=VECTORS, source=TORCH,
    precisions=("fp32", "fp64"),
    parameters=_with(
        REDUCTIONS,
        *(
            {"p": p, "swap": swap, "margin": margin, "eps": 1e-6}
            for p in (2.0, 1.0, 3.0) for swap in (False, True) for margin in (1.0, 9.0)
        ),
    ),
)  # fmt: skip
def triplet_margin_loss(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, reduction: str, p: float, swap: bool, margin: float, eps: float
) -> np.ndarray:
    """Return max(0, margin + d(x, y) - d(x, z)), with d the norm of the difference + eps.

    swap: the lesser of d(x, z) and d(y, z) stands for d(x, z). Balntas et al. 2016, https://bmva-archive.org.uk/bmvc/2016/papers/paper119/index.html
    """
    far = _between(x, z, p, eps)
    if swap:
        far = np.minimum(far, _between(y, z, p, eps))
    return _reduced(np.maximum(0.0, margin + _between(x, y, p, eps) - far), reduction)


@operator(
    x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), z=_grid("m", "n", offset=0.25), sizes=VECTORS, precisions=WIDE,
    source=OPTAX, parameters=tuple({"p": p, "margin": margin, "eps": 1e-6} for p in (1, 3, 2) for margin in (1.0, 9.0)),
)  # fmt: skip
def triplet_margin_loss_of_rows(x: np.ndarray, y: np.ndarray, z: np.ndarray, p: int, margin: float, eps: float) -> np.ndarray:
    """Return max(0, margin + d(x, y) - d(x, z)), with d the root of a norm's sum and eps."""
    near, far = ((np.sum(np.abs(x - each) ** p, axis=-1) + eps) ** (1.0 / p) for each in (y, z))
    return np.maximum(0.0, margin + near - far)


@operator(
    x=_grid("m", "n"), y=_grid("m", "n", offset=0.25), z=_grid("m", "n", offset=0.25), sizes=VECTORS, source=TORCH,
    parameters=_with(REDUCTIONS, {"margin": 1.0, "swap": False}, {"margin": 9.0, "swap": True}),
    precisions=WIDE,  # in low precision rounding chooses the lesser of two distances
)  # fmt: skip
def triplet_margin_of_absolute(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, reduction: str, margin: float, swap: bool
) -> np.ndarray:
    """Return the triplet loss with the mean absolute difference as its distance."""
    far = np.mean(np.abs(x - z), -1)
    if swap:
        far = np.minimum(far, np.mean(np.abs(y - z), -1))
    return _reduced(np.maximum(0.0, margin + np.mean(np.abs(x - y), -1) - far), reduction)


@operator(
    x=normal("m", "n"), y=drawn(lambda random, shape, sizes: np.arange(shape[0]) // 2, "m", is_differentiated=False),
    sizes=tuple({"m": m, "n": n} for m, n in ((4, 7), (6, 3), (8, 33), (4, 1027), (16, 255))), source=OPTAX,
    parameters=({"temperature": 0.5}, {"temperature": 0.07}),
)  # fmt: skip
def ntxent(x: np.ndarray, y: np.ndarray, temperature: float) -> np.ndarray:
    """Return the mean over pairs of one label of -log softmax of their cosine over temperature (https://arxiv.org/abs/2002.05709).

    The softmax of a pair goes over it and all pairs of its first element with another label.
    """
    unit = x / np.sqrt(np.sum(x * x, -1, keepdims=True))
    scores = unit @ unit.T / temperature
    same = y[:, None] == y
    values = []
    for i, j in zip(*np.nonzero(same & ~np.eye(len(y), dtype=bool)), strict=True):
        values.append(scipy.special.logsumexp(np.append(scores[i][~same[i]], scores[i, j])) - scores[i, j])
    return np.mean(values)


@operator(
    x=normal("m", "n", scale=2.0), y=positive("m", "n"), where=mask("m", "n"), weights=positive("m", "n").fixed(), sizes=SHORT,
    source=OPTAX,
)  # fmt: skip
def ranking_softmax_loss(x: np.ndarray, y: np.ndarray, where: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean over lists of -sum(weight y log softmax(x)), over items that the mask has."""
    logs = x - scipy.special.logsumexp(np.where(where, x, -np.inf), axis=-1, keepdims=True)
    return np.mean(-np.sum(np.where(where, weights * y * logs, 0.0), axis=-1))


# Of areas: optax's dice losses.

_AREAS = tuple({"m": m, "n": n, "c": c} for m, n, c in ((2, 5, 3), (1, 1, 2), (3, 33, 7), (2, 1027, 4), (1, 4099, 3)))


@operator(
    x=normal("m", "n", "c"), y=_one_hot("m", "n", "c"), sizes=_AREAS, source=OPTAX,
    parameters=(
        {"smooth": 1.0, "alpha": 0.5, "beta": 0.5, "reduction": "mean", "ignore_background": False},
        {"smooth": 0.1, "alpha": 0.3, "beta": 0.7, "reduction": "none", "ignore_background": False},
        {"smooth": 1.0, "alpha": 0.7, "beta": 0.3, "reduction": "sum", "ignore_background": True},
    ),
)  # fmt: skip
def dice_loss(
    x: np.ndarray, y: np.ndarray, smooth: float, alpha: float, beta: float, reduction: str, ignore_background: bool
) -> np.ndarray:
    """Return 1 - (TP + smooth) / (TP + alpha FP + beta FN + smooth) of a softmax by class, then reduced over classes."""
    p = scipy.special.softmax(x, -1)
    common, predicted, true = np.sum(p * y, 1), np.sum(p, 1), np.sum(y, 1)
    found = 1.0 - (common + smooth) / (common + alpha * (predicted - common) + beta * (true - common) + smooth)
    found = found[:, 1:] if ignore_background else found
    return {"none": found, "mean": np.mean(found, -1), "sum": np.sum(found, -1)}[reduction]


# Of sequences.


def _lengths(low: str, high: str, of: str) -> Argument:
    """Return lengths between two sizes, the first of them the longest."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = random.integers(sizes[low], sizes[high] + 1, shape)
        found[0] = sizes[high]
        return found

    return drawn(draw, of, is_differentiated=False)


def _ctc(logs: np.ndarray, labels: np.ndarray, time: int, blank: int) -> float:
    """Return -log of the probability of all paths that read as labels (Graves et al. 2006, 10.1145/1143844.1143891, 4.1)."""
    extended = np.full(2 * len(labels) + 1, blank)
    extended[1::2] = labels
    skips = np.zeros(len(extended), bool)
    skips[2:] = (extended[2:] != blank) & (extended[2:] != extended[:-2])
    alpha = np.full(len(extended), -np.inf)
    alpha[:2] = logs[0, extended[:2]]
    for step in range(1, time):
        before = np.concatenate([[-np.inf], alpha[:-1]])
        two = np.where(skips, np.concatenate([[-np.inf, -np.inf], alpha])[: len(extended)], -np.inf)
        alpha = np.logaddexp(np.logaddexp(alpha, before), two) + logs[step, extended]
    return -float(np.logaddexp.reduce(alpha[-2:]))


_SPEECH = tuple(
    {"t": t, "b": b, "c": c, "low": t - 2, "s": s, "least": max(1, s - 1)}
    for t, b, c, s in ((7, 2, 4, 2), (5, 1, 2, 1), (13, 3, 33, 4), (9, 2, 1027, 3), (24, 2, 11, 9))
)


@operator(
    x=normal("t", "b", "c"), y=integers(1, "c", "b", "s"), times=_lengths("low", "t", "b"), lengths=_lengths("least", "s", "b"),
    sizes=_SPEECH, precisions=WIDE, source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.ctc_loss.html",
    parameters=REDUCTIONS,
)  # fmt: skip
def ctc_loss(x: np.ndarray, y: np.ndarray, times: np.ndarray, lengths: np.ndarray, reduction: str) -> np.ndarray:
    """Return the CTC loss of logits [time, batch, class] with blank 0; mean: each over its labels' length, then averaged."""
    logs = scipy.special.log_softmax(x, -1)
    values = [_ctc(logs[:, b], y[b, : lengths[b]], times[b], 0) for b in range(len(y))]
    return np.mean(np.array(values) / lengths) if reduction == "mean" else _reduced(np.array(values), reduction)


@operator(
    x=normal("t", "b", "c"),
    y=drawn(lambda random, shape, sizes: random.integers(0, sizes["c"] - 1, shape), "b", "s", is_differentiated=False),
    times=_lengths("low", "t", "b"), lengths=_lengths("least", "s", "b"), sizes=_SPEECH, precisions=WIDE,
    source="https://www.tensorflow.org/api_docs/python/tf/nn/ctc_loss",
)  # fmt: skip
def ctc_loss_with_last_blank(x: np.ndarray, y: np.ndarray, times: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the CTC loss of each sequence, of logits [time, batch, class], with the last class as the blank."""
    logs = scipy.special.log_softmax(x, -1)
    return np.array([_ctc(logs[:, b], y[b, : lengths[b]], times[b], x.shape[-1] - 1) for b in range(len(y))])


# Of a linear layer: without its logits in memory, in clusters, and of samples.


@operator(
    x=normal("m", "k"), w=normal("n", "k", scale=0.3), bias=normal("n"), y=_labels("m", ignored=-100),
    weight=positive("n").fixed(),
    sizes=tuple({"m": m, "n": n, "k": k} for m, n, k in ((4, 3, 2), (1, 2, 1), (33, 17, 7), (9, 1027, 5), (259, 33, 17))),
    parameters=_with(REDUCTIONS, {"label_smoothing": 0.0}, {"label_smoothing": 0.2}),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.linear_cross_entropy.html",
)  # fmt: skip
def linear_cross_entropy(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, label_smoothing: float
) -> np.ndarray:
    """Return the weighted cross entropy of x w' + bias; labels of -100 are ignored."""
    return _class_loss(scipy.special.log_softmax(x @ w.T + bias, 1), y, weight, reduction, -100, label_smoothing)


@operator(
    x=normal("m", "k"), head=normal(6, "k"), bias=normal(6), down=normal(4, "k"), tail=normal(5, 4), below=normal(1, "k"),
    last=normal(4, 1),
    y=integers(0, 13, "m"), sizes=tuple({"m": m, "k": k} for m, k in ((4, 16), (1, 16), (33, 19), (7, 17))),
    source="https://arxiv.org/abs/1609.04309",
)  # fmt: skip
def adaptive_log_softmax(
    x: np.ndarray,
    head: np.ndarray,
    bias: np.ndarray,
    down: np.ndarray,
    tail: np.ndarray,
    below: np.ndarray,
    last: np.ndarray,
    y: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Return log probabilities of labels in a head of four classes and tails of five and four, and less their mean."""
    top = scipy.special.log_softmax(x @ head.T + bias, -1)
    first = top[:, 4:5] + scipy.special.log_softmax(x @ down.T @ tail.T, -1)
    second = top[:, 5:6] + scipy.special.log_softmax(x @ below.T @ last.T, -1)
    found = np.take_along_axis(np.concatenate([top[:, :4], first, second], 1), y[:, None], 1)[:, 0]
    return found, -np.mean(found)


# Keras's: each averages over the last axis, and a loss object then reduces what is left, times weights of samples.


def _of_rows(rows: np.ndarray, weight: np.ndarray, reduction: str) -> np.ndarray:
    """Return what Keras makes of the losses of rows and weights of samples."""
    values = rows * weight
    return {
        "none": values,
        "sum": np.sum(values),
        "sum_over_batch_size": np.sum(values) / values.size,
        "mean_with_sample_weight": np.sum(values) / np.sum(weight),
    }[reduction]


def _rows(
    name: str,
    function: Any,
    x: Argument,
    y: Argument,
    *,
    says: str,
    sizes: Any = SHORT,
    given: Any = ({},),
    precisions: Any = None,
) -> None:
    """Enter a loss of Keras from what it makes of rows; `given` are sets of parameters of its own."""

    def definition(x: np.ndarray, y: np.ndarray, weight: np.ndarray, reduction: str, **parameters: Any) -> np.ndarray:
        return _of_rows(function(x, y, **parameters), weight, reduction)

    names = ["x", "y", "weight", "reduction", *given[0]]
    definition.__signature__ = inspect.Signature([inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY) for each in names])
    definition.__name__, definition.__doc__ = name, says
    # Each reduction once with the first parameters, and the others without a reduction.
    tried = (*_with(KERAS_REDUCTIONS, given[0]), *_with(KERAS_REDUCTIONS[3:], *given[1:], given[0]))
    operator(
        x=x, y=y, weight=positive("m").fixed(), sizes=sizes, parameters=tried, source=KERAS,
        precisions=precisions or ("fp32", "fp64", "bf16", "fp16"),
    )(definition)  # fmt: skip


def _smoothed(y: np.ndarray, share: float, classes: int) -> np.ndarray:
    return y * (1.0 - share) + share / classes


def _binary_rows(x: np.ndarray, y: np.ndarray, from_logits: bool, label_smoothing: float) -> np.ndarray:
    smooth = _smoothed(y, label_smoothing, 2)
    return np.mean(-(smooth * _log_sigmoid(x) + (1.0 - smooth) * _log_sigmoid(-x)), axis=-1)


def _binary_focal_rows(
    x: np.ndarray, y: np.ndarray, from_logits: bool, apply_class_balancing: bool, alpha: float, gamma: float
) -> np.ndarray:
    signed = np.where(y > 0, x, -x)
    share = np.where(y > 0, alpha, 1.0 - alpha) if apply_class_balancing else 1.0
    return np.mean(-share * np.exp(gamma * _log_sigmoid(-signed)) * _log_sigmoid(signed), axis=-1)


def _categorical_rows(x: np.ndarray, y: np.ndarray, from_logits: bool, label_smoothing: float) -> np.ndarray:
    return -np.sum(_smoothed(y, label_smoothing, x.shape[-1]) * scipy.special.log_softmax(x, -1), axis=-1)


def _categorical_focal_rows(
    x: np.ndarray, y: np.ndarray, from_logits: bool, label_smoothing: float, alpha: float, gamma: float
) -> np.ndarray:
    logs = scipy.special.log_softmax(x, -1)
    return -np.sum(alpha * (1.0 - np.exp(logs)) ** gamma * _smoothed(y, label_smoothing, x.shape[-1]) * logs, axis=-1)


def _sparse_rows(x: np.ndarray, y: np.ndarray, from_logits: bool, ignore_class: int | None) -> np.ndarray:
    logs = np.take_along_axis(scipy.special.log_softmax(x, -1), y[:, None], -1)[:, 0]
    return np.where(y == ignore_class, 0.0, -logs) if ignore_class is not None else -logs


def _generalized_rows(x: np.ndarray, y: np.ndarray, q: float) -> np.ndarray:
    return (1.0 - np.take_along_axis(scipy.special.softmax(x, -1), y[:, None], -1)[:, 0] ** q) / q


def _hinge_of_classes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, np.max((1.0 - y) * x, -1) - np.sum(y * x, -1) + 1.0)


def _circle_rows(x: np.ndarray, y: np.ndarray, gamma: float, margin: float) -> np.ndarray:
    scores = x @ x.T
    same = y[:, None] == y
    found = []
    for row in range(len(y)):
        near = np.delete(scores[row], row)[np.delete(same[row], row)]
        far = scores[row][~same[row]]
        pull = -gamma * np.maximum(1.0 + margin - near, 0.0) * (near - (1.0 - margin))
        push = gamma * np.maximum(far + margin, 0.0) * (far - margin)
        found.append(_softplus(scipy.special.logsumexp(push) + scipy.special.logsumexp(pull)))
    return np.array(found)


def _units(*dims: int | str) -> Argument:
    """Return rows of length 1."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = random.standard_normal(shape)
        return found / np.sqrt(np.sum(found**2, -1, keepdims=True))

    return drawn(draw, *dims, is_differentiated=False)


_LOGITS = ({"from_logits": True}, {"from_logits": False})
_HELD = ("fp32", "bf16", "fp16")  # Keras adds 1e-7 to what it divides by or takes the logarithm of
_LIKELY = normal("m", "n")  # Keras takes a probability below 1e-7 for 1e-7: no class of these is as unlikely
_SMOOTHED = tuple({**each, "label_smoothing": share} for each in _LOGITS for share in (0.0, 0.2))

_rows("keras_mean_squared_error", lambda x, y: np.mean((x - y) ** 2, -1), normal("m", "n"), normal("m", "n"), says="(x - y)**2.")
_rows(
    "keras_mean_absolute_error", lambda x, y: np.mean(np.abs(x - y), -1), _grid("m", "n"), _grid("m", "n", offset=0.25),
    says="|x - y|.",
)  # fmt: skip
_rows(
    "keras_mean_absolute_percentage_error", lambda x, y: 100.0 * np.mean(np.abs((x - y) / y), -1), _grid("m", "n"),
    _grid("m", "n", offset=0.25), says="100 |(x - y) / y|.",
)  # fmt: skip
_rows(
    "keras_mean_squared_logarithmic_error", lambda x, y: np.mean((np.log1p(x) - np.log1p(y)) ** 2, -1), positive("m", "n"),
    positive("m", "n"), says="(log(x + 1) - log(y + 1))**2.",
)  # fmt: skip
_rows(
    "keras_huber", lambda x, y, delta: np.mean(_huber(x - y, delta), -1), _grid("m", "n"), _grid("m", "n", offset=0.25),
    given=({"delta": 1.0}, {"delta": 0.5}), says="The Huber loss.",
)  # fmt: skip
_rows(
    "keras_log_cosh", lambda x, y: np.mean(np.logaddexp(x - y, y - x) - np.log(2.0), -1), normal("m", "n", scale=3.0),
    normal("m", "n"), says="log(cosh(x - y)).",
)  # fmt: skip
_rows(
    "keras_hinge", lambda x, y: np.mean(np.maximum(1.0 - y * x, 0.0), -1), away("m", "n", kinks=(1.0, -1.0)), _signs("m", "n"),
    says="max(0, 1 - y x).",
)  # fmt: skip
_rows(
    "keras_hinge_of_bits", lambda x, y: np.mean(np.maximum(1.0 - (2.0 * y - 1.0) * x, 0.0), -1),
    away("m", "n", kinks=(1.0, -1.0)), _bits("m", "n"), says="max(0, 1 - y x), with labels of 0 taken as -1.",
)  # fmt: skip
_rows(
    "keras_squared_hinge", lambda x, y: np.mean(np.maximum(1.0 - y * x, 0.0) ** 2, -1), away("m", "n", kinks=(1.0, -1.0)),
    _signs("m", "n"), says="max(0, 1 - y x)**2.",
)  # fmt: skip
_rows(
    "keras_categorical_hinge", _hinge_of_classes, _scattered("m", "n", offset=0.05), _one_hot("m", "n"), sizes=CLASSES[:3],
    says="max(0, max((1 - y) x) - sum(y x) + 1).",
)  # fmt: skip
_rows(
    "keras_kl_divergence", lambda x, y: np.sum(y * np.log(y / scipy.special.softmax(x, -1)), -1), normal("m", "n"),
    _distribution("m", "n"), sizes=VECTORS, precisions=WIDE, says="sum(y log(y / softmax(x))).",
)  # fmt: skip
_rows(
    "keras_poisson", lambda x, y: np.mean(x - y * np.log(x), -1), positive("m", "n"), _counts("m", "n"), precisions=_HELD,
    says="x - y log x.",
)  # fmt: skip
_rows(
    "keras_cosine_similarity", lambda x, y: -_cosine(x, y), normal("m", "n", mean=0.5), normal("m", "n", mean=0.5), sizes=VECTORS,
    says="Less the cosine.",
)  # fmt: skip
_rows(
    "keras_binary_crossentropy", _binary_rows, normal("m", "n", scale=2.0), uniform(0.0, 1.0, "m", "n"), given=_SMOOTHED,
    precisions=WIDE, says="The cross entropy of smoothed truth values, of logits or of their sigmoid.",
)  # fmt: skip
_rows(
    "keras_binary_focal_crossentropy", _binary_focal_rows, normal("m", "n", scale=2.0), _bits("m", "n"), precisions=WIDE,
    given=tuple(
        {**each, "apply_class_balancing": balanced, "alpha": 0.3, "gamma": gamma}
        for each in _LOGITS for balanced in (False, True) for gamma in (2.0, 1.5)
    ), says="The focal cross entropy of truth values (https://arxiv.org/abs/1708.02002).",
)  # fmt: skip
_rows(
    "keras_categorical_crossentropy", _categorical_rows, _LIKELY, _one_hot("m", "n"), sizes=VECTORS,
    given=_SMOOTHED, precisions=WIDE, says="The cross entropy of smoothed classes, of logits or of their softmax.",
)  # fmt: skip
_rows(
    "keras_categorical_focal_crossentropy", _categorical_focal_rows, _LIKELY, _one_hot("m", "n"),
    sizes=VECTORS, precisions=WIDE,
    given=tuple({**each, "alpha": 0.3, "gamma": gamma} for each in _SMOOTHED for gamma in (2.0, 1.5)),
    says="The focal cross entropy of classes (https://arxiv.org/abs/1708.02002).",
)  # fmt: skip
_rows(
    "keras_sparse_categorical_crossentropy", _sparse_rows, _LIKELY, integers(0, "n", "m"), sizes=VECTORS,
    given=tuple({**each, "ignore_class": ignored} for each in _LOGITS for ignored in (None, 1, 0)), precisions=WIDE,
    says="The cross entropy of labels; that of an ignored class is 0.",
)  # fmt: skip
_rows(
    "keras_categorical_generalized_cross_entropy", _generalized_rows, normal("m", "n", scale=2.0), integers(0, "n", "m"),
    sizes=VECTORS, given=({"q": 0.5}, {"q": 0.9}), precisions=WIDE,
    says="(1 - p**q) / q of a label's probability p (https://arxiv.org/abs/1805.07836).",
)  # fmt: skip
_rows(
    "keras_circle", _circle_rows, _units("m", "n"),
    drawn(lambda random, shape, sizes: np.arange(shape[0]) // 2, "m", is_differentiated=False),
    sizes=tuple({"m": m, "n": n} for m, n in ((4, 7), (6, 3), (8, 33), (16, 255))), precisions=WIDE,
    given=({"gamma": 80.0, "margin": 0.4}, {"gamma": 4.0, "margin": 0.25}),
    says="log(1 + sum(exp(push)) sum(exp(pull))) (Sun et al. 2020, https://arxiv.org/abs/2002.10857, equation 6).",
)  # fmt: skip


@operator(
    x=uniform(0.1, 0.9, "m", "n"), y=_bits("m", "n"), sizes=SHORT, source=KERAS, precisions=_HELD,
    parameters=({"alpha": 0.5, "beta": 0.5}, {"alpha": 0.3, "beta": 0.8}),
)  # fmt: skip
def keras_tversky(x: np.ndarray, y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Return 1 - TP / (TP + alpha FP + beta FN) of all numbers (https://arxiv.org/abs/1706.05721)."""
    common = np.sum(x * y)
    return 1.0 - common / (common + alpha * np.sum(x * (1 - y)) + beta * np.sum((1 - x) * y))


@operator(
    x=uniform(0.1, 0.9, "m", "n", 2), y=_bits("m", "n", 2), sizes=SHORT, source=KERAS, precisions=_HELD,
    parameters=({"axis": None}, {"axis": [1, 2]}),
)  # fmt: skip
def keras_dice(x: np.ndarray, y: np.ndarray, axis: list[int] | None) -> np.ndarray:
    """Return 1 - 2 sum(x y) / (sum(x) + sum(y)) over axes."""
    over = None if axis is None else tuple(axis)
    return 1.0 - 2.0 * np.sum(x * y, over) / (np.sum(x, over) + np.sum(y, over))


@operator(
    x=normal("b", "t", "c"), y=integers(1, "c", "b", "s"), precisions=WIDE, source=KERAS,
    sizes=tuple({"t": t, "b": b, "c": c, "s": s} for t, b, c, s in ((7, 2, 4, 2), (5, 1, 2, 1), (13, 3, 33, 4), (24, 2, 11, 9))),
)  # fmt: skip
def ctc_loss_of_full_lengths(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the CTC loss of each sequence, of logits [batch, time, class] with blank 0, none of them padded."""
    logs = scipy.special.log_softmax(x, -1)
    return np.array([_ctc(logs[b], y[b], x.shape[1], 0) for b in range(len(y))])


# TensorFlow's alone.


@operator(
    x=normal("m"),
    weight=positive("m").fixed(),
    sizes=({"m": 7}, {"m": 1}, {"m": 33}, {"m": 1027}),
    parameters=({"size": 7}, {"size": 64}),
    source=f"{TENSORFLOW}/compute_average_loss",
)
def average_loss(x: np.ndarray, weight: np.ndarray, size: int) -> np.ndarray:
    """Return the sum of weighted losses of examples over the size of the batch on all devices."""
    return np.sum(x * weight) / size


_SAMPLED = {
    "w": normal("n", "k"), "bias": normal("n"), "x": normal("m", "k"), "y": integers(0, "n", "m", 1),
    "sampled": integers(0, "n", "s"), "true_counts": uniform(0.1, 0.9, "m", 1).fixed(), "counts": uniform(0.1, 0.9, "s").fixed(),
}  # fmt: skip
# Of 16 samples of two classes, more than one is the true class: with any seed but one of thousands.
_SAMPLES = tuple(
    {"m": m, "n": n, "k": k, "s": s}
    for m, n, k, s in ((2, 5, 3, 4), (1, 2, 1, 1), (3, 2, 2, 16), (5, 33, 17, 7), (3, 1027, 5, 300))
)


@operator(**_SAMPLED, sizes=_SAMPLES, source=f"{TENSORFLOW}/nce_loss")
def nce_loss(
    w: np.ndarray,
    bias: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    sampled: np.ndarray,
    true_counts: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """Return the sum of logistic losses of the true class against given samples, each logit less log of its expected count."""
    true = np.sum(x * w[y[:, 0]], -1) + bias[y[:, 0]] - np.log(true_counts[:, 0])
    others = x @ w[sampled].T + bias[sampled] - np.log(counts)
    return _softplus(-true) + np.sum(_softplus(others), -1)


@operator(**_SAMPLED, sizes=_SAMPLES, source=f"{TENSORFLOW}/sampled_softmax_loss")
def sampled_softmax_loss(
    w: np.ndarray,
    bias: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    sampled: np.ndarray,
    true_counts: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """Return the softmax loss of the true class among it and given samples that are another class."""
    true = np.sum(x * w[y[:, 0]], -1) + bias[y[:, 0]] - np.log(true_counts[:, 0])
    others = np.where(y == sampled, -np.inf, x @ w[sampled].T + bias[sampled] - np.log(counts))
    return scipy.special.logsumexp(np.concatenate([true[:, None], others], 1), axis=1) - true

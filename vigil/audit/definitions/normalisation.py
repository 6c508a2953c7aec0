"""Normalisation over a batch, a layer, groups, instances and neighbours, of weights, and by a norm.

Statistics that training updates stand in entries of their own, without gradients: frameworks do not differentiate them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from vigil.audit.arguments import Argument, away, drawn, mask, normal, positive
from vigil.audit.entry import operator

TORCH = "https://docs.pytorch.org/docs/stable/nn.html#normalization-layers"
FLAX = "https://flax.readthedocs.io/en/stable/api_reference/flax.linen/layers.html#normalization"
BATCH = "https://arxiv.org/abs/1502.03167"
GROUP = "https://arxiv.org/abs/1803.08494"
LAYER = "https://arxiv.org/abs/1607.06450"

# No row of one or two: their normalised values are no more than signs, and gradients what rounding leaves of 0.
SHORT = tuple({"m": rows, "n": size} for rows, size in ((3, 7), (2, 3), (5, 33), (3, 1027), (2, 4099)))
EPSILONS = ({"epsilon": 1e-5}, {"epsilon": 1e-2})
BATCHES = tuple({"m": m, "c": c, "l": length} for m, c, length in ((3, 2, 4), (2, 1, 3), (5, 7, 33), (2, 3, 1027), (33, 17, 3)))
_CHANNELS = {"scale": normal("c", mean=1.0, scale=0.3), "bias": normal("c")}


def _some(*dims: int | str) -> Argument:
    """Return an argument of channels, or rows, that have means and scales of their own."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        inner = shape[:2] + (1,) * (len(shape) - 2) if len(shape) > 2 else (shape[0], 1)
        return random.standard_normal(inner) + np.exp2(random.uniform(-1.0, 1.0, inner)) * random.standard_normal(shape)

    return drawn(draw, *dims)


def _normal(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Return x less its mean over the root of its variance and epsilon."""
    return (x - np.mean(x, axes, keepdims=True)) / np.sqrt(np.var(x, axes, keepdims=True) + epsilon)


def _by_channel(values: np.ndarray) -> np.ndarray:
    return values[None, :, None]


# Over a batch [m, channel, l].


@operator(x=_some("m", "c", "l"), **_CHANNELS, sizes=BATCHES, parameters=EPSILONS, source=BATCH)
def batch_norm_in_training(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Return channels normalised by their own statistics, scaled and moved."""
    return _normal(x, (0, 2), epsilon) * _by_channel(scale) + _by_channel(bias)


_RUNNING = {"x": _some("m", "c", "l").fixed(), "mean": normal("c").fixed(), "variance": positive("c").fixed()}
_SHARES = ({"share": 0.1}, {"share": 0.25}, {"share": 1.0})


@operator(
    **_RUNNING,
    sizes=BATCHES,
    parameters=_SHARES,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html",
)
def batch_norm_running_unbiased(x: np.ndarray, mean: np.ndarray, variance: np.ndarray, share: float) -> tuple[np.ndarray, ...]:
    """Return (1 - share) of running statistics + share of the batch's, whose variance is divided by the count less 1."""
    return (
        (1.0 - share) * mean + share * np.mean(x, (0, 2)),
        (1.0 - share) * variance + share * np.var(x, (0, 2), ddof=1),
    )


@operator(**_RUNNING, sizes=BATCHES, parameters=_SHARES, source=FLAX)
def batch_norm_running_biased(x: np.ndarray, mean: np.ndarray, variance: np.ndarray, share: float) -> tuple[np.ndarray, ...]:
    """Return (1 - share) of running statistics + share of the batch's, whose variance is divided by the count."""
    return (1.0 - share) * mean + share * np.mean(x, (0, 2)), (1.0 - share) * variance + share * np.var(x, (0, 2))


@operator(
    x=normal("m", "c", "l"),
    mean=normal("c").fixed(),
    variance=positive("c").fixed(),
    **_CHANNELS,
    sizes=BATCHES,
    parameters=EPSILONS,
    source=BATCH,
)
def batch_norm_in_evaluation(
    x: np.ndarray, mean: np.ndarray, variance: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float
) -> np.ndarray:
    """Return channels normalised by given statistics, scaled and moved."""
    return (x - _by_channel(mean)) / np.sqrt(_by_channel(variance) + epsilon) * _by_channel(scale) + _by_channel(bias)


def _masked_statistics(x: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of each channel of [m, channel, l] over what the mask [m, l] has."""
    chosen = np.moveaxis(x, 1, -1)[where]
    return np.mean(chosen, 0), np.var(chosen, 0)


@operator(x=_some("m", "c", "l"), where=mask("m", "l"), **_CHANNELS, sizes=BATCHES, parameters=EPSILONS, source=FLAX)
def masked_batch_norm(x: np.ndarray, where: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Return all channels normalised by the statistics of what a mask has."""
    mean, variance = _masked_statistics(x, where)
    return (x - _by_channel(mean)) / np.sqrt(_by_channel(variance) + epsilon) * _by_channel(scale) + _by_channel(bias)


@operator(**_RUNNING, where=mask("m", "l"), sizes=BATCHES, parameters=_SHARES, source=FLAX)
def masked_batch_norm_running(
    x: np.ndarray, mean: np.ndarray, variance: np.ndarray, where: np.ndarray, share: float
) -> tuple[np.ndarray, ...]:
    """Return (1 - share) of running statistics + share of those of what a mask has, whose variance is divided by its count."""
    own, spread = _masked_statistics(x, where)
    return (1.0 - share) * mean + share * own, (1.0 - share) * variance + share * spread


# Over a layer.


@operator(
    x=_some("m", "n"), scale=normal("n", mean=1.0, scale=0.3), bias=normal("n"), sizes=SHORT, parameters=EPSILONS, source=LAYER
)
def layer_norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Return rows normalised, scaled and moved."""
    return _normal(x, (1,), epsilon) * scale + bias


@operator(
    x=normal("m", "n", mean=100.0),
    scale=normal("n", mean=1.0, scale=0.3),
    bias=normal("n"),
    sizes=SHORT[2:] + SHORT[:1],
    precisions=("fp32", "fp64"),
    parameters=EPSILONS,
    source=LAYER,
)
def layer_norm_of_large_means(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Return rows normalised, scaled and moved, whose means are a hundred times as large as their deviations."""
    return _normal(x, (1,), epsilon) * scale + bias


@operator(
    x=_some("m", "a", "b"), scale=normal("a", "b", mean=1.0, scale=0.3), bias=normal("a", "b"), source=LAYER,
    sizes=tuple({"m": m, "a": a, "b": b} for m, a, b in ((2, 3, 4), (1, 2, 3), (3, 7, 33), (2, 3, 1027))), parameters=EPSILONS,
)  # fmt: skip
def layer_norm_of_two_axes(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Return what is normalised over the last two axes, scaled and moved."""
    return _normal(x, (1, 2), epsilon) * scale + bias


@operator(
    x=_some("m", "n"),
    scale=normal("n", mean=1.0, scale=0.3),
    sizes=SHORT,
    parameters=EPSILONS,
    source="https://arxiv.org/abs/1910.07467",
)
def rms_norm(x: np.ndarray, scale: np.ndarray, epsilon: float) -> np.ndarray:
    """Return rows over the root of their mean square and epsilon, scaled."""
    return x / np.sqrt(np.mean(x**2, -1, keepdims=True) + epsilon) * scale


# Over groups of channels, and each alone.


@operator(
    x=_some("m", "c", "l"), **_CHANNELS, source=GROUP,
    parameters=tuple({"groups": g, "epsilon": e} for g in (2, 1, 6) for e in (1e-5, 1e-2)),
    sizes=tuple({"m": m, "c": c, "l": length} for m, c, length in ((1, 6, 3), (3, 6, 2), (2, 12, 33), (2, 6, 1027), (5, 24, 7))),
)  # fmt: skip
def group_norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, groups: int, epsilon: float) -> np.ndarray:
    """Return [m, channel, l] normalised over each group of neighbouring channels, scaled and moved by channel."""
    grouped = x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    return _normal(grouped, (2,), epsilon).reshape(x.shape) * _by_channel(scale) + _by_channel(bias)


@operator(x=_some("m", "c", "l"), **_CHANNELS, sizes=BATCHES, parameters=EPSILONS, source="https://arxiv.org/abs/1607.08022")
def instance_norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Return [m, channel, l] with each channel of each example normalised, scaled and moved."""
    return _normal(x, (2,), epsilon) * _by_channel(scale) + _by_channel(bias)


@operator(
    **_RUNNING,
    sizes=BATCHES,
    parameters=_SHARES,
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.InstanceNorm1d.html",
)
def instance_norm_running(x: np.ndarray, mean: np.ndarray, variance: np.ndarray, share: float) -> tuple[np.ndarray, ...]:
    """Return (1 - share) of running statistics + share of the mean over examples of each one's, unbiased."""
    return (
        (1.0 - share) * mean + share * np.mean(np.mean(x, 2), 0),
        (1.0 - share) * variance + share * np.mean(np.var(x, 2, ddof=1), 0),
    )


@operator(
    x=normal("m", "c", "l"), source="https://docs.pytorch.org/docs/stable/generated/torch.nn.LocalResponseNorm.html",
    sizes=tuple({"m": m, "c": c, "l": length} for m, c, length in ((2, 7, 3), (1, 1, 2), (2, 33, 5), (1, 1027, 2))),
    parameters=tuple(
        {"size": size, "alpha": alpha, "beta": beta, "k": k}
        for size, alpha, beta, k in ((5, 1e-4, 0.75, 1.0), (3, 0.9, 0.5, 2.0), (5, 0.5, 0.75, 1.0))
    ),
)  # fmt: skip
def local_response_norm(x: np.ndarray, size: int, alpha: float, beta: float, k: float) -> np.ndarray:
    """Return x over (k + alpha / size * sum of squares of size neighbouring channels)**beta."""
    half = size // 2
    padded = np.pad(x**2, ((0, 0), (half, half), (0, 0)))
    sums = sum(padded[:, at : at + x.shape[1]] for at in range(size))
    return x / (k + alpha / size * sums) ** beta


# By a norm.


@operator(
    x=away("m", "n"), sizes=SHORT, source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.normalize.html",
    parameters=tuple({"p": p, "axis": axis} for p in (1.0, 3.0, 2.0) for axis in (0, -1)),
)  # fmt: skip
def normalize(x: np.ndarray, p: float, axis: int) -> np.ndarray:
    """Return x over its p norm along an axis."""
    return x / np.sum(np.abs(x) ** p, axis, keepdims=True) ** (1.0 / p)


@operator(
    x=normal("m", "n", scale=0.02), sizes=SHORT, parameters=({"axis": -1, "epsilon": 0.5},), precisions=("fp32", "fp64"),
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.normalize.html",
)  # fmt: skip
def normalize_of_little(x: np.ndarray, axis: int, epsilon: float) -> np.ndarray:
    """Return x over the greater of its norm along an axis and epsilon: the rows' norms are less, or more."""
    return x / np.maximum(np.sqrt(np.sum(x**2, axis, keepdims=True)), epsilon)


_AXES = ({"axes": [0]}, {"axes": [1]}, {"axes": [0, 1]})


@operator(x=_some("m", "n"), sizes=SHORT, parameters=_AXES, source="https://www.tensorflow.org/api_docs/python/tf/nn/moments")
def moments(x: np.ndarray, axes: list[int]) -> tuple[np.ndarray, ...]:
    """Return mean and biased variance over axes."""
    return np.mean(x, tuple(axes)), np.var(x, tuple(axes))


@operator(
    x=_some("m", "n"),
    weight=positive("m", "n"),
    sizes=SHORT,
    parameters=_AXES,
    source="https://www.tensorflow.org/api_docs/python/tf/nn/weighted_moments",
)
def weighted_moments(x: np.ndarray, weight: np.ndarray, axes: list[int]) -> tuple[np.ndarray, ...]:
    """Return weighted mean and weighted biased variance over axes."""
    over = tuple(axes)
    total = np.sum(weight, over, keepdims=True)
    mean = np.sum(weight * x, over, keepdims=True) / total
    variance = np.sum(weight * (x - mean) ** 2, over, keepdims=True) / total
    return np.squeeze(mean, over), np.squeeze(variance, over)


# Of weights: what a linear layer makes of x with them.

_LAYERS = tuple({"m": m, "n": n, "k": k} for m, n, k in ((2, 3, 4), (1, 1, 2), (5, 7, 33), (2, 3, 1027)))


@operator(x=normal("m", "k"), g=positive("n"), v=normal("n", "k"), sizes=_LAYERS, source="https://arxiv.org/abs/1602.07868")
def weight_norm(x: np.ndarray, g: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return x w' with each row of w that of v, made as long as g says."""
    if not v.shape[1]:
        raise ValueError("rows of no numbers have no length")
    return x @ (v / np.sqrt(np.sum(v**2, 1, keepdims=True)) * g[:, None]).T


def _unit(*dims: int | str) -> Argument:
    """Return a vector of length 1."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        found = 0.2 + np.abs(random.standard_normal(shape))
        return found / np.sqrt(np.sum(found**2))

    return drawn(draw, *dims, is_differentiated=False)


@operator(
    x=normal("m", "k"), w=positive("n", "k"), u=_unit("n"), v=_unit("k"), sizes=_LAYERS, source="https://arxiv.org/abs/1802.05957"
)
def spectral_norm(x: np.ndarray, w: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return x w' / (u . w v), with singular vectors as they stand."""
    return x @ w.T / (u @ w @ v)

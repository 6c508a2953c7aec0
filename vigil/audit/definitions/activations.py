"""Activations: functions of one number that networks put between layers, and those that join or scale a whole axis."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import expit, ndtr
from scipy.special import logit as log_odds

from vigil.audit.arguments import Argument, away, drawn, mask, normal, uniform
from vigil.audit.entry import ROWS, operator

TORCH = "https://docs.pytorch.org/docs/stable/nn.functional.html"
JAX = "https://docs.jax.dev/en/latest/jax.nn.html"
KERAS = "https://keras.io/api/layers/activations/"
# The axis that is halved, or any other, is even; its half is 1, no multiple of a vector, and beyond a thousand.
EVEN = tuple({"m": rows, "n": size} for rows, size in ((4, 6), (2, 2), (6, 66), (2, 2054), (2, 8198)))
CHANNELS = tuple(
    {"m": rows, "c": channels, "n": size} for rows, channels, size in ((2, 3, 5), (1, 1, 1), (3, 7, 33), (2, 5, 1027))
)


@operator(source=TORCH, x=away("n"), is_elementwise=True, takes_any=True)
def relu(x: np.ndarray) -> np.ndarray:
    """Return max(x, 0)."""
    return np.maximum(x, 0.0)


@operator(source=TORCH, x=away("n", kinks=(0.0, 6.0), scale=4.0), is_elementwise=True, takes_any=True)
def relu6(x: np.ndarray) -> np.ndarray:
    """Return min(max(x, 0), 6)."""
    return np.minimum(np.maximum(x, 0.0), 6.0)


@operator(
    source="https://keras.io/api/layers/activation_layers/relu/",
    parameters=[
        {"negative_slope": 0.0, "max_value": None, "threshold": 0.0},
        {"negative_slope": 0.25, "max_value": None, "threshold": 0.0},
        {"negative_slope": 0.0, "max_value": 2.0, "threshold": 0.0},
        {"negative_slope": 0.0, "max_value": None, "threshold": 0.5},
        {"negative_slope": 0.25, "max_value": 2.0, "threshold": 0.5},
    ],
    x=away("n", kinks=(0.0, 0.5, 2.0), scale=2.0),
    is_elementwise=True,
)
def relu_general(x: np.ndarray, negative_slope: float, max_value: float | None, threshold: float) -> np.ndarray:
    """Return max_value from there on, x from the threshold on, and negative_slope * (x - threshold) below it."""
    found = np.where(x >= threshold, x, negative_slope * (x - threshold))
    return found if max_value is None else np.where(x >= max_value, max_value, found)


@operator(
    source=TORCH,
    parameters=[{"negative_slope": each} for each in (0.01, 0.2, 0.0, 1.5)],
    x=away("n"),
    is_elementwise=True,
    takes_any=True,
)
def leaky_relu(x: np.ndarray, negative_slope: float) -> np.ndarray:
    """Return x above 0, and negative_slope * x below."""
    return np.where(x > 0, x, negative_slope * x)


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.RReLU.html",
    parameters=[{"lower": 0.125, "upper": 0.5}, {"lower": 0.1, "upper": 0.1}],
    x=away("n"),
    is_elementwise=True,
    takes_any=True,
)
def rrelu(x: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return the leaky ReLU with a random slope, as it is evaluated: its slope is the mean of the bounds."""
    return np.where(x >= 0, x, (lower + upper) / 2.0 * x)


@operator(source=TORCH, sizes=CHANNELS, x=away("m", "c", "n"), weight=normal("c"))
def prelu(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return x above 0, and weight * x below, with one weight a channel: [batch, channels, n]."""
    return np.where(x > 0, x, weight[:, None] * x)


@operator(source=TORCH, sizes=CHANNELS, x=away("m", "c", "n"), weight=normal(1))
def prelu_shared(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return x above 0, and weight * x below, with one weight for all."""
    return np.where(x > 0, x, weight * x)


@operator(source=TORCH, parameters=[{"alpha": 1.0}, {"alpha": 0.3}], x=away("n"), is_elementwise=True, takes_any=True)
def elu(x: np.ndarray, alpha: float) -> np.ndarray:
    """Return x above 0, and alpha * (exp(x) - 1) below."""
    return np.where(x > 0, x, alpha * np.expm1(x))


@operator(
    source="https://arxiv.org/abs/1704.07483",
    parameters=[{"alpha": 1.0}, {"alpha": 0.5}, {"alpha": 3.0}],
    x=away("n"),
    is_elementwise=True,
    takes_any=True,
)
def celu(x: np.ndarray, alpha: float) -> np.ndarray:
    """Return x above 0, and alpha * (exp(x / alpha) - 1) below."""
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


@operator(source="https://arxiv.org/abs/1706.02515", x=away("n"), is_elementwise=True, takes_any=True)
def selu(x: np.ndarray) -> np.ndarray:
    """Return scale * x above 0, and scale * alpha * (exp(x) - 1) below, with the constants of the paper."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * np.where(x > 0, x, alpha * np.expm1(x))


@operator(
    source="https://arxiv.org/abs/1606.08415",
    parameters=[{"approximate": False}, {"approximate": True}],
    x=uniform(-1, 2, "n"),  # below, 1 + tanh loses digits, as most write it; above, 1 - tanh^2
    is_elementwise=True,
    takes_any=True,
)
def gelu(x: np.ndarray, approximate: bool) -> np.ndarray:
    """Return x times the normal distribution function of x, or the paper's approximation by a hyperbolic tangent."""
    if not approximate:
        return x * ndtr(x)
    return x * expit(2.0 * np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))


@operator(source="https://arxiv.org/abs/1606.08415", x=uniform(-4, 4, "n"), is_elementwise=True, precisions=("fp64",))
def gelu_tail(x: np.ndarray) -> np.ndarray:
    """Return x times the normal distribution function of x, where it is small."""
    return x * ndtr(x)


@operator(source="https://arxiv.org/abs/1606.08415", x=uniform(-4, 4, "n"), is_elementwise=True, precisions=("fp64",))
def gelu_tanh_tail(x: np.ndarray) -> np.ndarray:
    """Return the approximation of it by a hyperbolic tangent."""
    return gelu(x, approximate=True)


@operator(source=TORCH, x=normal("n", scale=1.5), is_elementwise=True, takes_any=True)
def silu(x: np.ndarray) -> np.ndarray:
    """Return x times the logistic function of x."""
    return x * expit(x)


@operator(
    source="https://www.tensorflow.org/api_docs/python/tf/nn/silu",
    parameters=[{"beta": 1.0}, {"beta": 1.702}],
    x=normal("n", scale=2.0),
    is_elementwise=True,
    takes_any=True,
)
def silu_beta(x: np.ndarray, beta: float) -> np.ndarray:
    """Return x times the logistic function of beta * x."""
    return x * expit(beta * x)


@operator(source="https://arxiv.org/abs/1908.08681", x=normal("n"), is_elementwise=True, takes_any=True)
def mish(x: np.ndarray) -> np.ndarray:
    """Return x * tanh(log(1 + exp(x)))."""
    return x * np.tanh(np.logaddexp(0.0, x))


@operator(source=TORCH, x=normal("n", scale=3.0), is_elementwise=True, takes_any=True)
def softplus(x: np.ndarray) -> np.ndarray:
    """Return log(1 + exp(x))."""
    return np.logaddexp(0.0, x)


@operator(
    source="https://docs.pytorch.org/docs/stable/generated/torch.nn.Softplus.html",
    parameters=[{"beta": 1.0, "threshold": 20.0}, {"beta": 2.0, "threshold": 3.0}, {"beta": 0.5, "threshold": 0.75}],
    x=away("n", kinks=(1.5,), scale=3.0),
    is_elementwise=True,
    takes_any=True,
)
def softplus_threshold(x: np.ndarray, beta: float, threshold: float) -> np.ndarray:
    """Return log(1 + exp(beta * x)) / beta, and x where beta * x is above a threshold."""
    return np.where(beta * x > threshold, x, np.logaddexp(0.0, beta * x) / beta)


@operator(source=TORCH, x=away("n"), is_elementwise=True)
def softsign(x: np.ndarray) -> np.ndarray:
    """Return x / (1 + |x|)."""
    return x / (1.0 + np.abs(x))


# Above 2, the derivative y * (1 - y) has lost digits in any framework.
@operator(source=TORCH, x=uniform(-6, 2, "n"), is_elementwise=True, takes_any=True)
def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x))."""
    return expit(x)


@operator(source=TORCH, x=normal("n", scale=8.0).fixed(), is_elementwise=True)
def sigmoid_far(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) of large numbers, without a derivative."""
    return expit(x)


@operator(source=TORCH, x=normal("n", scale=3.0), is_elementwise=True, takes_any=True)
def log_sigmoid(x: np.ndarray) -> np.ndarray:
    """Return log(1 / (1 + exp(-x)))."""
    return -np.logaddexp(0.0, -x)


@operator(source=TORCH, x=away("n", kinks=(-3.0, 3.0), scale=3.0), is_elementwise=True, takes_any=True)
def hard_sigmoid(x: np.ndarray) -> np.ndarray:
    """Return min(max(x + 3, 0), 6) / 6."""
    return np.minimum(np.maximum(x + 3.0, 0.0), 6.0) / 6.0


@operator(
    source="https://arxiv.org/abs/1905.02244", x=away("n", kinks=(-3.0, 3.0), scale=3.0), is_elementwise=True, takes_any=True
)
def hard_swish(x: np.ndarray) -> np.ndarray:
    """Return x * min(max(x + 3, 0), 6) / 6."""
    return x * (np.minimum(np.maximum(x + 3.0, 0.0), 6.0) / 6.0)


@operator(
    source=TORCH,
    parameters=[{"low": -1.0, "high": 1.0}, {"low": -0.5, "high": 2.0}],
    x=away("n", kinks=(-1.0, 1.0, -0.5, 2.0), scale=2.0),
    is_elementwise=True,
    takes_any=True,
)
def hard_tanh(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return x between two bounds."""
    return np.minimum(np.maximum(x, low), high)


@operator(source=JAX, x=away("n", kinks=(-1.0, 1.0), scale=2.0), is_elementwise=True, takes_any=True)
def hard_tanh_unit(x: np.ndarray) -> np.ndarray:
    """Return x between -1 and 1."""
    return np.minimum(np.maximum(x, -1.0), 1.0)


@operator(source=TORCH, x=away("n", margin=1.0, scale=2.0), is_elementwise=True)
def tanhshrink(x: np.ndarray) -> np.ndarray:
    """Return x - tanh(x), away from 0, where nothing is left of it."""
    return x - np.tanh(x)


@operator(
    source=TORCH,
    parameters=[{"bound": 0.5}, {"bound": 1.0}],
    x=away("n", kinks=(-0.5, 0.5, -1.0, 1.0), scale=2.0),
    is_elementwise=True,
    takes_any=True,
)
def softshrink(x: np.ndarray, bound: float) -> np.ndarray:
    """Return x nearer to 0 by a bound, and 0 within it."""
    return np.where(x > bound, x - bound, np.where(x < -bound, x + bound, np.where(np.isnan(x), x, 0.0)))


@operator(
    source=TORCH,
    parameters=[{"bound": 0.5}, {"bound": 1.0}],
    x=away("n", kinks=(-0.5, 0.5, -1.0, 1.0), scale=2.0),
    is_elementwise=True,
    takes_any=True,
)
def hardshrink(x: np.ndarray, bound: float) -> np.ndarray:
    """Return x, and 0 within a bound."""
    return np.where(np.abs(x) <= bound, 0.0, x)


@operator(
    source=TORCH,
    parameters=[{"bound": 0.5, "value": 0.0}, {"bound": -0.25, "value": 20.0}],
    x=away("n", kinks=(0.5, -0.25)),
    is_elementwise=True,
)
def threshold(x: np.ndarray, bound: float, value: float) -> np.ndarray:
    """Return x above a bound, and a value elsewhere."""
    return np.where(x > bound, x, value)


@operator(source=JAX, parameters=[{"b": 4.0}, {"b": 1.0}], x=uniform(-1.5, 4, "n"), is_elementwise=True)
def squareplus(x: np.ndarray, b: float) -> np.ndarray:
    """Return (x + sqrt(x^2 + b)) / 2."""
    return (x + np.sqrt(x * x + b)) / 2.0


@operator(source=JAX, x=away("n", kinks=(-1.0, 1.0), scale=1.5), is_elementwise=True, takes_any=True)
def sparse_plus(x: np.ndarray) -> np.ndarray:
    """Return 0 up to -1, (x + 1)^2 / 4 up to 1, and x from there on."""
    return np.where(x <= -1.0, 0.0, np.where(x >= 1.0, x, (x + 1.0) ** 2 / 4.0))


@operator(source=JAX, x=away("n", kinks=(-1.0, 1.0), scale=1.5), is_elementwise=True, takes_any=True)
def sparse_sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 0 up to -1, (x + 1) / 2 up to 1, and 1 from there on."""
    return np.minimum(np.maximum((x + 1.0) / 2.0, 0.0), 1.0)


@operator(
    source="https://docs.pytorch.org/docs/stable/special.html#torch.special.logit",
    parameters=[{"eps": None}, {"eps": 0.25}],
    x=away("n", kinks=(0.25, 0.75, 0.0, 1.0), scale=0.2),
    is_elementwise=True,
)
def logit(x: np.ndarray, eps: float | None) -> np.ndarray:
    """Return log(x / (1 - x)), of x between eps and 1 - eps."""
    return log_odds(x if eps is None else np.minimum(np.maximum(x, eps), 1.0 - eps))


@operator(source=JAX, x=uniform(0.05, 4.0, "n"), is_elementwise=True)
def log1mexp(x: np.ndarray) -> np.ndarray:
    """Return log(1 - exp(-x))."""
    return np.log(-np.expm1(-x))


@operator(source=JAX, x=normal("n"), is_elementwise=True, takes_any=True)
def identity(x: np.ndarray) -> np.ndarray:
    """Return x."""
    return x


@operator(source=TORCH, sizes=EVEN, parameters=[{"axis": -1}, {"axis": 0}], x=normal("m", "n"))
def glu(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the first half of an axis times the logistic function of the second half."""
    first, second = np.split(x, 2, axis)
    return first * expit(second)


@operator(
    source="https://www.tensorflow.org/api_docs/python/tf/nn/crelu",
    sizes=ROWS,
    parameters=[{"axis": -1}, {"axis": 0}],
    x=away("m", "n"),
)
def crelu(x: np.ndarray, axis: int) -> np.ndarray:
    """Return max(x, 0) and max(-x, 0), one behind the other along an axis."""
    return np.concatenate([np.maximum(x, 0.0), np.maximum(-x, 0.0)], axis)


@operator(
    source="https://docs.jax.dev/en/latest/_autosummary/jax.nn.standardize.html",
    sizes=({"m": 5, "n": 7}, {"m": 6, "n": 3}, {"m": 5, "n": 33}, {"m": 4, "n": 1027}, {"m": 7, "n": 4099}),
    parameters=[{"axis": -1, "epsilon": 1e-5}, {"axis": 0, "epsilon": 0.1}, {"axis": [0, 1], "epsilon": 1e-3}],
    x=normal("m", "n"),
)
def standardize(x: np.ndarray, axis: int | list[int], epsilon: float) -> np.ndarray:
    """Return x less its mean along axes, divided by the root of its variance and epsilon."""
    axes = tuple(axis) if isinstance(axis, list) else axis
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@operator(
    source="https://docs.jax.dev/en/latest/_autosummary/jax.nn.standardize.html",
    sizes=({"m": 3, "n": 7}, {"m": 5, "n": 33}, {"m": 3, "n": 1027}),
    parameters=[{"axis": -1, "epsilon": 0.1}],
    x=normal("m", "n"),
    where=mask("m", "n"),
)
def standardize_masked(x: np.ndarray, where: np.ndarray, axis: int, epsilon: float) -> np.ndarray:
    """Return x less the mean of some of it along an axis, divided by the root of their variance and epsilon."""
    mean = x.mean(axis, keepdims=True, where=where)
    return (x - mean) / np.sqrt(x.var(axis, keepdims=True, where=where) + epsilon)


@operator(source="https://arxiv.org/abs/1602.02068", x=normal("m", "n"), sizes=ROWS[:4], precisions=("fp32", "fp64"))
def sparsemax(x: np.ndarray) -> np.ndarray:
    """The nearest point to x of those that are not negative and sum to 1, algorithm 1."""
    ordered = -np.sort(-x, -1)
    ranks = np.arange(1, x.shape[-1] + 1)
    sums = np.cumsum(ordered, -1)
    count = np.sum(1 + ranks * ordered > sums, -1, keepdims=True)
    threshold = (np.take_along_axis(sums, count - 1, -1) - 1) / count
    return np.maximum(x - threshold, 0.0)


def _of_blocks(*dims: str) -> Argument:
    """Return an argument of rows whose blocks of one to four numbers rise, each block from far below the one before."""

    def draw(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
        counts = random.integers(1, 5, shape)
        values = 0.2 * np.arange(4) - 2.0 * np.arange(shape[-1])[:, None]
        rows = [np.concatenate([each[:count] for each, count in zip(values, row, strict=True)]) for row in counts]
        return np.stack([row[: shape[-1]] for row in rows]) + random.uniform(0.0, 0.1, shape)

    return drawn(draw, *dims)


@operator(
    source="https://www.tensorflow.org/api_docs/python/tf/nn/isotonic_regression",
    sizes=ROWS[:4],
    parameters=[{"is_decreasing": True}, {"is_decreasing": False}],
    precisions=("fp32", "fp64"),
    x=_of_blocks("m", "n"),
)
def isotonic_regression(x: np.ndarray, is_decreasing: bool) -> tuple[np.ndarray, np.ndarray]:
    """The nearest rows that fall, or rise, and the number of each place's block of equal values (Best and Chakravarti 1990).

    Neighbouring blocks in the wrong order become one, with their mean (https://doi.org/10.1007/BF01580873).
    """
    found, numbers = np.empty_like(x), np.empty(x.shape, np.int64)
    for row, values in enumerate(x if is_decreasing else -x):
        blocks: list[list[float]] = []
        for value in values:
            blocks.append([value])
            while len(blocks) > 1 and np.mean(blocks[-1]) > np.mean(blocks[-2]):
                blocks[-2:] = [blocks[-2] + blocks[-1]]
        counts = [len(block) for block in blocks]
        found[row] = np.repeat([np.mean(block) for block in blocks], counts)
        numbers[row] = np.repeat(np.arange(len(blocks)), counts)
    return found if is_decreasing else -found, numbers

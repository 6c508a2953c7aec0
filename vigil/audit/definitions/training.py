"""What is done to gradients and weights around an optimizer: clipping, averages, accumulation, scaling of losses."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vigil.audit.arguments import drawn, normal, positive
from vigil.audit.entry import Sizes, operator

OPTAX = "https://optax.readthedocs.io/en/latest/api/transformations.html#optax."
TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.nn.utils."
VECTORS: tuple[Sizes, ...] = tuple({"n": size} for size in (7, 1, 33, 1027, 4099, 65537))
PAIRS: tuple[Sizes, ...] = tuple({"m": rows, "n": size} for rows, size in ((3, 7), (2, 1), (5, 33), (3, 1027), (2, 65537)))
WALKS: tuple[Sizes, ...] = tuple({"n": size} for size in (7, 1, 33, 1027))
PRECISE = ("fp32", "fp64")
STEPS = 24


@operator(
    source=TORCH + "clip_grad_value_.html",
    sizes=VECTORS,
    parameters=({"limit": 0.5}, {"limit": 2.0}),
    x=normal("n").fixed(),
)
def clipped_by_value(x: np.ndarray, *, limit: float) -> np.ndarray:
    """Numbers no further from zero than the limit."""
    return np.clip(x, -limit, limit)


@operator(
    source="https://www.tensorflow.org/api_docs/python/tf/clip_by_norm",
    sizes=VECTORS,
    parameters=({"limit": 0.5}, {"limit": 1000.0}),
    x=normal("n").fixed(),
)
def clipped_by_norm(x: np.ndarray, *, limit: float) -> np.ndarray:
    """A tensor that is no longer than the limit."""
    return x * limit / max(float(np.linalg.norm(x)), limit)


@operator(
    source="https://arxiv.org/abs/1211.5063",
    sizes=PAIRS,
    precisions=PRECISE,
    parameters=(
        {"limit": 0.5, "order": 2.0, "epsilon": 0.0},
        {"limit": 1000.0, "order": 2.0, "epsilon": 0.0},
        {"limit": 0.5, "order": 2.0, "epsilon": 1e-6},
        {"limit": 0.5, "order": 1.0, "epsilon": 1e-6},
        {"limit": 0.5, "order": 3.0, "epsilon": 1e-6},
        {"limit": 0.5, "order": "inf", "epsilon": 1e-6},
        {"limit": 1000.0, "order": 2.0, "epsilon": 1e-6},
    ),
    x=normal("n").fixed(),
    y=normal("m", "n", scale=3.0).fixed(),
)
def clipped_by_global_norm(
    x: np.ndarray, y: np.ndarray, *, limit: float, order: float | str, epsilon: float
) -> tuple[np.ndarray, ...]:
    """Tensors that together are no longer than the limit, and how long they were. epsilon: torch adds it to that."""
    norm = np.linalg.norm(np.concatenate([x, y.ravel()]), float(order))
    share = min(1.0, limit / (norm + epsilon))
    return x * share, y * share, np.asarray(norm)


@operator(
    source=OPTAX + "global_norm",
    sizes=PAIRS,
    x=normal("n").fixed(),
    y=normal("m", "n", scale=3.0).fixed(),
)
def global_norm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The root of the sum of squares of all."""
    return np.sqrt(np.sum(x**2) + np.sum(y**2))


@operator(
    source=OPTAX + "clip_by_block_rms",
    sizes=VECTORS,
    parameters=({"limit": 0.5}, {"limit": 100.0}),
    x=normal("n").fixed(),
)
def clipped_by_rms(x: np.ndarray, *, limit: float) -> np.ndarray:
    """A tensor whose root mean square is no more than the limit."""
    return x / max(1.0, float(np.sqrt(np.mean(x**2))) / limit)


@operator(
    source="https://arxiv.org/abs/2102.06171",
    sizes=PAIRS,
    precisions=PRECISE,
    parameters=({"share": 0.01, "least": 1e-3}, {"share": 0.5, "least": 1e-3}, {"share": 0.1, "least": 2.0}),
    w=normal("n", "m").fixed(),
    g=normal("n", "m").fixed(),
)
def clipped_adaptively(w: np.ndarray, g: np.ndarray, *, share: float, least: float) -> np.ndarray:
    """Columns of a gradient that are no longer than a share of the weights' columns, or of the least length."""
    most = share * np.maximum(np.linalg.norm(w, axis=0), least)
    norm = np.linalg.norm(g, axis=0)
    return g * np.where(norm > most, most / norm, 1.0)


@operator(source=OPTAX + "centralize", sizes=PAIRS, x=normal("m", "n").fixed())
def centralized(x: np.ndarray) -> np.ndarray:
    """A gradient less its mean over all axes but the first, as optax's example has it, https://arxiv.org/abs/2004.01461."""
    return x - np.mean(x, axis=1, keepdims=True)


def _partly_none(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    found = random.standard_normal(shape)
    found[random.random(shape) < 0.2] = np.nan
    return found


@operator(source=OPTAX + "zero_nans", sizes=VECTORS, x=drawn(_partly_none, "n", is_differentiated=False))
def without_nan(x: np.ndarray) -> np.ndarray:
    """Numbers, and zero where there was none."""
    return np.where(np.isnan(x), 0.0, x)


@operator(
    source=OPTAX + "ema",
    sizes=WALKS,
    precisions=PRECISE,
    parameters=(
        {"decay": 0.9, "begin": "first", "is_corrected": False},
        {"decay": 0.999, "begin": "first", "is_corrected": False},
        {"decay": 0.9, "begin": "zero", "is_corrected": False},
        {"decay": 0.9, "begin": "zero", "is_corrected": True},
        {"decay": 0.5, "begin": "zero", "is_corrected": True},
        {"decay": 0.5, "begin": "first", "is_corrected": False},
    ),
    x=normal(STEPS, "n").fixed(),
)
def moving_average(x: np.ndarray, *, decay: float, begin: str, is_corrected: bool) -> tuple[np.ndarray, np.ndarray]:
    """The exponential average of tensors, after the second and the last, begun as zero or as the first.

    is_corrected: divided by what a share of it the average of ones would be.
    """
    found = []
    mean = np.zeros_like(x[0]) if begin == "zero" else x[0]
    for step, each in enumerate(x if begin == "zero" else x[1:], 1):
        mean = decay * mean + (1.0 - decay) * each
        found.append(mean / (1.0 - decay**step) if is_corrected else mean)
    return found[1 if begin == "zero" else 0], found[-1]


@operator(
    source="https://arxiv.org/abs/1803.05407",
    sizes=WALKS,
    precisions=PRECISE,
    x=normal(STEPS, "n").fixed(),
)
def equal_average(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of all tensors so far, after the second and the last: stochastic weight averaging."""
    return np.mean(x[:2], axis=0), np.mean(x, axis=0)


@operator(
    source="https://www.tensorflow.org/api_docs/python/tf/train/ExponentialMovingAverage",
    sizes=WALKS,
    precisions=PRECISE,
    parameters=({"decay": 0.9}, {"decay": 0.999}, {"decay": 0.3}),
    x=normal(STEPS, "n").fixed(),
)
def moving_average_from_counts(x: np.ndarray, *, decay: float) -> np.ndarray:
    """An exponential average begun as the first, whose decay is no more than (1 + updates) / (10 + updates)."""
    mean = x[0]
    for count, each in enumerate(x[1:], 1):
        now = min(decay, (1.0 + count) / (10.0 + count))
        mean = now * mean + (1.0 - now) * each
    return mean


@operator(
    source=OPTAX + "MultiSteps",
    sizes=WALKS,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "momentum": 0.0, "period": 4}, {"rate": 0.0625, "momentum": 0.5, "period": 3}),
    w=normal("n").fixed(),
    g=normal(STEPS, "n").fixed(),
)
def accumulated(w: np.ndarray, g: np.ndarray, *, rate: float, momentum: float, period: int) -> tuple[np.ndarray, ...]:
    """Steps of gradient descent with momentum, each for the mean of some gradients: weights after the first of these, the last of
    the first ones, and all.
    """
    walk, velocity = [w], np.zeros_like(w)
    for place in range(0, len(g), period):
        velocity = momentum * velocity + np.mean(g[place : place + period], axis=0)
        walk.append(walk[-1] - rate * velocity)
    return w, walk[1], walk[-1]


@operator(
    source="https://keras.io/api/optimizers/",
    sizes=PAIRS[:-1],
    precisions=PRECISE,
    parameters=(
        {"rate": 0.125, "kind": "each norm", "limit": 1.0},
        {"rate": 0.125, "kind": "global norm", "limit": 1.0},
        {"rate": 0.125, "kind": "value", "limit": 0.5},
        {"rate": 0.125, "kind": "global norm", "limit": 1000.0},
    ),
    v=normal("n").fixed(),
    w=normal("m", "n").fixed(),
    x=normal("n").fixed(),
    y=normal("m", "n").fixed(),
)
def clipped_step(
    v: np.ndarray, w: np.ndarray, x: np.ndarray, y: np.ndarray, *, rate: float, kind: str, limit: float
) -> tuple[np.ndarray, np.ndarray]:
    """One step of gradient descent of two weights with clipped gradients: each tensor, both together, or each number."""
    if kind == "value":
        return v - rate * np.clip(x, -limit, limit), w - rate * np.clip(y, -limit, limit)
    norms = [float(np.linalg.norm(x)), float(np.linalg.norm(y))]
    norms = norms if kind == "each norm" else [float(np.hypot(norms[0], norms[1]))] * 2
    return v - rate * x * min(1.0, limit / norms[0]), w - rate * y * min(1.0, limit / norms[1])


def _partly_infinite(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
    """Return gradients of steps, some of which are not finite in one place."""
    found = random.standard_normal(shape)
    for step, value in ((3, np.inf), (4, np.nan), (9, -np.inf), (15, np.nan), (16, np.inf), (17, np.nan)):
        found[step, random.integers(shape[1])] = value
    return found


@operator(
    source="https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling",
    sizes=WALKS,
    precisions=PRECISE,
    parameters=(
        {"rate": 0.125, "scale": 1024.0, "growth": 2.0, "backoff": 0.5, "period": 4},
        {"rate": 0.125, "scale": 65536.0, "growth": 2.0, "backoff": 0.5, "period": 2},
        {"rate": 0.125, "scale": 1000.0, "growth": 1.5, "backoff": 0.25, "period": 3},
    ),
    w=normal("n").fixed(),
    g=drawn(_partly_infinite, STEPS, "n", is_differentiated=False),
)
def scaled_loss(
    w: np.ndarray, g: np.ndarray, *, rate: float, scale: float, growth: float, backoff: float, period: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient descent with a scaled loss: weights after all steps, and the scale after each.

    A step with a gradient that is not finite is left out and the scale backs off; after a period of finite ones it grows.
    """
    scales, good = [], 0
    for gradient in g:
        if np.isfinite(gradient).all():
            w = w - rate * gradient
            good += 1
            if good == period:
                scale, good = scale * growth, 0
        else:
            scale, good = scale * backoff, 0
        scales.append(scale)
    return w, np.asarray(scales)


@operator(
    source=OPTAX + "apply_if_finite",
    sizes=WALKS,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "most": 5}, {"rate": 0.125, "most": 2}),
    w=normal("n").fixed(),
    g=drawn(_partly_infinite, STEPS, "n", is_differentiated=False),
)
def step_if_finite(w: np.ndarray, g: np.ndarray, *, rate: float, most: int) -> np.ndarray:
    """Gradient descent that leaves out gradients that are not finite, but takes them after as many of them in a row as said."""
    bad = 0
    for gradient in g:
        bad = 0 if np.isfinite(gradient).all() else bad + 1
        if bad == 0 or bad > most:
            w = w - rate * gradient
    return w


@operator(
    source="https://keras.io/api/optimizers/",
    sizes=WALKS,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "decay": 0.75, "period": 0}, {"rate": 0.125, "decay": 0.9, "period": 5}),
    w=normal("n").fixed(),
    g=normal(STEPS, "n").fixed(),
)
def averaged_weights(w: np.ndarray, g: np.ndarray, *, rate: float, decay: float, period: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradient descent with an exponential average of weights: both after all steps. It begins as the weights of the first step.

    period: every so many steps the average takes the weights' place.
    """
    mean = w
    for step, gradient in enumerate(g, 1):
        w = w - rate * gradient
        mean = w if step == 1 else decay * mean + (1.0 - decay) * w
        if period and step % period == 0:
            w = mean
    return w, mean


@operator(
    source=OPTAX.replace("transformations", "utilities") + "safe_root_mean_squares",
    sizes=VECTORS[:4],
    parameters=({"least": 0.001}, {"least": 100.0}),
    precisions=PRECISE,
    x=normal("n"),
)
def safe_root_of_mean_square(x: np.ndarray, *, least: float) -> np.ndarray:
    """The root of the mean square, and the least where it is less."""
    return np.maximum(np.sqrt(np.mean(x**2)), least)


@operator(
    source="https://doi.org/10.1145/2976749.2978318",
    sizes=PAIRS[:4],
    parameters=({"limit": 0.75}, {"limit": 1000.0}),
    precisions=PRECISE,
    x=normal("m", "n").fixed(),
    y=normal("m", 3).fixed(),
)
def clipped_by_example(x: np.ndarray, y: np.ndarray, *, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """The sums over examples of gradients of two weights, those of each example no longer than the limit together."""
    norms = np.sqrt(np.sum(x**2, 1) + np.sum(y**2, 1))
    shares = np.minimum(1.0, limit / norms)[:, None]
    return np.sum(x * shares, 0), np.sum(y * shares, 0)


@operator(
    source="https://doi.org/10.1145/2976749.2978318",
    sizes=PAIRS[:4],
    parameters=({"limit": 0.75}, {"limit": 1000.0}),
    precisions=PRECISE,
    x=normal("m", "n").fixed(),
    y=normal("m", 3).fixed(),
)
def clipped_by_example_and_weight(x: np.ndarray, y: np.ndarray, *, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """The sums over examples of gradients of two weights, each of each example no longer than its share of the limit."""
    own = limit / np.sqrt(2.0)
    sums = [np.sum(each * np.minimum(1.0, own / np.linalg.norm(each, axis=1))[:, None], 0) for each in (x, y)]
    return sums[0], sums[1]


@operator(source=OPTAX + "keep_params_nonnegative", sizes=WALKS, w=positive("n").fixed(), g=normal("n", scale=2.0).fixed())
def kept_from_below_zero(w: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Weights after an update, and zero where they would be less."""
    return np.maximum(w + g, 0.0)


@operator(
    source="https://arxiv.org/abs/1312.5602",
    sizes=WALKS,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "period": 5}, {"rate": 0.125, "period": 7}),
    w=normal("n").fixed(),
    g=normal(STEPS, "n").fixed(),
)
def slow_copy(w: np.ndarray, g: np.ndarray, *, rate: float, period: int) -> np.ndarray:
    """A copy of weights that gradient descent moves, made anew after each period of steps."""
    walk = w - rate * np.cumsum(g, 0)
    return walk[len(g) // period * period - 1]

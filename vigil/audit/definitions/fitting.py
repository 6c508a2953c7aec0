"""Whole trainings by a framework's own loop: what weights and losses are after it, for a model of one dense layer.

Batches are taken in order, and the last one of an epoch has what is left. The loss of an epoch is the mean over its examples of
what each had before the step that it was in. The steps between are ordinary gradient descent, written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from vigil.audit.arguments import drawn, integers, normal
from vigil.audit.entry import Sizes, operator

FIT = "https://keras.io/api/models/model_training_apis/"
OPTIMIZERS = "https://keras.io/api/optimizers/"
BATCH = 4
# The last batch has two examples, and one.
SIZES: tuple[Sizes, ...] = ({"m": 10, "n": 3, "k": 2}, {"m": 33, "n": 7, "k": 3})
PRECISE = ("fp32", "fp64")
Batch = tuple[np.ndarray, np.ndarray, np.ndarray]
Gradient = Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]


def _importance(random: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
    """Return weights of examples, some of which do not count."""
    return np.where(random.random(shape) < 0.2, 0.0, np.exp2(random.uniform(-2.0, 2.0, shape)))


REGRESSION = {
    "w": normal("n", "k").fixed(),
    "b": normal("k").fixed(),
    "x": normal("m", "n").fixed(),
    "y": normal("m", "k").fixed(),
}
WEIGHTED = REGRESSION | {"s": drawn(_importance, "m", is_differentiated=False)}


def _squares(w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return each example's weighted loss, and the gradients of their mean: of the mean square of the outputs' errors."""
    error = x @ w + b - y
    back = 2.0 * error * s[:, None] / (y.shape[1] * len(x))
    return s * np.mean(error**2, axis=1), x.T @ back, back.sum(0)


def _entropy(w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return each example's weighted loss, and the gradients of their mean: of the cross-entropy of a class."""
    scores = x @ w + b
    shifted = scores - scores.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    rows = np.arange(len(x))
    back = np.exp(logs)
    back[rows, y] -= 1.0
    back *= s[:, None] / len(x)
    return -s * logs[rows, y], x.T @ back, back.sum(0)


def _batches(x: np.ndarray, y: np.ndarray, s: np.ndarray | None) -> Iterator[Batch]:
    s = np.ones(len(x)) if s is None else s
    for start in range(0, len(x), BATCH):
        yield x[start : start + BATCH], y[start : start + BATCH], s[start : start + BATCH]


def _descended(
    w: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    s: np.ndarray | None = None,
    *,
    rate: float,
    epochs: int,
    momentum: float = 0.0,
    period: int = 1,
    penalty: float = 0.0,
    decay: float = 0.0,
    clipped: Callable[[list[np.ndarray]], list[np.ndarray]] = list,
    gradient: Gradient = _squares,
    after_step: Callable[[int, list[np.ndarray]], list[np.ndarray]] = lambda step, weights: weights,
    after_epoch: Callable[[list[np.ndarray]], Any] = lambda weights: None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kernel and bias after a training, and the loss of each epoch.

    period: of batches, by whose mean gradient a step is taken. penalty: times the sum of the kernel's squares, in the loss.
    decay: the share of its rate by which a step shrinks each weight besides.
    """
    weights, velocity = [w, b], [np.zeros_like(w), np.zeros_like(b)]
    kept: list[list[np.ndarray]] = []
    losses, step = [], 0
    for _ in range(epochs):
        total = 0.0
        for batch in _batches(x, y, s):
            each, of_w, of_b = gradient(*weights, *batch)
            total += each.sum() + penalty * np.sum(weights[0] ** 2) * len(each)
            kept.append([of_w + 2.0 * penalty * weights[0], of_b])
            if len(kept) == period:
                mean = clipped([np.mean(gradients, axis=0) for gradients in zip(*kept, strict=True)])
                velocity = [momentum * old - rate * new for old, new in zip(velocity, mean, strict=True)]
                weights = [old * (1.0 - rate * decay) + move for old, move in zip(weights, velocity, strict=True)]
                kept, step = [], step + 1
                weights = after_step(step, weights)
        losses.append(total / len(x))
        after_epoch(weights)
    return weights[0], weights[1], np.asarray(losses)


@operator(
    source=FIT,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "epochs": 2, "momentum": 0.0}, {"rate": 0.0625, "epochs": 3, "momentum": 0.75}),
    is_program=True,
    **REGRESSION,
)
def fitted(
    w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, *, rate: float, epochs: int, momentum: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A training by batches in order."""
    return _descended(w, b, x, y, rate=rate, epochs=epochs, momentum=momentum)


@operator(
    source=FIT,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "epochs": 2, "momentum": 0.0},),
    is_program=True,
    **WEIGHTED,
)
def fitted_with_weights(
    w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, s: np.ndarray, *, rate: float, epochs: int, momentum: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A training in which examples have weights, some of them none; a batch's loss is their sum by the number of examples."""
    return _descended(w, b, x, y, s, rate=rate, epochs=epochs, momentum=momentum)


@operator(
    source=FIT,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=({"rate": 0.25, "epochs": 2},),
    is_program=True,
    w=normal("n", 4).fixed(),
    b=normal(4).fixed(),
    x=normal("m", "n").fixed(),
    y=integers(0, 4, "m"),
    c=normal(4, mean=2.0, scale=0.25).fixed(),
)
def fitted_with_weights_of_classes(
    w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, c: np.ndarray, *, rate: float, epochs: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A training by cross-entropy in which each class has a weight."""
    return _descended(w, b, x, y, c[y], rate=rate, epochs=epochs, gradient=_entropy)


@operator(
    source=OPTIMIZERS,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "epochs": 3, "period": 2}, {"rate": 0.125, "epochs": 3, "period": 4}),
    is_program=True,
    **WEIGHTED,
)
def fitted_by_accumulation(
    w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, s: np.ndarray, *, rate: float, epochs: int, period: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A training in which a step is taken by the mean gradient of as many batches; an epoch's end interrupts none of them."""
    return _descended(w, b, x, y, s, rate=rate, epochs=epochs, period=period)


@operator(
    source=OPTIMIZERS,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "epochs": 2, "decay": 0.75, "every": 0}, {"rate": 0.125, "epochs": 3, "decay": 0.75, "every": 2}),
    is_program=True,
    **REGRESSION,
)
def fitted_with_average(
    w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, *, rate: float, epochs: int, decay: float, every: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A training after which the weights are their exponential average, which begins as the weights after the first step.

    every: after so many steps it takes the weights' place, too.
    """
    average: list[np.ndarray] = []

    def after_step(step: int, weights: list[np.ndarray]) -> list[np.ndarray]:
        pairs = zip(average or weights, weights, strict=True)
        average[:] = [decay * old + (1.0 - decay) * new for old, new in pairs]
        return list(average) if every and step % every == 0 else weights

    *_, losses = _descended(w, b, x, y, rate=rate, epochs=epochs, after_step=after_step)
    return average[0], average[1], losses


@operator(
    source=FIT,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=(
        {"rate": 0.125, "epochs": 2, "penalty": 0.125, "decay": 0.0, "limit": 1000.0},
        {"rate": 0.125, "epochs": 2, "penalty": 0.0, "decay": 0.25, "limit": 1000.0},
        {"rate": 0.125, "epochs": 2, "penalty": 0.125, "decay": 0.0, "limit": 0.5},
    ),
    is_program=True,
    **REGRESSION,
)
def fitted_with_penalty(
    w: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    *,
    rate: float,
    epochs: int,
    penalty: float,
    decay: float,
    limit: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A training with a penalty on the kernel, weights that decay besides, and gradients no longer than a limit together."""

    def clipped(gradients: list[np.ndarray]) -> list[np.ndarray]:
        norm = np.sqrt(sum(np.sum(each**2) for each in gradients))
        return [each * min(1.0, limit / norm) for each in gradients]

    return _descended(w, b, x, y, rate=rate, epochs=epochs, penalty=penalty, decay=decay, clipped=clipped)


@operator(
    source=FIT,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "epochs": 2, "share": 0.5},),
    is_program=True,
    **WEIGHTED,
)
def fitted_and_validated(
    w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, s: np.ndarray, *, rate: float, epochs: int, share: float
) -> tuple[np.ndarray, ...]:
    """A training on the first examples, and the loss of the last ones after each epoch."""
    first = int(len(x) * (1.0 - share))
    validated = []

    def after_epoch(weights: list[np.ndarray]) -> None:
        now_w, now_b = weights
        validated.append(np.mean(_squares(now_w, now_b, x[first:], y[first:], s[first:])[0]))

    found = _descended(w, b, x[:first], y[:first], s[:first], rate=rate, epochs=epochs, after_epoch=after_epoch)
    return (*found, np.asarray(validated))


@operator(source=FIT, sizes=SIZES, precisions=PRECISE, is_program=True, **WEIGHTED)
def evaluated(w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
    """The loss of all examples, their mean absolute error, the same by their weights, and what the model predicts."""
    error = np.mean(np.abs(x @ w + b - y), axis=1)
    loss = np.mean(_squares(w, b, x, y, s)[0])
    return np.asarray(loss), np.mean(error), np.sum(s * error) / np.sum(s), x @ w + b


@operator(
    source=FIT,
    sizes=SIZES,
    precisions=PRECISE,
    parameters=({"rate": 0.125, "epochs": 2, "first": 0.25, "second": 2.0},),
    is_program=True,
    v=normal("n", 2).fixed(),
    z=normal("m", 2).fixed(),
    **REGRESSION,
)
def fitted_to_two(
    v: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    b: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    *,
    rate: float,
    epochs: int,
    first: float,
    second: float,
) -> tuple[np.ndarray, ...]:
    """A training of two outputs whose losses have weights: kernels, a bias, and the losses of each epoch, of both and each."""
    one = _descended(w, b, x, y, np.full(len(x), first), rate=rate, epochs=epochs)

    def without_bias(step: int, weights: list[np.ndarray]) -> list[np.ndarray]:
        return [weights[0], np.zeros(2)]

    other = _descended(v, np.zeros(2), x, z, np.full(len(x), second), rate=rate, epochs=epochs, after_step=without_bias)
    return one[0], other[0], one[1], one[2] + other[2], one[2] / first, other[2] / second

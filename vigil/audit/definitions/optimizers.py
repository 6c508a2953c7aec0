"""Optimizers: weights after the first, the second and the fiftieth of fifty steps with given gradients.

Where frameworks document different rules under one name, what differs is a parameter, or an entry of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from vigil.audit.arguments import Draw, drawn
from vigil.audit.entry import Definition, Sizes, operator

TORCH = "https://docs.pytorch.org/docs/stable/generated/torch.optim."
OPTAX = "https://optax.readthedocs.io/en/latest/api/optimizers.html#optax."
CONTRIB = "https://optax.readthedocs.io/en/latest/api/contrib.html#optax.contrib."
TENSORFLOW = "https://www.tensorflow.org/api_docs/python/tf/raw_ops/"
KERAS = "https://keras.io/api/optimizers/"
STEPS = 50
VECTORS: tuple[Sizes, ...] = tuple({"n": size} for size in (7, 1, 33, 1027))
MATRICES: tuple[Sizes, ...] = tuple({"m": rows, "n": columns} for rows, columns in ((3, 5), (1, 1), (33, 7), (5, 257), (40, 64)))
Weights = tuple[np.ndarray, np.ndarray, np.ndarray]


def _weights(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    """Return weights that fifty steps do not bring near zero, where rounding of what they were before would be all of them."""
    return random.choice((-1.0, 1.0), shape) * random.uniform(1.0, 4.0, shape)


def _gradients(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    """Return gradients of each step: each weight has a size and a drift; one in twelve is zero, and those of one weight."""
    size = np.exp2(random.uniform(-6.0, 1.0, shape[1:]))
    found = size * (random.standard_normal(shape) + random.standard_normal(shape[1:]) / 2)
    found[random.random(shape) < 1 / 12] = 0.0
    flat = found.reshape(shape[0], -1)
    if flat.shape[1] > 4:
        flat[:, 4] = 0.0
    return found


def _large_gradients(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    """Return gradients none of which is small: for rules with an epsilon that no documentation has, or that cancel otherwise."""
    return random.choice((-1.0, 1.0), shape) * random.uniform(0.1, 1.0, shape)


def _signed_gradients(random: np.random.Generator, shape: tuple[int, ...], sizes: Sizes) -> np.ndarray:
    """Return gradients without zeros, for rules that divide by them."""
    found = _gradients(random, shape, sizes)
    return np.where(found == 0.0, random.uniform(0.1, 1.0, shape), found)


def _vector(
    *, source: str, parameters: Sequence[Mapping[str, Any]], gradients: Draw = _gradients
) -> Callable[[Definition], Definition]:
    return operator(
        source=source,
        sizes=VECTORS,
        parameters=parameters,
        precisions=("fp32", "fp64"),
        w=drawn(_weights, "n", is_differentiated=False),
        g=drawn(gradients, STEPS, "n", is_differentiated=False),
    )


def _matrix(
    *, source: str, parameters: Sequence[Mapping[str, Any]], gradients: Draw = _gradients
) -> Callable[[Definition], Definition]:
    return operator(
        source=source,
        sizes=MATRICES,
        parameters=parameters,
        precisions=("fp32", "fp64"),
        w=drawn(_weights, "m", "n", is_differentiated=False),
        g=drawn(gradients, STEPS, "m", "n", is_differentiated=False),
    )


def _some(walk: list[np.ndarray]) -> Weights:
    """Return the weights after the first, the second and the last step, of those before and after each."""
    return walk[1], walk[2], walk[STEPS]


def _sets(base: Mapping[str, Any], *changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{**base}, *({**base, **each} for each in changes)]


_SGD = {"rate": 0.0078125, "momentum": 0.0, "dampening": 0.0, "nesterov": False, "weight_decay": 0.0, "maximize": False}


@_vector(
    source=TORCH + "SGD.html",
    parameters=_sets(
        _SGD,
        {"momentum": 0.9},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.8, "dampening": 0.25},
        {"weight_decay": 0.125},
        {"momentum": 0.9, "nesterov": True, "weight_decay": 0.02},
        {"momentum": 0.9, "weight_decay": 0.02, "maximize": True},
        {"maximize": True},
        {"momentum": 0.5},
    ),
)
def sgd(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    weight_decay: float,
    maximize: bool,
) -> Weights:
    """Stochastic gradient descent: momentum begins as the first gradient; weight decay is a gradient of the L2 penalty."""
    walk = [w]
    velocity = None
    for gradient in -g if maximize else g:
        step = gradient + weight_decay * w
        if momentum:
            velocity = step if velocity is None else momentum * velocity + (1.0 - dampening) * step
            step = step + momentum * velocity if nesterov else velocity
        w = w - rate * step
        walk.append(w)
    return _some(walk)


def _two_steps(name: str, parameters: Sequence[Mapping[str, Any]]) -> Callable[[Definition], Definition]:
    """Return an entry of two steps: over more of them, what is right in a reduced precision is not what is right of numbers."""
    return operator(
        source=f"{TORCH}{name}.html",
        sizes=VECTORS,
        parameters=parameters,
        w=drawn(_weights, "n", is_differentiated=False),
        g=drawn(_gradients, 2, "n", is_differentiated=False),
    )


@_two_steps("SGD", _sets({"rate": 0.25, "momentum": 0.0, "weight_decay": 0.0}, {"weight_decay": 0.125}, {"momentum": 0.5}))
def sgd_in_two_steps(
    w: np.ndarray, g: np.ndarray, *, rate: float, momentum: float, weight_decay: float
) -> tuple[np.ndarray, ...]:
    """Gradient descent, after the first and the second step, in each precision."""
    first = g[0] + weight_decay * w
    one = w - rate * first
    return one, one - rate * (momentum * first + g[1] + weight_decay * one)


@_two_steps("Adam", _sets({"rate": 0.25, "betas": [0.5, 0.75], "epsilon": 0.0625}, {"betas": [0.75, 0.5]}))
def adam_in_two_steps(w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float) -> tuple[np.ndarray, ...]:
    """Adam, after the first and the second step, in each precision."""
    one = w - rate * g[0] / (np.abs(g[0]) + epsilon)
    mean = (betas[0] * g[0] + g[1]) / (1.0 + betas[0])
    square = (betas[1] * g[0] ** 2 + g[1] ** 2) / (1.0 + betas[1])
    return one, one - rate * mean / (np.sqrt(square) + epsilon)


@_two_steps("Adagrad", _sets({"rate": 0.25, "initial": 0.125, "epsilon": 0.0625}, {"rate": 0.5}))
def adagrad_in_two_steps(w: np.ndarray, g: np.ndarray, *, rate: float, initial: float, epsilon: float) -> tuple[np.ndarray, ...]:
    """Adagrad, after the first and the second step, in each precision."""
    one = w - rate * g[0] / (np.sqrt(initial + g[0] ** 2) + epsilon)
    return one, one - rate * g[1] / (np.sqrt(initial + g[0] ** 2 + g[1] ** 2) + epsilon)


_ADAM = {
    "rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-8, "epsilon_root": 0.0, "weight_decay": 0.0, "decoupled": False,
    "nesterov": False, "maximize": False,
}  # fmt: skip


@_vector(
    source=TORCH + "Adam.html",
    parameters=_sets(
        _ADAM,
        {"epsilon": 1e-3},
        {"betas": [0.8, 0.95]},
        {"weight_decay": 0.125},
        {"weight_decay": 0.125, "decoupled": True},
        {"betas": [0.0, 0.9]},
        {"betas": [0.0, 0.0], "epsilon": 1e-3},
        {"maximize": True},
        {"weight_decay": 0.125, "decoupled": True, "maximize": True},
        {"weight_decay": 0.125, "maximize": True},
        {"epsilon_root": 1e-4, "epsilon": 1e-3},
        {"nesterov": True},
        {"nesterov": True, "weight_decay": 0.125, "decoupled": True, "betas": [0.8, 0.95]},
        {"rate": 0.001, "betas": [0.9, 0.99]},
    ),
)
def adam(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    betas: list[float],
    epsilon: float,
    epsilon_root: float,
    weight_decay: float,
    decoupled: bool,
    nesterov: bool,
    maximize: bool,
) -> Weights:
    """Adam, https://arxiv.org/abs/1412.6980, algorithm 1: epsilon is added to the root of the corrected second moment.

    decoupled: AdamW, https://arxiv.org/abs/1711.05101. nesterov: Nadam without a schedule of momentum, as optax has it.
    """
    walk = [w]
    first = second = np.zeros_like(w)
    for t, gradient in enumerate(-g if maximize else g, 1):
        if decoupled:
            w = w - rate * weight_decay * w
        else:
            gradient = gradient + weight_decay * w
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        mean = first / (1.0 - betas[0] ** t)
        if nesterov:
            mean = betas[0] * first / (1.0 - betas[0] ** (t + 1)) + (1.0 - betas[0]) * gradient / (1.0 - betas[0] ** t)
        square = second / (1.0 - betas[1] ** t)
        w = w - rate * mean / (np.sqrt(square + epsilon_root) + epsilon)
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/1412.6980",
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-7, "amsgrad": False, "weight_decay": 0.0},
        {"epsilon": 1e-3},
        {"amsgrad": True, "betas": [0.8, 0.9]},
        {"weight_decay": 0.125},
        {"weight_decay": 0.125, "amsgrad": True, "betas": [0.8, 0.9]},
        {"betas": [0.8, 0.95]},
    ),
)
def adam_epsilon_hat(
    w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, amsgrad: bool, weight_decay: float
) -> Weights:
    """Adam as before section 2.1 of its paper: epsilon hat is added to the root of the second moment before the correction.

    Keras and TensorFlow document it. Weight decay is decoupled, and takes rate * weight_decay of a weight.
    """
    walk = [w]
    first = second = largest = np.zeros_like(w)
    for t, gradient in enumerate(g, 1):
        w = w - rate * weight_decay * w
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        largest = np.maximum(largest, second) if amsgrad else second
        w = w - rate * np.sqrt(1.0 - betas[1] ** t) / (1.0 - betas[0] ** t) * first / (np.sqrt(largest) + epsilon)
        walk.append(w)
    return _some(walk)


_AMSGRAD = {"rate": 0.0078125, "betas": [0.9, 0.9], "epsilon": 1e-3, "weight_decay": 0.0, "decoupled": False}


@_vector(
    source=TORCH + "Adam.html",
    parameters=[
        {**_AMSGRAD, "correction": "after", **each}
        for each in (
            {},
            {"weight_decay": 0.125},
            {"weight_decay": 0.125, "decoupled": True},
            {"betas": [0.9, 0.999]},
            {"correction": "before"},
            {"correction": "none"},
            {"correction": "before", "betas": [0.8, 0.99]},
            {"betas": [0.8, 0.99]},
        )
    ],
)
def amsgrad(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    betas: list[float],
    epsilon: float,
    weight_decay: float,
    decoupled: bool,
    correction: str,
) -> Weights:
    """AMSGrad, https://openreview.net/forum?id=ryQu7f-RZ: Adam that divides by the largest second moment so far.

    correction: none, as in the paper; after the maximum, as torch documents it; before it, as optax does.
    """
    walk = [w]
    first = second = largest = np.zeros_like(w)
    for t, gradient in enumerate(g, 1):
        if decoupled:
            w = w - rate * weight_decay * w
        else:
            gradient = gradient + weight_decay * w
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        largest = np.maximum(largest, second / (1.0 - betas[1] ** t) if correction == "before" else second)
        square = largest / (1.0 - betas[1] ** t) if correction == "after" else largest
        mean = first if correction == "none" else first / (1.0 - betas[0] ** t)
        w = w - rate * mean / (np.sqrt(square) + epsilon)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TORCH + "NAdam.html",
    parameters=_sets(
        {
            "rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-8, "momentum_decay": 0.004, "weight_decay": 0.0,
            "decoupled": False, "maximize": False,
        },
        {"epsilon": 1e-3, "betas": [0.8, 0.95]},
        {"weight_decay": 0.125},
        {"weight_decay": 0.125, "decoupled": True},
        {"momentum_decay": 0.1, "maximize": True},
        {"weight_decay": 0.125, "decoupled": True, "maximize": True},
        {"momentum_decay": 1.0},
        {"momentum_decay": 1.0, "weight_decay": 0.125, "decoupled": True},
        {"momentum_decay": 1.0, "epsilon": 1e-3},
    ),
)  # fmt: skip
def nadam(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    betas: list[float],
    epsilon: float,
    momentum_decay: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> Weights:
    """Nadam with its schedule of momentum, https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ.

    The paper's momentum_decay is 1/250; Keras's is 1.
    """
    walk = [w]
    first = second = np.zeros_like(w)
    product = 1.0
    for t, gradient in enumerate(-g if maximize else g, 1):
        if decoupled:
            w = w - rate * weight_decay * w
        else:
            gradient = gradient + weight_decay * w
        now = betas[0] * (1.0 - 0.5 * 0.96 ** (t * momentum_decay))
        after = betas[0] * (1.0 - 0.5 * 0.96 ** ((t + 1) * momentum_decay))
        product *= now
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        mean = after * first / (1.0 - product * after) + (1.0 - now) * gradient / (1.0 - product)
        w = w - rate * mean / (np.sqrt(second / (1.0 - betas[1] ** t)) + epsilon)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TORCH + "RAdam.html",
    parameters=_sets(
        {
            "rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-8, "is_epsilon_raw": True, "weight_decay": 0.0,
            "decoupled": False, "maximize": False, "nesterov": False,
        },
        {"epsilon": 1e-3},
        {"epsilon": 1e-3, "is_epsilon_raw": False},
        {"is_epsilon_raw": False, "nesterov": True},
        {"betas": [0.8, 0.95], "weight_decay": 0.125},
        {"weight_decay": 0.125, "decoupled": True},
        {"weight_decay": 0.125, "decoupled": True, "maximize": True},
        {"betas": [0.8, 0.95], "is_epsilon_raw": False},
        {"betas": [0.8, 0.7], "is_epsilon_raw": False, "rate": 0.001},
        {"betas": [0.8, 0.7], "rate": 0.001},
    ),
)  # fmt: skip
def radam(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    betas: list[float],
    epsilon: float,
    is_epsilon_raw: bool,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
    nesterov: bool,
) -> Weights:
    """Rectified Adam, https://arxiv.org/abs/1908.03265, which has no epsilon.

    is_epsilon_raw: torch adds it to the root of the second moment before the correction, optax after it.
    """
    walk = [w]
    first = second = np.zeros_like(w)
    limit = 2.0 / (1.0 - betas[1]) - 1.0
    for t, gradient in enumerate(-g if maximize else g, 1):
        if decoupled:
            w = w - rate * weight_decay * w
        else:
            gradient = gradient + weight_decay * w
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        mean = first / (1.0 - betas[0] ** t)
        if nesterov:
            mean = betas[0] * first / (1.0 - betas[0] ** (t + 1)) + (1.0 - betas[0]) * gradient / (1.0 - betas[0] ** t)
        correction = 1.0 - betas[1] ** t
        length = limit - 2.0 * t * betas[1] ** t / correction
        if length > 5.0:
            factor = (length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length)
            raw = np.sqrt(correction) / (np.sqrt(second) + epsilon)
            mean = mean * np.sqrt(factor) * (raw if is_epsilon_raw else 1.0 / (np.sqrt(second / correction) + epsilon))
        w = w - rate * mean
        walk.append(w)
    return _some(walk)


@_vector(
    source=OPTAX + "adabelief",
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-8, "epsilon_root": 1e-8, "nesterov": False},
        {"epsilon": 1e-3, "epsilon_root": 1e-4},
        {"betas": [0.8, 0.95], "nesterov": True},
    ),
)
def adabelief(
    w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, epsilon_root: float, nesterov: bool
) -> Weights:
    """AdaBelief, https://arxiv.org/abs/2010.07468: Adam with squares of what gradients differ from their mean by."""
    walk = [w]
    first = second = np.zeros_like(w)
    for t, gradient in enumerate(g, 1):
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * (gradient - first) ** 2 + epsilon_root
        mean = first / (1.0 - betas[0] ** t)
        if nesterov:
            mean = betas[0] * first / (1.0 - betas[0] ** (t + 1)) + (1.0 - betas[0]) * gradient / (1.0 - betas[0] ** t)
        w = w - rate * mean / (np.sqrt(second / (1.0 - betas[1] ** t)) + epsilon)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TORCH + "Adamax.html",
    parameters=_sets(
        {
            "rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-8, "is_epsilon_outside": False, "weight_decay": 0.0,
            "decoupled": False, "maximize": False,
        },
        {"epsilon": 1e-2, "betas": [0.8, 0.9]},
        {"weight_decay": 0.125},
        {"weight_decay": 0.125, "decoupled": True},
        {"weight_decay": 0.125, "maximize": True},
        {"epsilon": 1e-2, "is_epsilon_outside": True, "betas": [0.8, 0.9]},
        {"is_epsilon_outside": True, "weight_decay": 0.125, "decoupled": True},
        {"betas": [0.8, 0.95]},
    ),
)  # fmt: skip
def adamax(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    betas: list[float],
    epsilon: float,
    is_epsilon_outside: bool,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> Weights:
    """Adamax, https://arxiv.org/abs/1412.6980, section 7.1, which has no epsilon.

    is_epsilon_outside: Keras adds it to the largest gradient, torch and optax to each gradient that the largest is one of.
    """
    walk = [w]
    first = largest = np.zeros_like(w)
    outside, inside = (epsilon, 0.0) if is_epsilon_outside else (0.0, epsilon)
    for t, gradient in enumerate(-g if maximize else g, 1):
        if decoupled:
            w = w - rate * weight_decay * w
        else:
            gradient = gradient + weight_decay * w
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        largest = np.maximum(betas[1] * largest, np.abs(gradient) + inside)
        w = w - rate / (1.0 - betas[0] ** t) * first / (largest + outside)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TORCH + "Adagrad.html",
    parameters=_sets(
        {
            "rate": 0.05, "rate_decay": 0.0, "weight_decay": 0.0, "initial": 0.0, "epsilon": 1e-10,
            "is_epsilon_inside": False, "maximize": False,
        },
        {"rate_decay": 0.1},
        {"weight_decay": 0.125, "epsilon": 1e-2},
        {"initial": 0.1, "maximize": True},
        {"initial": 0.1, "epsilon": 0.0},
        {"initial": 0.1, "epsilon": 1e-2, "is_epsilon_inside": True},
        {"initial": 0.1, "epsilon": 1e-7, "is_epsilon_inside": True},
        {"rate_decay": 0.1, "weight_decay": 0.125, "maximize": True},
        {"initial": 0.1, "epsilon": 0.0, "rate": 0.1},
    ),
)  # fmt: skip
def adagrad(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    rate_decay: float,
    weight_decay: float,
    initial: float,
    epsilon: float,
    is_epsilon_inside: bool,
    maximize: bool,
) -> Weights:
    """Adagrad, http://jmlr.org/papers/v12/duchi11a.html. is_epsilon_inside: optax and Keras take the root of it, too."""
    walk = [w]
    total = np.full_like(w, initial)
    for t, gradient in enumerate(-g if maximize else g, 1):
        gradient = gradient + weight_decay * w
        total = total + gradient**2
        root = np.sqrt(total + epsilon) if is_epsilon_inside else np.sqrt(total) + epsilon
        w = w - rate / (1.0 + (t - 1) * rate_decay) * gradient / root
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/1212.5701",
    parameters=_sets(
        {"rate": 0.5, "rho": 0.9, "epsilon": 1e-4, "weight_decay": 0.0, "decoupled": False, "maximize": False},
        {"rate": 1.0, "rho": 0.95},
        {"epsilon": 1e-2},
        {"weight_decay": 0.125},
        {"weight_decay": 0.125, "maximize": True},
        {"weight_decay": 0.125, "rate": 0.5, "decoupled": True},
        {"rho": 0.99},
    ),
)
def adadelta(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    rho: float,
    epsilon: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> Weights:
    """Adadelta, with a rate that the paper does not have."""
    walk = [w]
    squares = changes = np.zeros_like(w)
    for gradient in -g if maximize else g:
        if decoupled:
            w = w - rate * weight_decay * w
        else:
            gradient = gradient + weight_decay * w
        squares = rho * squares + (1.0 - rho) * gradient**2
        change = np.sqrt(changes + epsilon) / np.sqrt(squares + epsilon) * gradient
        changes = rho * changes + (1.0 - rho) * change**2
        w = w - rate * change
        walk.append(w)
    return _some(walk)


@_vector(
    source=TORCH + "RMSprop.html",
    parameters=_sets(
        {
            "rate": 0.0078125, "decay": 0.99, "epsilon": 1e-6, "is_epsilon_inside": False, "initial": 0.0, "centered": False,
            "momentum": 0.0, "nesterov": False, "is_corrected": False, "weight_decay": 0.0, "decoupled": False, "maximize": False,
        },
        {"centered": True},
        {"momentum": 0.9},
        {"momentum": 0.9, "centered": True, "decay": 0.9},
        {"weight_decay": 0.125, "epsilon": 1e-2},
        {"weight_decay": 0.125, "maximize": True, "momentum": 0.5, "centered": True},
        {"is_epsilon_inside": True, "epsilon": 1e-4},
        {"is_epsilon_inside": True, "epsilon": 1e-4, "centered": True, "decay": 0.9},
        {"is_epsilon_inside": True, "epsilon": 1e-4, "momentum": 0.9},
        {"is_epsilon_inside": True, "epsilon": 1e-4, "momentum": 0.9, "centered": True},
        {"is_epsilon_inside": True, "epsilon": 1e-4, "momentum": 0.9, "initial": 1.0},
        {"is_epsilon_inside": True, "epsilon": 1e-4, "momentum": 0.9, "initial": 1.0, "centered": True},
        {"is_epsilon_inside": True, "epsilon": 1e-4, "weight_decay": 0.125, "decoupled": True},
        {"momentum": 0.9, "nesterov": True},
        {"momentum": 0.9, "is_corrected": True},
        {"is_corrected": True, "is_epsilon_inside": True, "epsilon": 1e-4},
        {"momentum": 0.9, "decay": 0.95},
    ),
)  # fmt: skip
def rmsprop(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    decay: float,
    epsilon: float,
    is_epsilon_inside: bool,
    initial: float,
    centered: bool,
    momentum: float,
    nesterov: bool,
    is_corrected: bool,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> Weights:
    """RMSprop, and centered as in https://arxiv.org/abs/1308.0850.

    is_epsilon_inside: Keras, TensorFlow and, unless told otherwise, optax take the root of epsilon, too.
    """
    walk = [w]
    squares, mean, velocity = np.full_like(w, initial), np.zeros_like(w), np.zeros_like(w)
    for t, gradient in enumerate(-g if maximize else g, 1):
        if decoupled:
            w = w - rate * weight_decay * w
        else:
            gradient = gradient + weight_decay * w
        squares = decay * squares + (1.0 - decay) * gradient**2
        mean = decay * mean + (1.0 - decay) * gradient
        correction = 1.0 - decay**t if is_corrected else 1.0
        variance = squares / correction - (mean / correction) ** 2 * centered
        step = gradient / (np.sqrt(variance + epsilon) if is_epsilon_inside else np.sqrt(variance) + epsilon)
        velocity = momentum * velocity + step
        w = w - rate * (step + momentum * velocity if nesterov else velocity)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TORCH + "Rprop.html",
    parameters=_sets(
        {"rate": 0.0078125, "etas": [0.5, 1.2], "limits": [1e-6, 0.05], "maximize": False},
        {"etas": [0.7, 1.5], "limits": [5e-3, 0.02]},
        {"maximize": True},
        {"etas": [0.4, 1.1]},
    ),
)
def rprop(w: np.ndarray, g: np.ndarray, *, rate: float, etas: list[float], limits: list[float], maximize: bool) -> Weights:
    """Resilient backpropagation: a step for each weight, which grows while its gradient keeps its sign."""
    walk = [w]
    before, step = np.zeros_like(w), np.full_like(w, rate)
    for gradient in -g if maximize else g:
        same = before * gradient
        step = np.where(same > 0, np.minimum(step * etas[1], limits[1]), step)
        step = np.where(same < 0, np.maximum(step * etas[0], limits[0]), step)
        before = np.where(same < 0, 0.0, gradient)
        w = w - step * np.sign(before)
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/1107.2490",
    parameters=_sets(
        {"rate": 0.0078125, "decay": 0.01, "power": 0.75, "start": 1e6, "weight_decay": 0.0, "maximize": False},
        {"decay": 0.1, "power": 0.5},
        {"start": 10.0, "decay": 0.1},
        {"weight_decay": 0.125, "maximize": True},
        {"start": 0.0, "weight_decay": 0.125},
    ),
)
def asgd(
    w: np.ndarray, g: np.ndarray, *, rate: float, decay: float, power: float, start: float, weight_decay: float, maximize: bool
) -> tuple[np.ndarray, ...]:
    """Averaged stochastic gradient descent: weights, and the mean of those since a step, after all steps."""
    walk = [w]
    mean = np.zeros_like(w)
    for t, gradient in enumerate(-g if maximize else g):
        now = rate / (1.0 + decay * rate * t) ** power
        w = w - now * (gradient + weight_decay * w + decay * w)
        mean = mean + (w - mean) / max(1.0, t - start)
        walk.append(w)
    return *_some(walk), mean


_ADAFACTOR = _sets(
    {
        "rate": 0.015625, "power": -0.8, "least_scale": 1e-3, "threshold": 1.0, "is_relative": True, "is_scaled": True,
        "weight_decay": 0.0, "maximize": False,
    },
    {"rate": 0.5, "threshold": 2.0},
    {"threshold": 1.5, "power": -0.5},
    {"weight_decay": 0.125},
    {"weight_decay": 0.125, "maximize": True},
    {"is_relative": False},
    {"is_relative": False, "is_scaled": False},
    {"is_relative": False, "power": -0.6},
    {"power": -0.6},
)  # fmt: skip


def _adafactor(w: np.ndarray, g: np.ndarray, *, power: float, threshold: float, least_scale: float, rate: float,
               is_relative: bool, is_scaled: bool, weight_decay: float, maximize: bool) -> Weights:  # fmt: skip
    walk = [w]
    rows = columns = squares = np.zeros(1)
    for t, gradient in enumerate(-g if maximize else g, 1):
        beta = 1.0 - t**power
        scale = max(least_scale, np.sqrt(np.mean(w**2))) if is_scaled else 1.0
        if w.ndim == 2:
            rows = beta * rows + (1.0 - beta) * np.mean(gradient**2, axis=1)
            columns = beta * columns + (1.0 - beta) * np.mean(gradient**2, axis=0)
            squares = np.outer(rows, columns) / np.mean(rows)
        else:
            squares = beta * squares + (1.0 - beta) * gradient**2
        step = gradient / np.sqrt(squares)
        step = step / max(1.0, np.sqrt(np.mean(step**2)) / threshold)
        w = w - rate * weight_decay * w - (min(rate, 1.0 / np.sqrt(t)) if is_relative else rate) * scale * step
        walk.append(w)
    return _some(walk)


@_matrix(source="https://arxiv.org/abs/1804.04235", gradients=_signed_gradients, parameters=_ADAFACTOR)
def adafactor(w: np.ndarray, g: np.ndarray, *, power: float, threshold: float, least_scale: float, rate: float,
              is_relative: bool, is_scaled: bool, weight_decay: float, maximize: bool) -> Weights:  # fmt: skip
    """Adafactor of a matrix: squares of gradients are kept as means of rows and of columns.

    is_relative: the rate is no more than one over the root of the step. Weight decay is decoupled, and there is no momentum.
    """
    return _adafactor(
        w, g, power=power, threshold=threshold, least_scale=least_scale, rate=rate, is_relative=is_relative,
        is_scaled=is_scaled, weight_decay=weight_decay, maximize=maximize,
    )  # fmt: skip


@_vector(source="https://arxiv.org/abs/1804.04235", gradients=_signed_gradients, parameters=_ADAFACTOR)
def adafactor_of_vector(w: np.ndarray, g: np.ndarray, *, power: float, threshold: float, least_scale: float, rate: float,
                        is_relative: bool, is_scaled: bool, weight_decay: float, maximize: bool) -> Weights:  # fmt: skip
    """Adafactor of a vector, whose squares of gradients are all kept."""
    return _adafactor(
        w, g, power=power, threshold=threshold, least_scale=least_scale, rate=rate, is_relative=is_relative,
        is_scaled=is_scaled, weight_decay=weight_decay, maximize=maximize,
    )  # fmt: skip


@_matrix(
    source="https://kellerjordan.github.io/posts/muon/",
    gradients=_signed_gradients,
    parameters=_sets(
        {
            "rate": 0.02,
            "momentum": 0.95,
            "nesterov": True,
            "weight_decay": 0.0,
            "scale": "rows",
            "steps": 5,
            "is_corrected": False,
        },
        {"nesterov": False},
        {"weight_decay": 0.125},
        {"scale": "rms"},
        {"scale": "none", "weight_decay": 0.125},
        {"scale": "columns"},
        {"scale": "columns", "is_corrected": True},
        {"scale": "columns", "is_corrected": True, "nesterov": False, "weight_decay": 0.125},
        {"scale": "rms", "is_corrected": True},
        {"momentum": 0.8, "scale": "rms", "steps": 3, "nesterov": False},
    ),
)
def muon(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    momentum: float,
    nesterov: bool,
    weight_decay: float,
    scale: str,
    steps: int,
    is_corrected: bool,
) -> Weights:
    """Muon: momentum, made nearly orthogonal by steps of Newton and Schulz.

    scale: rms, 0.2 sqrt(max(rows, columns)), https://arxiv.org/abs/2502.16982; rows, sqrt(max(1, rows / columns)), where rows
    are what a layer gives; columns, the same where columns are that; none. is_corrected: Nesterov's momentum is that of Nadam.
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    rows, columns = w.shape
    share = rows / columns if scale == "rows" else columns / rows
    factor = 0.2 * np.sqrt(max(rows, columns)) if scale == "rms" else np.sqrt(max(1.0, share))
    factor = 1.0 if scale == "none" else factor
    walk = [w]
    mean = np.zeros_like(w)
    for t, gradient in enumerate(g, 1):
        mean = momentum * mean + (1.0 - momentum) * gradient
        after, now = (1.0 - momentum ** (t + 1), 1.0 - momentum**t) if is_corrected else (1.0, 1.0)
        step = momentum * mean / after + (1.0 - momentum) * gradient / now if nesterov else mean
        step = step / np.linalg.norm(step)
        for _ in range(steps):
            square = step @ step.T
            step = a * step + (b * square + c * square @ square) @ step
        w = w - rate * weight_decay * w - rate * factor * step
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/2302.06675",
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.9, 0.99], "weight_decay": 0.0},
        {"weight_decay": 0.125},
        {"betas": [0.8, 0.95], "weight_decay": 0.01},
    ),
)
def lion(w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], weight_decay: float) -> Weights:
    """Lion: the sign of a mean of momentum and gradient, and decoupled weight decay."""
    walk = [w]
    momentum = np.zeros_like(w)
    for gradient in g:
        sign = np.sign(betas[0] * momentum + (1.0 - betas[0]) * gradient)
        momentum = betas[1] * momentum + (1.0 - betas[1]) * gradient
        w = w - rate * (sign + weight_decay * w)
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/1904.00962",
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-6, "weight_decay": 0.0},
        {"weight_decay": 0.125},
        {"betas": [0.8, 0.95], "epsilon": 1e-3},
    ),
)
def lamb(w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, weight_decay: float) -> Weights:
    """LAMB: the step of Adam and of weight decay, as long as the weights are."""
    walk = [w]
    first = second = np.zeros_like(w)
    for t, gradient in enumerate(g, 1):
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        step = first / (1.0 - betas[0] ** t) / (np.sqrt(second / (1.0 - betas[1] ** t)) + epsilon) + weight_decay * w
        w = w - rate * np.linalg.norm(w) / np.linalg.norm(step) * step
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/1708.03888",
    parameters=_sets(
        {"rate": 0.5, "weight_decay": 0.0, "trust": 0.01, "momentum": 0.9, "nesterov": False},
        {"weight_decay": 0.125},
        {"nesterov": True, "trust": 0.02},
    ),
)
def lars(
    w: np.ndarray, g: np.ndarray, *, rate: float, weight_decay: float, trust: float, momentum: float, nesterov: bool
) -> Weights:
    """LARS: gradient and weight decay, as long as a share of the weights, then momentum."""
    walk = [w]
    velocity = np.zeros_like(w)
    for gradient in g:
        step = gradient + weight_decay * w
        step = rate * trust * np.linalg.norm(w) / np.linalg.norm(step) * step
        velocity = momentum * velocity + step
        w = w - (step + momentum * velocity if nesterov else velocity)
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://papers.nips.cc/paper/8186-adaptive-methods-for-nonconvex-optimization",
    parameters=_sets({"rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-3, "initial": 1e-6}, {"betas": [0.8, 0.9]}),
)
def yogi(w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, initial: float) -> Weights:
    """Yogi, with Adam's corrections: the second moment grows and shrinks by shares of the squared gradient.

    Both moments begin as `initial`, as optax has them; the paper leaves that open.
    """
    walk = [w]
    first = second = np.full_like(w, initial)
    for t, gradient in enumerate(g, 1):
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = second - (1.0 - betas[1]) * np.sign(second - gradient**2) * gradient**2
        w = w - rate * first / (1.0 - betas[0] ** t) / (np.sqrt(second / (1.0 - betas[1] ** t)) + epsilon)
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/1905.11286",
    parameters=_sets(
        {"rate": 0.02, "betas": [0.9, 0.25], "epsilon": 1e-6, "weight_decay": 0.0},
        {"weight_decay": 0.125},
        {"betas": [0.95, 0.98], "weight_decay": 0.01, "epsilon": 1e-2},
    ),
)
def novograd(w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, weight_decay: float) -> Weights:
    """NovoGrad, algorithm 1: moments begin as those of the first gradient, the second is one number."""
    walk = [w]
    first, second = np.zeros_like(w), 0.0
    for t, gradient in enumerate(g, 1):
        square = float(np.sum(gradient**2))
        second = square if t == 1 else betas[1] * second + (1.0 - betas[1]) * square
        step = gradient / (np.sqrt(second) + epsilon) + weight_decay * w
        first = step if t == 1 else betas[0] * first + step
        w = w - rate * first
        walk.append(w)
    return _some(walk)


@_vector(source="https://arxiv.org/abs/2002.03432", parameters=_sets({"rate": 0.02}, {"rate": 0.1}))
def fromage(w: np.ndarray, g: np.ndarray, *, rate: float) -> Weights:
    """Fromage: a step as long as a share of the weights, none of a gradient of zero, and weights made shorter by what it adds."""
    walk = [w]
    for gradient in g:
        length = np.linalg.norm(gradient)
        step = rate * np.linalg.norm(w) * gradient / (length if length > 0.0 else 1.0)
        w = (w - step) / np.sqrt(1.0 + rate**2)
        walk.append(w)
    return _some(walk)


@_matrix(
    gradients=_large_gradients,
    source="https://arxiv.org/abs/1901.11150",
    parameters=_sets({"rate": 0.05, "momentum": 0.9}, {"momentum": 0.0}, {"rate": 0.1, "momentum": 0.5}),
)
def sm3(w: np.ndarray, g: np.ndarray, *, rate: float, momentum: float) -> Weights:
    """SM3-II of a matrix, covered by its rows and columns, with a mean of steps: 0 / 0 is 0."""
    walk = [w]
    rows, columns, mean = np.zeros((w.shape[0], 1)), np.zeros((1, w.shape[1])), np.zeros_like(w)
    for gradient in g:
        total = np.minimum(rows, columns) + gradient**2
        step = gradient / np.sqrt(np.where(total > 0, total, 1.0))
        rows, columns = np.max(total, axis=1, keepdims=True), np.max(total, axis=0, keepdims=True)
        mean = momentum * mean + (1.0 - momentum) * step
        w = w - rate * mean
        walk.append(w)
    return _some(walk)


@_vector(source=OPTAX + "sign_sgd", parameters=_sets({"rate": 0.0078125}, {"rate": 0.003}))
def sign_sgd(w: np.ndarray, g: np.ndarray, *, rate: float) -> Weights:
    """Steps of one length against the sign of the gradient."""
    walk = [w]
    for gradient in g:
        w = w - rate * np.sign(gradient)
        walk.append(w)
    return _some(walk)


@_vector(source=OPTAX + "signum", parameters=_sets({"rate": 0.0078125, "beta": 0.9}, {"beta": 0.5}))
def signum(w: np.ndarray, g: np.ndarray, *, rate: float, beta: float) -> Weights:
    """Steps of one length against the sign of a mean of gradients."""
    walk = [w]
    mean = np.zeros_like(w)
    for gradient in g:
        mean = beta * mean + (1.0 - beta) * gradient
        w = w - rate * np.sign(mean)
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/2208.06677",
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.98, 0.92, 0.99], "epsilon": 1e-8, "weight_decay": 0.0},
        {"weight_decay": 0.125},
        {"betas": [0.9, 0.8, 0.95], "epsilon": 1e-3},
    ),
)
def adan(w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, weight_decay: float) -> Weights:
    """Adan with corrected moments, of a first difference that is zero. The betas are those of the code: one less the paper's."""
    walk = [w]
    first = difference = second = np.zeros_like(w)
    before = g[0]
    for t, gradient in enumerate(g, 1):
        change = gradient - before
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        difference = betas[1] * difference + (1.0 - betas[1]) * change
        second = betas[2] * second + (1.0 - betas[2]) * (gradient + betas[1] * change) ** 2
        step = first / (1.0 - betas[0] ** t) + betas[1] * difference / (1.0 - betas[1] ** t)
        step = step / (np.sqrt(second / (1.0 - betas[2] ** t)) + epsilon)
        w = (w - rate * step) / (1.0 + rate * weight_decay)
        before = gradient
        walk.append(w)
    return _some(walk)


@_vector(
    source=OPTAX + "optimistic_gradient_descent",
    parameters=_sets({"rate": 0.05, "alpha": 1.0, "beta": 1.0}, {"alpha": 0.8, "beta": 0.3}),
)
def optimistic_gradient_descent(w: np.ndarray, g: np.ndarray, *, rate: float, alpha: float, beta: float) -> Weights:
    """Optimistic gradient descent; before the first gradient there is another one like it."""
    walk = [w]
    before = g[0]
    for gradient in g:
        w = w - rate * ((alpha + beta) * gradient - beta * before)
        before = gradient
        walk.append(w)
    return _some(walk)


@_vector(
    gradients=_large_gradients,
    source=TENSORFLOW + "ResourceApplyFtrl",
    parameters=_sets(
        {"rate": 0.1, "power": -0.5, "initial": 0.1, "l1": 0.0, "l2": 0.0, "shrinkage": 0.0, "beta": 0.0},
        {"l1": 0.05},
        {"l2": 0.2},
        {"power": -0.7, "l1": 0.05, "l2": 0.1},
        {"shrinkage": 0.05},
        {"beta": 0.5},
        {"l1": 0.05, "l2": 0.1, "shrinkage": 0.02},
    ),
)
def ftrl(
    w: np.ndarray,
    g: np.ndarray,
    *,
    rate: float,
    power: float,
    initial: float,
    l1: float,
    l2: float,
    shrinkage: float,
    beta: float,
) -> Weights:
    """FTRL-Proximal, https://research.google.com/pubs/archive/41159.pdf, with twice the L2: TensorFlow's."""
    walk = [w]
    total, linear = np.full_like(w, initial), np.zeros_like(w)
    for gradient in g:
        grown = total + gradient**2
        linear = linear + gradient + 2.0 * shrinkage * w - (grown**-power - total**-power) / rate * w
        total = grown
        quadratic = (total**-power + beta) / rate + 2.0 * l2
        w = np.where(np.abs(linear) > l1, (np.sign(linear) * l1 - linear) / quadratic, 0.0)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TENSORFLOW + "ResourceApplyProximalAdagrad",
    parameters=_sets({"rate": 0.05, "initial": 0.1, "l1": 0.0, "l2": 0.0}, {"l1": 0.02}, {"l2": 0.1}, {"l1": 0.02, "l2": 0.1}),
)
def proximal_adagrad(w: np.ndarray, g: np.ndarray, *, rate: float, initial: float, l1: float, l2: float) -> Weights:
    """Forward-backward splitting, https://papers.nips.cc/paper/3793, with Adagrad's rates."""
    walk = [w]
    total = np.full_like(w, initial)
    for gradient in g:
        total = total + gradient**2
        each = rate / np.sqrt(total)
        moved = w - each * gradient
        w = np.sign(moved) / (1.0 + each * l2) * np.maximum(np.abs(moved) - each * l1, 0.0)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TENSORFLOW + "ResourceApplyProximalGradientDescent",
    parameters=_sets({"rate": 0.05, "l1": 0.0, "l2": 0.0}, {"l1": 0.02}, {"l2": 0.1}, {"l1": 0.02, "l2": 0.1}),
)
def proximal_sgd(w: np.ndarray, g: np.ndarray, *, rate: float, l1: float, l2: float) -> Weights:
    """Forward-backward splitting, https://papers.nips.cc/paper/3793."""
    walk = [w]
    for gradient in g:
        moved = w - rate * gradient
        w = np.sign(moved) / (1.0 + rate * l2) * np.maximum(np.abs(moved) - rate * l1, 0.0)
        walk.append(w)
    return _some(walk)


@_vector(
    source=TENSORFLOW + "ResourceApplyPowerSign",
    parameters=_sets({"rate": 0.05, "beta": 0.9, "base": 1.0, "decay": 0.9}, {"base": 0.5, "decay": 1.0}),
)
def power_sign(w: np.ndarray, g: np.ndarray, *, rate: float, beta: float, base: float, decay: float) -> Weights:
    """PowerSign, https://arxiv.org/abs/1709.07417: longer steps where gradient and momentum agree. base: its logarithm."""
    walk = [w]
    mean = np.zeros_like(w)
    for gradient in g:
        mean = beta * mean + (1.0 - beta) * gradient
        w = w - rate * np.exp(base * decay * np.sign(gradient) * np.sign(mean)) * gradient
        walk.append(w)
    return _some(walk)


@_vector(
    source=TENSORFLOW + "ResourceApplyAddSign",
    parameters=_sets({"rate": 0.05, "beta": 0.9, "alpha": 1.0, "decay": 0.9}, {"alpha": 0.7, "decay": 1.0}),
)
def add_sign(w: np.ndarray, g: np.ndarray, *, rate: float, beta: float, alpha: float, decay: float) -> Weights:
    """AddSign, https://arxiv.org/abs/1709.07417: longer steps where gradient and momentum agree."""
    walk = [w]
    mean = np.zeros_like(w)
    for gradient in g:
        mean = beta * mean + (1.0 - beta) * gradient
        w = w - rate * (alpha + decay * np.sign(gradient) * np.sign(mean)) * gradient
        walk.append(w)
    return _some(walk)


@_vector(
    source=OPTAX + "optimistic_adam_v2",
    parameters=_sets(
        {"rate": 0.0078125, "alpha": 1.0, "beta": 1.0, "betas": [0.9, 0.999], "epsilon": 1e-8},
        {"alpha": 0.8, "beta": 0.3, "epsilon": 1e-3, "betas": [0.8, 0.95]},
        {"beta": 0.5},
    ),
)
def optimistic_adam(
    w: np.ndarray, g: np.ndarray, *, rate: float, alpha: float, beta: float, betas: list[float], epsilon: float
) -> Weights:
    """Optimistic gradient descent with Adam's steps; before the first step there is another one like it."""
    walk = [w]
    first = second = np.zeros_like(w)
    before = None
    for t, gradient in enumerate(g, 1):
        first = betas[0] * first + (1.0 - betas[0]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        step = first / (1.0 - betas[0] ** t) / (np.sqrt(second / (1.0 - betas[1] ** t)) + epsilon)
        w = w - rate * ((alpha + beta) * step - beta * (step if before is None else before))
        before = step
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/1907.08610",
    parameters=_sets({"rate": 0.05, "period": 5, "share": 0.5}, {"period": 7, "share": 0.3}, {"period": 1, "share": 0.8}),
)
def lookahead(w: np.ndarray, g: np.ndarray, *, rate: float, period: int, share: float) -> tuple[np.ndarray, ...]:
    """Lookahead around gradient descent: fast weights after steps 1, 2 and 50, and slow ones after all."""
    walk = [w]
    slow = w
    for t, gradient in enumerate(g, 1):
        w = w - rate * gradient
        if t % period == 0:
            slow = slow + share * (w - slow)
            w = slow
        walk.append(w)
    return *_some(walk), slow


@_vector(
    source="https://arxiv.org/abs/2409.03137",
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.9, 0.999, 0.9999], "alpha": 5.0, "epsilon": 1e-8, "weight_decay": 0.0},
        {"betas": [0.8, 0.95, 0.99], "alpha": 2.0, "epsilon": 1e-3, "weight_decay": 0.125},
    ),
)
def ademamix(
    w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], alpha: float, epsilon: float, weight_decay: float
) -> Weights:
    """AdEMAMix: Adam with a second, slower and uncorrected mean of gradients; without schedules of alpha and of its beta."""
    walk = [w]
    fast = slow = second = np.zeros_like(w)
    for t, gradient in enumerate(g, 1):
        fast = betas[0] * fast + (1.0 - betas[0]) * gradient
        slow = betas[2] * slow + (1.0 - betas[2]) * gradient
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        step = (fast / (1.0 - betas[0] ** t) + alpha * slow) / (np.sqrt(second / (1.0 - betas[1] ** t)) + epsilon)
        w = w - rate * (step + weight_decay * w)
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/2411.02853",
    gradients=_signed_gradients,
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.9, 0.9999], "epsilon": 1e-6, "is_clipped": True},
        {"is_clipped": False},
        {"betas": [0.8, 0.95], "epsilon": 1e-2},
    ),
)
def adopt(w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, is_clipped: bool) -> Weights:
    """ADOPT, algorithm 2: a gradient is divided by the second moment of those before it; the first one makes no step."""
    walk = [w]
    mean, second = np.zeros_like(w), g[0] ** 2
    walk.append(w)
    for t, gradient in enumerate(g[1:], 1):
        step = gradient / np.maximum(np.sqrt(second), epsilon)
        if is_clipped:
            step = np.clip(step, -(t**0.25), t**0.25)
        mean = betas[0] * mean + (1.0 - betas[0]) * step
        w = w - rate * mean
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/2101.11075",
    parameters=_sets({"rate": 0.02, "momentum": 0.9, "epsilon": 1e-6}, {"momentum": 0.5, "epsilon": 1e-2}, {"rate": 0.05}),
)
def madgrad(w: np.ndarray, g: np.ndarray, *, rate: float, momentum: float, epsilon: float) -> Weights:
    """MADGRAD, algorithm 1: dual averaging, divided by cube roots of sums of squares."""
    walk = [w]
    total = squares = np.zeros_like(w)
    for k, gradient in enumerate(g):
        weight = rate * np.sqrt(k + 1.0)
        total = total + weight * gradient
        squares = squares + weight * gradient**2
        w = momentum * w + (1.0 - momentum) * (walk[0] - total / (np.cbrt(squares) + epsilon))
        walk.append(w)
    return _some(walk)


@_vector(
    source="https://arxiv.org/abs/2405.15682",
    parameters=_sets({"rate": 0.05, "beta": 0.9}, {"beta": 0.5}),
)
def schedule_free_sgd(w: np.ndarray, g: np.ndarray, *, rate: float, beta: float) -> tuple[np.ndarray, ...]:
    """Schedule-free gradient descent: where gradients are taken after steps 1, 2 and 50, and the mean after all."""
    walk = [w]
    fast = mean = w
    for t, gradient in enumerate(g, 1):
        fast = fast - rate * gradient
        mean = (1.0 - 1.0 / t) * mean + fast / t
        walk.append((1.0 - beta) * fast + beta * mean)
    return *_some(walk), mean


@_vector(
    source="https://arxiv.org/abs/2405.15682",
    parameters=_sets(
        {"rate": 0.0078125, "betas": [0.9, 0.999], "epsilon": 1e-8, "weight_decay": 0.0},
        {"weight_decay": 0.125},
        {"betas": [0.5, 0.95], "epsilon": 1e-3},
    ),
)
def schedule_free_adamw(
    w: np.ndarray, g: np.ndarray, *, rate: float, betas: list[float], epsilon: float, weight_decay: float
) -> tuple[np.ndarray, ...]:
    """Schedule-free AdamW, algorithm 1 without warming up: where gradients are taken, and the mean after all steps."""
    walk = [w]
    fast = mean = w
    second = np.zeros_like(w)
    for t, gradient in enumerate(g, 1):
        second = betas[1] * second + (1.0 - betas[1]) * gradient**2
        step = gradient / (np.sqrt(second / (1.0 - betas[1] ** t)) + epsilon)
        fast = fast - rate * (step + weight_decay * walk[-1])
        mean = (1.0 - 1.0 / t) * mean + fast / t
        walk.append((1.0 - betas[0]) * fast + betas[0] * mean)
    return *_some(walk), mean

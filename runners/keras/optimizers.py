"""Keras: optimizers. With JAX they are carried out without a state of their own, as in a compiled step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras

from runners.contract.errors import Unsupported


@contextmanager
def precise(like: Any) -> Iterator[str]:
    """Let Keras keep rates, and what has no type, in float64 where tensors are; give the type of tensors."""
    before, kind = keras.config.floatx(), keras.backend.standardize_dtype(like.dtype)
    keras.config.set_floatx("float64" if kind == "float64" else "float32")
    try:
        yield kind
    finally:
        keras.config.set_floatx(before)


def is_symbolic(tensor: Any) -> bool:
    """Is it a tensor of a TensorFlow graph, in which no variable is made?"""
    return keras.backend.backend() == "tensorflow" and not hasattr(tensor, "numpy")


def variable(tensor: Any) -> Any:
    """Return a variable of a tensor's copy: with PyTorch, it would be the tensor itself that an optimizer writes to."""
    return keras.Variable(keras.ops.copy(tensor), dtype=keras.backend.standardize_dtype(tensor.dtype))


def walked(make: Callable[[], Any], weights: list[Any], gradients: list[list[Any]]) -> tuple[Any, list[list[Any]]]:
    """Return the optimizer, or its state after all steps, and the weights after each step.

    gradients: of each step, of each of the weights.
    """
    if is_symbolic(weights[0]):
        raise Unsupported("jit: an optimizer's variables are made outside of a graph.")
    optimizer = make()
    variables = [variable(each) for each in weights]
    optimizer.build(variables)
    walk = []
    if keras.backend.backend() != "jax":
        for each in gradients:
            optimizer.apply(each, variables)
            walk.append([keras.ops.copy(each.value) for each in variables])
        return optimizer, walk

    def step(carried: tuple[list[Any], list[Any]], gradient: list[Any]) -> tuple[tuple[list[Any], list[Any]], list[Any]]:
        found, state = optimizer.stateless_apply(carried[1], gradient, carried[0])
        return (list(found), list(state)), list(found)

    # One step is compiled, not as many as there are.
    stacked = [keras.ops.stack(each) for each in zip(*gradients, strict=True)]
    began = list(weights), [each.value for each in optimizer.variables]
    _, found = keras.ops.scan(step, began, stacked)
    return optimizer, [list(each) for each in zip(*found, strict=True)]


def _weights(make: Callable[[], Any], w: Any, g: Any) -> list[Any]:
    with precise(w):
        walk = [each[0] for each in walked(make, [w], [[g[step]] for step in range(len(g))])[1]]
    return walk if len(walk) == 2 else [walk[0], walk[1], walk[-1]]


def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f"{name}: Keras has no other than {wanted}. Found: {found}.")


def _decay(weight_decay: float, decoupled: bool) -> float | None:
    if weight_decay and not decoupled:
        raise Unsupported("weight_decay: Keras has the decoupled one alone.")
    return weight_decay or None


def _sgd(
    w: Any, g: Any, *, rate: float, momentum: float, weight_decay: float, dampening: float = 0.0, nesterov: bool = False,
    maximize: bool = False,
) -> Any:  # fmt: skip
    _lacks(dampening=(0.0, dampening), maximize=(False, maximize))
    if momentum and weight_decay:
        raise Unsupported("weight_decay: Keras has the decoupled one alone, which with momentum is another rule.")
    return _weights(
        lambda: keras.optimizers.SGD(rate, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay or None), w, g
    )


def _adam_epsilon_hat(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, amsgrad: bool, weight_decay: float) -> Any:
        return _weights(
            lambda: make(
                learning_rate=rate, beta_1=betas[0], beta_2=betas[1], epsilon=epsilon, amsgrad=amsgrad,
                weight_decay=weight_decay,
            ), w, g,
        )  # fmt: skip

    return call


def _nadam(
    w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, momentum_decay: float, weight_decay: float, decoupled: bool,
    maximize: bool,
) -> Any:  # fmt: skip
    _lacks(maximize=(False, maximize), momentum_decay=(1.0, momentum_decay))
    decay = _decay(weight_decay, decoupled)
    return _weights(
        lambda: keras.optimizers.Nadam(rate, beta_1=betas[0], beta_2=betas[1], epsilon=epsilon, weight_decay=decay), w, g
    )


def _adamax(
    w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_outside: bool, weight_decay: float,
    decoupled: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(maximize=(False, maximize), is_epsilon_outside=(True, is_epsilon_outside))
    decay = _decay(weight_decay, decoupled)
    return _weights(
        lambda: keras.optimizers.Adamax(rate, beta_1=betas[0], beta_2=betas[1], epsilon=epsilon, weight_decay=decay), w, g
    )


def _adagrad(
    w: Any, g: Any, *, rate: float, rate_decay: float, weight_decay: float, initial: float, epsilon: float,
    is_epsilon_inside: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(maximize=(False, maximize), rate_decay=(0.0, rate_decay), is_epsilon_inside=(True, is_epsilon_inside or not epsilon))
    decay = _decay(weight_decay, False)
    return _weights(
        lambda: keras.optimizers.Adagrad(rate, initial_accumulator_value=initial, epsilon=epsilon, weight_decay=decay), w, g
    )


def _adadelta(
    w: Any, g: Any, *, rate: float, rho: float, epsilon: float, weight_decay: float, decoupled: bool, maximize: bool
) -> Any:
    _lacks(maximize=(False, maximize))
    decay = _decay(weight_decay, decoupled)
    return _weights(lambda: keras.optimizers.Adadelta(rate, rho=rho, epsilon=epsilon, weight_decay=decay), w, g)


def _rmsprop(
    w: Any, g: Any, *, rate: float, decay: float, epsilon: float, is_epsilon_inside: bool, initial: float, centered: bool,
    momentum: float, nesterov: bool, is_corrected: bool, weight_decay: float, decoupled: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(
        maximize=(False, maximize), is_epsilon_inside=(True, is_epsilon_inside), initial=(0.0, initial),
        nesterov=(False, nesterov), is_corrected=(False, is_corrected),
    )  # fmt: skip
    share = _decay(weight_decay, decoupled)
    return _weights(
        lambda: keras.optimizers.RMSprop(
            rate, rho=decay, momentum=momentum, epsilon=epsilon, centered=centered, weight_decay=share
        ), w, g,
    )  # fmt: skip


def _adafactor(
    w: Any, g: Any, *, rate: float, power: float, least_scale: float, threshold: float, is_relative: bool, is_scaled: bool,
    weight_decay: float, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(maximize=(False, maximize), is_scaled=(True, is_scaled))
    if weight_decay:
        raise Unsupported("weight_decay: Keras takes it before it measures weights, which the paper leaves open.")
    return _weights(
        lambda: keras.optimizers.Adafactor(
            rate, beta_2_decay=power, epsilon_2=least_scale, clip_threshold=threshold, relative_step=is_relative
        ), w, g,
    )  # fmt: skip


def _muon(
    w: Any,
    g: Any,
    *,
    rate: float,
    momentum: float,
    nesterov: bool,
    weight_decay: float,
    scale: str,
    steps: int,
    is_corrected: bool,
) -> Any:
    _lacks(is_corrected=(False if nesterov else is_corrected, is_corrected))
    if scale not in ("rms", "none"):
        raise Unsupported("scale: Keras has one for the root mean square alone, or none.")
    return _weights(
        lambda: keras.optimizers.Muon(
            rate, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay or None, ns_steps=steps,
            rms_rate=0.2 if scale == "rms" else None,
        ), w, g,
    )  # fmt: skip


def _lion(w: Any, g: Any, *, rate: float, betas: Any, weight_decay: float) -> Any:
    return _weights(
        lambda: keras.optimizers.Lion(rate, beta_1=betas[0], beta_2=betas[1], weight_decay=weight_decay or None), w, g
    )


def _lamb(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float) -> Any:
    _lacks(weight_decay=(0.0, weight_decay))
    return _weights(lambda: keras.optimizers.Lamb(rate, beta_1=betas[0], beta_2=betas[1], epsilon=epsilon), w, g)


def _ftrl(
    w: Any, g: Any, *, rate: float, power: float, initial: float, l1: float, l2: float, shrinkage: float, beta: float
) -> Any:
    return _weights(
        lambda: keras.optimizers.Ftrl(
            rate, learning_rate_power=power, initial_accumulator_value=initial, l1_regularization_strength=l1,
            l2_regularization_strength=l2, l2_shrinkage_regularization_strength=shrinkage, beta=beta,
        ), w, g,
    )  # fmt: skip


CALLS = {
    "sgd": {"keras.optimizers.SGD": _sgd},
    "sgd_in_two_steps": {"keras.optimizers.SGD": _sgd},
    "adam_epsilon_hat": {
        "keras.optimizers.Adam": _adam_epsilon_hat(keras.optimizers.Adam),
        "keras.optimizers.AdamW": _adam_epsilon_hat(keras.optimizers.AdamW),
    },
    "nadam": {"keras.optimizers.Nadam": _nadam},
    "adamax": {"keras.optimizers.Adamax": _adamax},
    "adagrad": {"keras.optimizers.Adagrad": _adagrad},
    "adadelta": {"keras.optimizers.Adadelta": _adadelta},
    "rmsprop": {"keras.optimizers.RMSprop": _rmsprop},
    "adafactor": {"keras.optimizers.Adafactor": _adafactor},
    "adafactor_of_vector": {"keras.optimizers.Adafactor": _adafactor},
    "muon": {"keras.optimizers.Muon": _muon},
    "lion": {"keras.optimizers.Lion": _lion},
    "lamb": {"keras.optimizers.Lamb": _lamb},
    "ftrl": {"keras.optimizers.Ftrl": _ftrl},
}

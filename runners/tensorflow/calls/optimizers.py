"""TensorFlow: the optimizers of tf.compat.v1, and the operations beneath them that have no optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runners.contract.errors import Unsupported

_train = tf.compat.v1.train


def _weights(make: Callable[[], Callable[[Any, Any], Any]], w: Any, g: Any) -> list[Any]:
    """Return the weights after some steps. make: gives what takes a variable and its gradient, and changes the variable."""
    if not tf.executing_eagerly():
        raise Unsupported("jit: an optimizer's variables are made outside of a graph.")
    variable, step = tf.Variable(w), make()
    walk = []
    for gradient in g:
        step(variable, gradient)
        walk.append(tf.identity(variable))
    return walk if len(walk) == 2 else [walk[0], walk[1], walk[-1]]


def _applied(optimizer: Any) -> Callable[[], Callable[[Any, Any], Any]]:
    return lambda: lambda variable, gradient: optimizer.apply_gradients([(gradient, variable)])


def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f"{name}: TensorFlow has no other than {wanted}. Found: {found}.")


def _sgd(
    w: Any, g: Any, *, rate: float, momentum: float, weight_decay: float, dampening: float = 0.0, nesterov: bool = False,
    maximize: bool = False,
) -> Any:  # fmt: skip
    _lacks(
        momentum=(0.0, momentum), weight_decay=(0.0, weight_decay), dampening=(0.0, dampening), nesterov=(False, nesterov),
        maximize=(False, maximize),
    )  # fmt: skip
    return _weights(_applied(_train.GradientDescentOptimizer(rate)), w, g)


def _momentum(
    w: Any, g: Any, *, rate: float, momentum: float, weight_decay: float, dampening: float = 0.0, nesterov: bool = False,
    maximize: bool = False,
) -> Any:  # fmt: skip
    _lacks(weight_decay=(0.0, weight_decay), dampening=(0.0, dampening), maximize=(False, maximize))
    return _weights(_applied(_train.MomentumOptimizer(rate, momentum, use_nesterov=nesterov)), w, g)


def _adam(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, amsgrad: bool, weight_decay: float) -> Any:
    _lacks(amsgrad=(False, amsgrad), weight_decay=(0.0, weight_decay))
    return _weights(_applied(_train.AdamOptimizer(rate, betas[0], betas[1], epsilon)), w, g)


def _adagrad(
    w: Any, g: Any, *, rate: float, rate_decay: float, weight_decay: float, initial: float, epsilon: float,
    is_epsilon_inside: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(
        rate_decay=(0.0, rate_decay), weight_decay=(0.0, weight_decay), epsilon=(0.0, epsilon), maximize=(False, maximize)
    )  # fmt: skip
    return _weights(_applied(_train.AdagradOptimizer(rate, initial)), w, g)


def _adadelta(
    w: Any, g: Any, *, rate: float, rho: float, epsilon: float, weight_decay: float, decoupled: bool, maximize: bool
) -> Any:
    _lacks(weight_decay=(0.0, weight_decay), maximize=(False, maximize))
    return _weights(_applied(_train.AdadeltaOptimizer(rate, rho, epsilon)), w, g)


def _rmsprop(
    w: Any, g: Any, *, rate: float, decay: float, epsilon: float, is_epsilon_inside: bool, initial: float, centered: bool,
    momentum: float, nesterov: bool, is_corrected: bool, weight_decay: float, decoupled: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(
        maximize=(False, maximize), is_epsilon_inside=(True, is_epsilon_inside), initial=(1.0, initial),
        nesterov=(False, nesterov), is_corrected=(False, is_corrected), weight_decay=(0.0, weight_decay),
    )  # fmt: skip
    return _weights(_applied(_train.RMSPropOptimizer(rate, decay, momentum, epsilon, centered=centered)), w, g)


def _ftrl(
    w: Any, g: Any, *, rate: float, power: float, initial: float, l1: float, l2: float, shrinkage: float, beta: float
) -> Any:
    return _weights(
        _applied(
            _train.FtrlOptimizer(
                rate, power, initial, l1_regularization_strength=l1, l2_regularization_strength=l2,
                l2_shrinkage_regularization_strength=shrinkage, beta=beta,
            )
        ), w, g,
    )  # fmt: skip


def _proximal_adagrad(w: Any, g: Any, *, rate: float, initial: float, l1: float, l2: float) -> Any:
    optimizer = _train.ProximalAdagradOptimizer(
        rate, initial, l1_regularization_strength=l1, l2_regularization_strength=l2
    )  # fmt: skip
    return _weights(_applied(optimizer), w, g)


def _proximal_sgd(w: Any, g: Any, *, rate: float, l1: float, l2: float) -> Any:
    optimizer = _train.ProximalGradientDescentOptimizer(
        rate, l1_regularization_strength=l1, l2_regularization_strength=l2
    )  # fmt: skip
    return _weights(_applied(optimizer), w, g)


def _with_mean(operation: Callable[..., Any], first: str) -> Callable[..., Any]:
    """Return PowerSign or AddSign, which keep a mean of gradients; first: the name of the number that is its own."""

    def call(w: Any, g: Any, *, rate: float, beta: float, decay: float, **own: float) -> Any:
        def make() -> Callable[[Any, Any], Any]:
            mean = tf.Variable(tf.zeros_like(w))
            numbers = {first: own.popitem()[1], "lr": rate, "sign_decay": decay, "beta": beta}
            given = {name: tf.constant(each, w.dtype) for name, each in numbers.items()}
            return lambda variable, gradient: operation(var=variable.handle, m=mean.handle, grad=gradient, **given)

        return _weights(make, w, g)

    return call


CALLS = {
    "sgd": {
        "tensorflow.compat.v1.train.GradientDescentOptimizer": _sgd,
        "tensorflow.compat.v1.train.MomentumOptimizer": _momentum,
    },
    "sgd_in_two_steps": {
        "tensorflow.compat.v1.train.GradientDescentOptimizer": _sgd,
        "tensorflow.compat.v1.train.MomentumOptimizer": _momentum,
    },
    "adam_epsilon_hat": {"tensorflow.compat.v1.train.AdamOptimizer": _adam},
    "adagrad": {"tensorflow.compat.v1.train.AdagradOptimizer": _adagrad},
    "adadelta": {"tensorflow.compat.v1.train.AdadeltaOptimizer": _adadelta},
    "rmsprop": {"tensorflow.compat.v1.train.RMSPropOptimizer": _rmsprop},
    "ftrl": {"tensorflow.compat.v1.train.FtrlOptimizer": _ftrl},
    "proximal_adagrad": {"tensorflow.compat.v1.train.ProximalAdagradOptimizer": _proximal_adagrad},
    "proximal_sgd": {"tensorflow.compat.v1.train.ProximalGradientDescentOptimizer": _proximal_sgd},
    "power_sign": {"tensorflow.raw_ops.ResourceApplyPowerSign": _with_mean(tf.raw_ops.ResourceApplyPowerSign, "logbase")},
    "add_sign": {"tensorflow.raw_ops.ResourceApplyAddSign": _with_mean(tf.raw_ops.ResourceApplyAddSign, "alpha")},
}

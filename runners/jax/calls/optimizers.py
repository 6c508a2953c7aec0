"""JAX: optimizers of optax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import optax

from runners.contract.errors import Unsupported


def _walked(optimizer: Any, weights: Any, g: Any) -> tuple[Any, Any, Any]:
    """Return the weights and the state after all steps, and the weights after each."""

    def step(carried: tuple[Any, Any], gradient: Any) -> tuple[tuple[Any, Any], Any]:
        weights, state = carried
        updates, state = optimizer.update(gradient, state, weights)
        weights = optax.apply_updates(weights, updates)
        return (weights, state), weights

    (weights, state), walk = jax.lax.scan(step, (weights, optimizer.init(weights)), g)
    return weights, state, walk


def _some(walk: Any) -> list[Any]:
    return list(walk) if len(walk) == 2 else [walk[0], walk[1], walk[-1]]


def _weights(optimizer: Any, w: Any, g: Any) -> list[Any]:
    return _some(_walked(optimizer, w, g)[2])


def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f"{name}: optax has no other than {wanted}. Found: {found}.")


def _penalized(optimizer: Any, weight_decay: float) -> Any:
    return optax.chain(optax.add_decayed_weights(weight_decay), optimizer) if weight_decay else optimizer


def _ascending(g: Any, maximize: bool) -> Any:
    return -g if maximize else g


def _sgd(
    w: Any, g: Any, *, rate: float, momentum: float, weight_decay: float, dampening: float = 0.0, nesterov: bool = False,
    maximize: bool = False,
) -> Any:  # fmt: skip
    _lacks(dampening=(0.0, dampening))
    found = optax.sgd(rate, momentum or None, nesterov)
    return _weights(_penalized(found, weight_decay), w, _ascending(g, maximize))


def _adam(make: Callable[..., Any], *, is_nesterov: bool | None = None, is_decoupled: bool = False) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, epsilon_root: float, weight_decay: float, decoupled: bool,
        nesterov: bool, maximize: bool,
    ) -> Any:  # fmt: skip
        if is_nesterov is not None:
            _lacks(nesterov=(is_nesterov, nesterov))
        more: dict[str, Any] = {} if is_nesterov else {"nesterov": nesterov}
        if is_decoupled:
            _lacks(decoupled=(True, decoupled or not weight_decay))
            more |= {"weight_decay": weight_decay}
        else:
            _lacks(decoupled=(False, decoupled))
        found = make(rate, betas[0], betas[1], epsilon, epsilon_root, **more)
        return _weights(found if is_decoupled else _penalized(found, weight_decay), w, _ascending(g, maximize))

    return call


def _adam_in_two_steps(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float) -> Any:
    return _weights(optax.adam(rate, betas[0], betas[1], epsilon), w, g)


def _adagrad_in_two_steps(w: Any, g: Any, *, rate: float, initial: float, epsilon: float) -> Any:
    raise Unsupported("epsilon: optax adds it inside the root alone.")


def _amsgrad(
    w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float, decoupled: bool, correction: str
) -> Any:
    _lacks(decoupled=(False, decoupled))
    if correction == "after":
        raise Unsupported("correction: optax has none after the maximum. Allowed: before, none.")
    is_corrected = correction == "before"
    found = optax.amsgrad(
        rate, betas[0], betas[1], epsilon, bias_correction_mu=is_corrected, bias_correction_nu=is_corrected
    )  # fmt: skip
    return _weights(_penalized(found, weight_decay), w, g)


def _radam(
    w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_raw: bool, weight_decay: float, decoupled: bool,
    maximize: bool, nesterov: bool,
) -> Any:  # fmt: skip
    _lacks(is_epsilon_raw=(False, is_epsilon_raw), decoupled=(False, decoupled))
    found = optax.radam(rate, betas[0], betas[1], epsilon, nesterov=nesterov)
    return _weights(_penalized(found, weight_decay), w, _ascending(g, maximize))


def _adabelief(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, epsilon_root: float, nesterov: bool) -> Any:
    return _weights(optax.adabelief(rate, betas[0], betas[1], epsilon, epsilon_root, nesterov=nesterov), w, g)


def _adamax(*, is_decoupled: bool) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_outside: bool, weight_decay: float,
        decoupled: bool, maximize: bool,
    ) -> Any:  # fmt: skip
        _lacks(
            is_epsilon_outside=(False, is_epsilon_outside),
            decoupled=(is_decoupled, decoupled or is_decoupled > bool(weight_decay)),
        )
        if is_decoupled:
            found = optax.adamaxw(rate, betas[0], betas[1], epsilon, weight_decay)
        else:
            found = _penalized(optax.adamax(rate, betas[0], betas[1], epsilon), weight_decay)
        return _weights(found, w, _ascending(g, maximize))

    return call


def _adagrad(
    w: Any, g: Any, *, rate: float, rate_decay: float, weight_decay: float, initial: float, epsilon: float,
    is_epsilon_inside: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(rate_decay=(0.0, rate_decay), is_epsilon_inside=(True, is_epsilon_inside or epsilon == 0.0))
    return _weights(_penalized(optax.adagrad(rate, initial, epsilon), weight_decay), w, _ascending(g, maximize))


def _adadelta(
    w: Any, g: Any, *, rate: float, rho: float, epsilon: float, weight_decay: float, decoupled: bool, maximize: bool
) -> Any:
    _lacks(decoupled=(False, decoupled))
    return _weights(optax.adadelta(rate, rho, epsilon, weight_decay), w, _ascending(g, maximize))


def _rmsprop(
    w: Any, g: Any, *, rate: float, decay: float, epsilon: float, is_epsilon_inside: bool, initial: float, centered: bool,
    momentum: float, nesterov: bool, is_corrected: bool, weight_decay: float, decoupled: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(decoupled=(False, decoupled))
    found = optax.rmsprop(
        rate, decay, epsilon, initial, is_epsilon_inside, centered, momentum or None, nesterov, is_corrected
    )  # fmt: skip
    return _weights(_penalized(found, weight_decay), w, _ascending(g, maximize))


def _rprop(w: Any, g: Any, *, rate: float, etas: Any, limits: Any, maximize: bool) -> Any:
    return _weights(optax.rprop(rate, etas[0], etas[1], limits[0], limits[1]), w, _ascending(g, maximize))


def _adafactor(
    w: Any, g: Any, *, rate: float, power: float, least_scale: float, threshold: float, is_relative: bool, is_scaled: bool,
    weight_decay: float, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(is_relative=(False, is_relative), weight_decay=(0.0, weight_decay))
    found = optax.adafactor(
        rate, min_dim_size_to_factor=1, decay_rate=-power, multiply_by_parameter_scale=is_scaled, clipping_threshold=threshold
    )  # fmt: skip
    return _weights(found, w, _ascending(g, maximize))


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
    _lacks(is_corrected=(True if nesterov else is_corrected, is_corrected))
    if scale not in ("columns", "rms"):
        raise Unsupported("scale: optax's weights have a column for each number that a layer gives, and there is always a scale.")
    found = optax.contrib.muon(
        rate, ns_steps=steps, beta=momentum, weight_decay=weight_decay, nesterov=nesterov,
        consistent_rms=0.2 if scale == "rms" else None,
    )  # fmt: skip
    return _weights(found, w, g)


def _with_betas(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float = 0.0) -> Any:
        return _weights(make(rate, betas[0], betas[1], eps=epsilon, weight_decay=weight_decay), w, g)

    return call


def _lion(w: Any, g: Any, *, rate: float, betas: Any, weight_decay: float) -> Any:
    return _weights(optax.lion(rate, betas[0], betas[1], weight_decay=weight_decay), w, g)


def _lars(w: Any, g: Any, *, rate: float, weight_decay: float, trust: float, momentum: float, nesterov: bool) -> Any:
    found = optax.lars(rate, weight_decay, trust_coefficient=trust, momentum=momentum, nesterov=nesterov)
    return _weights(found, w, g)


def _yogi(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, initial: float) -> Any:
    found = optax.chain(
        optax.scale_by_yogi(betas[0], betas[1], epsilon, initial_accumulator_value=initial), optax.scale_by_learning_rate(rate)
    )  # fmt: skip
    return _weights(found, w, g)


def _adan(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float) -> Any:
    found = optax.adan(rate, *betas, eps=epsilon, eps_root=0.0, weight_decay=weight_decay)
    return _weights(found, w, g)


def _optimistic_adam(w: Any, g: Any, *, rate: float, alpha: float, beta: float, betas: Any, epsilon: float) -> Any:
    return _weights(
        optax.optimistic_adam_v2(
            rate, alpha=alpha, beta=beta, b1=betas[0], b2=betas[1], eps=epsilon, eps_root=0.0, nesterov=False
        ),
        w,
        g,
    )


def _optimistic_adam_of_one_rate(w: Any, g: Any, *, rate: float, alpha: float, beta: float, betas: Any, epsilon: float) -> Any:
    _lacks(alpha=(1.0, alpha))
    return _weights(optax.optimistic_adam(rate, rate * beta, betas[0], betas[1], epsilon, 0.0, nesterov=False), w, g)


def _lookahead(w: Any, g: Any, *, rate: float, period: int, share: float) -> Any:
    found, _, walk = _walked(
        optax.lookahead(optax.sgd(rate), period, share), optax.LookaheadParams.init_synced(w), g
    )  # fmt: skip
    return [*_some(walk.fast), found.slow]


def _ademamix(w: Any, g: Any, *, rate: float, betas: Any, alpha: float, epsilon: float, weight_decay: float) -> Any:
    return _weights(
        optax.contrib.ademamix(rate, *betas, alpha=alpha, eps=epsilon, weight_decay=weight_decay), w, g
    )  # fmt: skip


def _adopt(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_clipped: bool) -> Any:
    return _weights(optax.contrib.adopt(rate, betas[0], betas[1], epsilon, use_clipping=is_clipped), w, g)


def _schedule_free(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, **parameters: Any) -> Any:
        found, state, walk = _walked(make(**parameters), w, g)
        return [*_some(walk), optax.contrib.schedule_free_eval_params(state, found)]

    return call


CALLS = {
    "sgd": {"optax.sgd": _sgd},
    "sgd_in_two_steps": {"optax.sgd": _sgd},
    "adam_in_two_steps": {"optax.adam": _adam_in_two_steps},
    "adagrad_in_two_steps": {"optax.adagrad": _adagrad_in_two_steps},
    "adam": {
        "optax.adam": _adam(optax.adam),
        "optax.adamw": _adam(optax.adamw, is_decoupled=True),
        "optax.nadam": _adam(optax.nadam, is_nesterov=True),
        "optax.nadamw": _adam(optax.nadamw, is_nesterov=True, is_decoupled=True),
    },
    "amsgrad": {"optax.amsgrad": _amsgrad},
    "radam": {"optax.radam": _radam},
    "adabelief": {"optax.adabelief": _adabelief},
    "adamax": {"optax.adamax": _adamax(is_decoupled=False), "optax.adamaxw": _adamax(is_decoupled=True)},
    "adagrad": {"optax.adagrad": _adagrad},
    "adadelta": {"optax.adadelta": _adadelta},
    "rmsprop": {"optax.rmsprop": _rmsprop},
    "rprop": {"optax.rprop": _rprop},
    "adafactor": {"optax.adafactor": _adafactor},
    "adafactor_of_vector": {"optax.adafactor": _adafactor},
    "muon": {"optax.contrib.muon": _muon},
    "lion": {"optax.lion": _lion},
    "lamb": {"optax.lamb": _with_betas(optax.lamb)},
    "lars": {"optax.lars": _lars},
    "yogi": {"optax.scale_by_yogi": _yogi},
    "novograd": {"optax.novograd": _with_betas(optax.novograd)},
    "fromage": {"optax.fromage": lambda w, g, *, rate: _weights(optax.fromage(rate), w, g)},
    "sm3": {"optax.sm3": lambda w, g, *, rate, momentum: _weights(optax.sm3(rate, momentum), w, g)},
    "sign_sgd": {"optax.sign_sgd": lambda w, g, *, rate: _weights(optax.sign_sgd(rate), w, g)},
    "signum": {"optax.signum": lambda w, g, *, rate, beta: _weights(optax.signum(rate, beta), w, g)},
    "adan": {"optax.adan": _adan},
    "optimistic_gradient_descent": {
        "optax.optimistic_gradient_descent": lambda w, g, *, rate, alpha, beta: _weights(
            optax.optimistic_gradient_descent(rate, alpha, beta), w, g
        ),
    },
    "optimistic_adam": {
        "optax.optimistic_adam_v2": _optimistic_adam,
        "optax.optimistic_adam": _optimistic_adam_of_one_rate,
    },
    "lookahead": {"optax.lookahead": _lookahead},
    "ademamix": {"optax.contrib.ademamix": _ademamix},
    "adopt": {"optax.contrib.adopt": _adopt},
    "madgrad": {
        "optax.contrib.madgrad": lambda w, g, *, rate, momentum, epsilon: _weights(
            optax.contrib.madgrad(rate, momentum, eps=epsilon), w, g
        ),
    },
    "schedule_free_sgd": {
        "optax.contrib.schedule_free_sgd": _schedule_free(lambda rate, beta: optax.contrib.schedule_free_sgd(rate, b1=beta)),
    },
    "schedule_free_adamw": {
        "optax.contrib.schedule_free_adamw": _schedule_free(
            lambda rate, betas, epsilon, weight_decay: optax.contrib.schedule_free_adamw(
                rate, b1=betas[0], b2=betas[1], eps=epsilon, weight_decay=weight_decay
            )
        ),
    },
}

"""JAX: optimizers of optax."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    found = optax.sgd(rate, momentum=momentum or None, nesterov=nesterov)
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
        found = make(rate, b1=betas[0], b2=betas[1], eps=epsilon, eps_root=epsilon_root, **more)
        return _weights(found if is_decoupled else _penalized(found, weight_decay), w, _ascending(g, maximize))

    return call


def _adam_in_two_steps(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float) -> Any:
    return _weights(optax.adam(rate, betas[0], betas[1], epsilon), w, g)


def _adagrad_in_two_steps(w: Any, g: Any, *, rate: float, initial: float, epsilon: float) -> Any:
    raise Unsupported("epsilon: optax adds it inside the root alone.")


def _amsgrad(
    make: Callable[..., Any],
    w: Any,
    g: Any,
    *,
    rate: float,
    betas: Any,
    epsilon: float,
    weight_decay: float,
    decoupled: bool,
    correction: str,
) -> Any:
    _lacks(decoupled=(False, decoupled))
    if correction == "after":
        raise Unsupported("correction: optax has none after the maximum. Allowed: before, none.")
    is_corrected = correction == "before"
    found = make(
        rate, betas[0], betas[1], epsilon, bias_correction_mu=is_corrected, bias_correction_nu=is_corrected
    )  # fmt: skip
    return _weights(_penalized(found, weight_decay), w, g)


def _radam(
    make: Callable[..., Any], w: Any, g: Any, *,
    rate: float, betas: Any, epsilon: float, is_epsilon_raw: bool, weight_decay: float, decoupled: bool,
    maximize: bool, nesterov: bool,
) -> Any:  # fmt: skip
    _lacks(is_epsilon_raw=(False, is_epsilon_raw), decoupled=(False, decoupled))
    found = make(rate, betas[0], betas[1], epsilon, nesterov=nesterov)
    return _weights(_penalized(found, weight_decay), w, _ascending(g, maximize))


def _adabelief(
    make: Callable[..., Any], w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, epsilon_root: float, nesterov: bool
) -> Any:
    return _weights(make(rate, betas[0], betas[1], epsilon, epsilon_root, nesterov=nesterov), w, g)


def _adamax(make: Callable[..., Any], *, is_decoupled: bool) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_outside: bool, weight_decay: float,
        decoupled: bool, maximize: bool,
    ) -> Any:  # fmt: skip
        _lacks(
            is_epsilon_outside=(False, is_epsilon_outside),
            decoupled=(is_decoupled, decoupled or is_decoupled > bool(weight_decay)),
        )
        if is_decoupled:
            found = make(rate, betas[0], betas[1], epsilon, weight_decay)
        else:
            found = _penalized(make(rate, betas[0], betas[1], epsilon), weight_decay)
        return _weights(found, w, _ascending(g, maximize))

    return call


def _adagrad(
    make: Callable[..., Any], w: Any, g: Any, *,
    rate: float, rate_decay: float, weight_decay: float, initial: float, epsilon: float,
    is_epsilon_inside: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(rate_decay=(0.0, rate_decay), is_epsilon_inside=(True, is_epsilon_inside or epsilon == 0.0))
    return _weights(_penalized(make(rate, initial, epsilon), weight_decay), w, _ascending(g, maximize))


def _adadelta(
    make: Callable[..., Any], w: Any, g: Any, *,
    rate: float, rho: float, epsilon: float, weight_decay: float, decoupled: bool,
    maximize: bool,
) -> Any:  # fmt: skip
    _lacks(decoupled=(False, decoupled))
    return _weights(make(rate, rho, epsilon, weight_decay), w, _ascending(g, maximize))


def _rmsprop(
    make: Callable[..., Any], w: Any, g: Any, *,
    rate: float, decay: float, epsilon: float, is_epsilon_inside: bool, initial: float, centered: bool,
    momentum: float, nesterov: bool, is_corrected: bool, weight_decay: float, decoupled: bool, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(decoupled=(False, decoupled))
    found = make(
        rate, decay, epsilon, initial, is_epsilon_inside, centered, momentum or None, nesterov, is_corrected
    )  # fmt: skip
    return _weights(_penalized(found, weight_decay), w, _ascending(g, maximize))


def _rprop(make: Callable[..., Any], w: Any, g: Any, *, rate: float, etas: Any, limits: Any, maximize: bool) -> Any:
    return _weights(make(rate, etas[0], etas[1], limits[0], limits[1]), w, _ascending(g, maximize))


def _adafactor(
    make: Callable[..., Any], w: Any, g: Any, *,
    rate: float, power: float, least_scale: float, threshold: float, is_relative: bool, is_scaled: bool,
    weight_decay: float, maximize: bool,
) -> Any:  # fmt: skip
    _lacks(is_relative=(False, is_relative), weight_decay=(0.0, weight_decay))
    more = {"min_dim_size_to_factor": 1} if make is optax.adafactor else {}
    found = make(
        rate, **more, decay_rate=-power, multiply_by_parameter_scale=is_scaled, clipping_threshold=threshold
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
        eps=0.0, consistent_rms=0.2 if scale == "rms" else None,
    )  # fmt: skip
    return _weights(found, w, g)


def _with_betas(make: Callable[..., Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float = 0.0) -> Any:
        return _weights(make(rate, betas[0], betas[1], eps=epsilon, weight_decay=weight_decay), w, g)

    return call


def _lion(make: Callable[..., Any], w: Any, g: Any, *, rate: float, betas: Any, weight_decay: float) -> Any:
    return _weights(make(rate, betas[0], betas[1], weight_decay=weight_decay), w, g)


def _lars(w: Any, g: Any, *, rate: float, weight_decay: float, trust: float, momentum: float, nesterov: bool) -> Any:
    found = optax.lars(rate, weight_decay, trust_coefficient=trust, momentum=momentum, nesterov=nesterov)
    return _weights(found, w, g)


def _yogi(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, initial: float) -> Any:
    found = optax.chain(
        optax.scale_by_yogi(betas[0], betas[1], epsilon, initial_accumulator_value=initial), optax.scale_by_learning_rate(rate)
    )  # fmt: skip
    return _weights(found, w, g)


def _yogi_of_one_start(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, initial: float) -> Any:
    _lacks(initial=(1e-6, initial))
    return _weights(optax.yogi(rate, betas[0], betas[1], epsilon), w, g)


def _adan(make: Callable[..., Any], w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float) -> Any:
    found = make(rate, *betas, eps=epsilon, eps_root=0.0, weight_decay=weight_decay)
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


def _scaled(transformation: Any, rate: float) -> Any:
    """Return the optimizer that a transformation of gradients is the rule of."""
    return optax.chain(transformation, optax.scale(-rate))


def _as_sgd(wrap: Callable[[Any, float], Any]) -> Callable[..., Any]:
    """Return a call of plain gradient descent by way of what wraps an optimizer, and changes nothing of it."""

    def call(
        w: Any, g: Any, *, rate: float, momentum: float, weight_decay: float, dampening: float = 0.0, nesterov: bool = False,
        maximize: bool = False,
    ) -> Any:  # fmt: skip
        _lacks(dampening=(0.0, dampening))
        found = wrap(optax.trace(momentum, nesterov) if momentum else optax.identity(), rate)
        return _weights(_penalized(found, weight_decay), w, _ascending(g, maximize))

    return call


def _adamw_of_parts(rate: float, b1: float, b2: float, eps: float, eps_root: float, *, weight_decay: float, **more: Any) -> Any:
    return optax.chain(
        optax.scale_by_adam(b1, b2, eps, eps_root, **more), optax.add_decayed_weights(weight_decay), optax.scale(-rate)
    )


def _amsgrad_of_parts(rate: float, b1: float, b2: float, eps: float, **more: Any) -> Any:
    return _scaled(optax.scale_by_amsgrad(b1, b2, eps, **more), rate)


def _radam_of_parts(rate: float, b1: float, b2: float, eps: float, **more: Any) -> Any:
    return _scaled(optax.scale_by_radam(b1, b2, eps, **more), rate)


def _belief(rate: float, b1: float, b2: float, eps: float, eps_root: float, **more: Any) -> Any:
    return _scaled(optax.scale_by_belief(b1, b2, eps, eps_root, **more), rate)


def _adadelta_of_parts(rate: float, rho: float, eps: float, weight_decay: float) -> Any:
    return optax.chain(optax.add_decayed_weights(weight_decay), _scaled(optax.scale_by_adadelta(rho, eps), rate))


def _rmsprop_of_parts(
    rate: float, decay: float, eps: float, initial: float, is_inside: bool, centered: bool, momentum: float | None,
    nesterov: bool, is_corrected: bool,
) -> Any:  # fmt: skip
    part = optax.scale_by_stddev if centered else optax.scale_by_rms
    scaled = _scaled(part(decay, eps, initial, is_inside, is_corrected), rate)
    return optax.chain(scaled, optax.trace(momentum, nesterov)) if momentum else scaled


def _lion_of_parts(rate: float, b1: float, b2: float, *, weight_decay: float) -> Any:
    return _scaled(optax.chain(optax.scale_by_lion(b1, b2), optax.add_decayed_weights(weight_decay)), rate)


def _lamb_of_parts(rate: float, b1: float, b2: float, *, eps: float, weight_decay: float) -> Any:
    parts = optax.scale_by_adam(b1, b2, eps), optax.add_decayed_weights(weight_decay), optax.scale_by_trust_ratio()
    return _scaled(optax.chain(*parts), rate)


def _novograd_of_parts(rate: float, b1: float, b2: float, *, eps: float, weight_decay: float) -> Any:
    return _scaled(optax.scale_by_novograd(b1, b2, eps, weight_decay=weight_decay), rate)


def _adan_of_parts(rate: float, b1: float, b2: float, b3: float, *, eps: float, eps_root: float, weight_decay: float) -> Any:
    _lacks(weight_decay=(0.0, weight_decay))
    return _scaled(optax.scale_by_adan(b1, b2, b3, eps, eps_root), rate)


def _adafactor_of_parts(rate: float, *, decay_rate: float, multiply_by_parameter_scale: bool, clipping_threshold: float) -> Any:
    scale = optax.scale_by_param_block_rms() if multiply_by_parameter_scale else optax.identity()
    factored = optax.scale_by_factored_rms(decay_rate=decay_rate, min_dim_size_to_factor=1)
    return optax.chain(factored, optax.clip_by_block_rms(clipping_threshold), optax.scale(rate), scale, optax.scale(-1.0))


_OF_PLAIN_GRADIENTS: dict[str, Callable[[Any, float], Any]] = {
    "optax.chain": lambda rule, rate: optax.chain(rule, optax.scale_by_learning_rate(rate)),
    "optax.scale": _scaled,
    "optax.trace": _scaled,
    "optax.identity": _scaled,
    "optax.scale_by_learning_rate": lambda rule, rate: optax.chain(rule, optax.scale_by_learning_rate(rate)),
    "optax.scale_by_schedule": lambda rule, rate: optax.chain(rule, optax.scale_by_schedule(lambda count: -rate)),
    "optax.stateless": lambda rule, rate: optax.chain(rule, optax.stateless(lambda updates, weights: -rate * updates)),
    "optax.stateless_with_tree_map": lambda rule, rate: optax.chain(
        rule, optax.stateless_with_tree_map(lambda update, weight: -rate * update)
    ),
    "optax.masked": lambda rule, rate: optax.masked(_scaled(rule, rate), True),
    "optax.flatten": lambda rule, rate: optax.flatten(_scaled(rule, rate)),
    "optax.partition": lambda rule, rate: optax.partition({"all": _scaled(rule, rate)}, "all"),
    "optax.multi_transform": lambda rule, rate: optax.multi_transform({"all": _scaled(rule, rate)}, "all"),
    "optax.inject_hyperparams": lambda rule, rate: optax.chain(rule, optax.inject_hyperparams(optax.scale)(step_size=-rate)),
    "optax.conditionally_transform": lambda rule, rate: optax.conditionally_transform(
        _scaled(rule, rate), lambda step, **more: step >= 0
    ),
    "optax.conditionally_mask": lambda rule, rate: optax.conditionally_mask(_scaled(rule, rate), lambda step, **more: step >= 0),
    "optax.skip_not_finite": lambda rule, rate: optax.MultiSteps(
        _scaled(rule, rate), 1, should_skip_update_fn=optax.skip_not_finite
    ),
    "optax.with_extra_args_support": lambda rule, rate: optax.with_extra_args_support(_scaled(rule, rate)),
}

CALLS = {
    "sgd": {"optax.sgd": _sgd, **{name: _as_sgd(wrap) for name, wrap in _OF_PLAIN_GRADIENTS.items()}},
    "sgd_in_two_steps": {"optax.sgd": _sgd},
    "adam_in_two_steps": {"optax.adam": _adam_in_two_steps},
    "adagrad_in_two_steps": {"optax.adagrad": _adagrad_in_two_steps},
    "adam": {
        "optax.adam": _adam(optax.adam),
        "optax.adamw": _adam(optax.adamw, is_decoupled=True),
        "optax.nadam": _adam(optax.nadam, is_nesterov=True),
        "optax.nadamw": _adam(optax.nadamw, is_nesterov=True, is_decoupled=True),
        "optax.scale_by_adam": _adam(lambda rate, *facts, **more: _scaled(optax.scale_by_adam(*facts, **more), rate)),
        "optax.add_decayed_weights": _adam(_adamw_of_parts, is_decoupled=True),
    },
    "amsgrad": {
        "optax.amsgrad": partial(_amsgrad, optax.amsgrad),
        "optax.scale_by_amsgrad": partial(_amsgrad, _amsgrad_of_parts),
    },
    "radam": {"optax.radam": partial(_radam, optax.radam), "optax.scale_by_radam": partial(_radam, _radam_of_parts)},
    "adabelief": {
        "optax.adabelief": partial(_adabelief, optax.adabelief),
        "optax.scale_by_belief": partial(_adabelief, _belief),
    },
    "adamax": {
        "optax.adamax": _adamax(optax.adamax, is_decoupled=False),
        "optax.adamaxw": _adamax(optax.adamaxw, is_decoupled=True),
        "optax.scale_by_adamax": _adamax(lambda rate, *facts: _scaled(optax.scale_by_adamax(*facts), rate), is_decoupled=False),
    },
    "adagrad": {
        "optax.adagrad": partial(_adagrad, optax.adagrad),
        "optax.scale_by_rss": partial(_adagrad, lambda rate, *facts: _scaled(optax.scale_by_rss(*facts), rate)),
    },
    "adadelta": {
        "optax.adadelta": partial(_adadelta, optax.adadelta),
        "optax.scale_by_adadelta": partial(_adadelta, _adadelta_of_parts),
    },
    "rmsprop": {
        "optax.rmsprop": partial(_rmsprop, optax.rmsprop),
        "optax.scale_by_rms": partial(_rmsprop, _rmsprop_of_parts),
        "optax.scale_by_stddev": partial(_rmsprop, _rmsprop_of_parts),
    },
    "rprop": {
        "optax.rprop": partial(_rprop, optax.rprop),
        "optax.scale_by_rprop": partial(_rprop, lambda *facts: _scaled(optax.scale_by_rprop(*facts), 1.0)),
    },
    "adafactor": {
        "optax.adafactor": partial(_adafactor, optax.adafactor),
        "optax.scale_by_factored_rms": partial(_adafactor, _adafactor_of_parts),
        "optax.scale_by_param_block_rms": partial(_adafactor, _adafactor_of_parts),
    },
    "adafactor_of_vector": {"optax.adafactor": partial(_adafactor, optax.adafactor)},
    "muon": {"optax.contrib.muon": _muon},
    "lion": {"optax.lion": partial(_lion, optax.lion), "optax.scale_by_lion": partial(_lion, _lion_of_parts)},
    "lamb": {"optax.lamb": _with_betas(optax.lamb), "optax.scale_by_trust_ratio": _with_betas(_lamb_of_parts)},
    "lars": {"optax.lars": _lars},
    "yogi": {"optax.yogi": _yogi_of_one_start, "optax.scale_by_yogi": _yogi},
    "novograd": {
        "optax.novograd": _with_betas(optax.novograd),
        "optax.scale_by_novograd": _with_betas(_novograd_of_parts),
    },
    "fromage": {"optax.fromage": lambda w, g, *, rate: _weights(optax.fromage(rate), w, g)},
    "sm3": {
        "optax.sm3": lambda w, g, *, rate, momentum: _weights(optax.sm3(rate, momentum), w, g),
        "optax.scale_by_sm3": lambda w, g, *, rate, momentum: _weights(_scaled(optax.scale_by_sm3(momentum), rate), w, g),
    },
    "sign_sgd": {
        "optax.sign_sgd": lambda w, g, *, rate: _weights(optax.sign_sgd(rate), w, g),
        "optax.scale_by_sign": lambda w, g, *, rate: _weights(_scaled(optax.scale_by_sign(), rate), w, g),
    },
    "signum": {"optax.signum": lambda w, g, *, rate, beta: _weights(optax.signum(rate, beta), w, g)},
    "adan": {"optax.adan": partial(_adan, optax.adan), "optax.scale_by_adan": partial(_adan, _adan_of_parts)},
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

"""PyTorch: optimizers.

Weights are cut in two where there are several, so that forms over lists have a list. Cut or not, they keep their strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from runners.contract.errors import Unsupported

Make = Callable[..., torch.optim.Optimizer]
_FORMS: dict[str, dict[str, Any]] = {"for loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype).copy_(tensor)


def _walked(make: Make, w: torch.Tensor, g: torch.Tensor, *, is_cut: bool) -> Iterator[Any]:
    """Yield the optimizer, its weights and these as one tensor, after each step."""
    half = len(w) // 2
    parts = [slice(0, half), slice(half, len(w))] if half and is_cut else [slice(0, len(w))]
    weights = [_copied(w[part]) for part in parts]
    optimizer = make(weights)
    for gradient in g:
        for weight, part in zip(weights, parts, strict=True):
            weight.grad = gradient[part]
        optimizer.step()
        yield optimizer, weights, torch.cat(weights)


def _weights(make: Make, w: torch.Tensor, g: torch.Tensor, *, is_cut: bool = True) -> list[torch.Tensor]:
    walk = [whole for _, _, whole in _walked(make, w, g, is_cut=is_cut)]
    return walk if len(walk) == 2 else [walk[0], walk[1], walk[-1]]


def _lacks(**parameters: Any) -> None:
    """Raise if a parameter is not what the first of its pair says."""
    for name, (wanted, found) in parameters.items():
        if wanted != found:
            raise Unsupported(f"{name}: PyTorch has no other than {wanted}. Found: {found}.")


def _sgd(form: dict[str, Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, **parameters: Any) -> Any:
        return _weights(lambda weights: torch.optim.SGD(weights, lr=rate, **parameters, **form), w, g)

    return call


def _adam(make: Make, form: dict[str, Any], *, is_adamw: bool = False) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, weight_decay: float, decoupled: bool, maximize: bool = False,
        epsilon_root: float = 0.0, nesterov: bool = False, correction: str = "after", amsgrad: bool = False,
    ) -> Any:  # fmt: skip
        _lacks(epsilon_root=(0.0, epsilon_root), nesterov=(False, nesterov), correction=("after", correction))
        if is_adamw:
            _lacks(decoupled=(True, decoupled or not weight_decay))
        more = form if is_adamw else form | {"decoupled_weight_decay": decoupled}
        return _weights(
            lambda weights: make(
                weights, lr=rate, betas=tuple(betas), eps=epsilon, weight_decay=weight_decay, maximize=maximize,
                amsgrad=amsgrad, **more,
            ), w, g,
        )  # fmt: skip

    return call


def _amsgrad(make: Make, form: dict[str, Any], *, is_adamw: bool = False) -> Callable[..., Any]:
    adam = _adam(make, form, is_adamw=is_adamw)
    return lambda w, g, **parameters: adam(w, g, amsgrad=True, **parameters)


def _adam_in_two_steps(form: dict[str, Any]) -> Callable[..., Any]:
    return lambda w, g, *, rate, betas, epsilon: _weights(
        lambda weights: torch.optim.Adam(weights, lr=rate, betas=tuple(betas), eps=epsilon, **form), w, g
    )


def _adagrad_in_two_steps(form: dict[str, Any]) -> Callable[..., Any]:
    return lambda w, g, *, rate, initial, epsilon: _weights(
        lambda weights: torch.optim.Adagrad(weights, lr=rate, initial_accumulator_value=initial, eps=epsilon, **form), w, g
    )


def _nadam(form: dict[str, Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, decoupled: bool, **parameters: Any) -> Any:
        return _weights(
            lambda weights: torch.optim.NAdam(
                weights, lr=rate, betas=tuple(betas), eps=epsilon, decoupled_weight_decay=decoupled, **parameters, **form
            ), w, g,
        )  # fmt: skip

    return call


def _radam(form: dict[str, Any]) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_raw: bool, decoupled: bool, nesterov: bool,
        **parameters: Any,
    ) -> Any:  # fmt: skip
        _lacks(is_epsilon_raw=(True, is_epsilon_raw), nesterov=(False, nesterov))
        return _weights(
            lambda weights: torch.optim.RAdam(
                weights, lr=rate, betas=tuple(betas), eps=epsilon, decoupled_weight_decay=decoupled, **parameters, **form
            ), w, g,
        )  # fmt: skip

    return call


def _adamax(form: dict[str, Any]) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, betas: Any, epsilon: float, is_epsilon_outside: bool, decoupled: bool, **parameters: Any
    ) -> Any:
        _lacks(is_epsilon_outside=(False, is_epsilon_outside), decoupled=(False, decoupled))
        return _weights(
            lambda weights: torch.optim.Adamax(weights, lr=rate, betas=tuple(betas), eps=epsilon, **parameters, **form), w, g
        )

    return call


def _adagrad(form: dict[str, Any]) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, rate_decay: float, initial: float, epsilon: float, is_epsilon_inside: bool,
        **parameters: Any,
    ) -> Any:  # fmt: skip
        _lacks(is_epsilon_inside=(False, is_epsilon_inside))
        return _weights(
            lambda weights: torch.optim.Adagrad(
                weights, lr=rate, lr_decay=rate_decay, initial_accumulator_value=initial, eps=epsilon, **parameters, **form
            ), w, g,
        )  # fmt: skip

    return call


def _adadelta(form: dict[str, Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, epsilon: float, decoupled: bool, **parameters: Any) -> Any:
        _lacks(decoupled=(False, decoupled))
        return _weights(lambda weights: torch.optim.Adadelta(weights, lr=rate, eps=epsilon, **parameters, **form), w, g)

    return call


def _rmsprop(form: dict[str, Any]) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, decay: float, epsilon: float, is_epsilon_inside: bool, initial: float, nesterov: bool,
        is_corrected: bool, decoupled: bool, **parameters: Any,
    ) -> Any:  # fmt: skip
        _lacks(
            is_epsilon_inside=(False, is_epsilon_inside), initial=(0.0, initial), nesterov=(False, nesterov),
            is_corrected=(False, is_corrected), decoupled=(False, decoupled),
        )  # fmt: skip
        return _weights(
            lambda weights: torch.optim.RMSprop(weights, lr=rate, alpha=decay, eps=epsilon, **parameters, **form), w, g
        )

    return call


def _rprop(form: dict[str, Any]) -> Callable[..., Any]:
    return lambda w, g, *, rate, etas, limits, maximize: _weights(
        lambda weights: torch.optim.Rprop(
            weights, lr=rate, etas=tuple(etas), step_sizes=tuple(limits), maximize=maximize, **form
        ), w, g,
    )  # fmt: skip


def _asgd(form: dict[str, Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, decay: float, power: float, start: float, **parameters: Any) -> Any:
        def make(weights: list[torch.Tensor]) -> torch.optim.Optimizer:
            return torch.optim.ASGD(weights, lr=rate, lambd=decay, alpha=power, t0=start, **parameters, **form)

        walk = list(_walked(make, w, g, is_cut=True))
        optimizer, weights, last = walk[-1]
        return [walk[0][2], walk[1][2], last, torch.cat([optimizer.state[each]["ax"] for each in weights])]

    return call


def _adafactor(form: dict[str, Any]) -> Callable[..., Any]:
    def call(
        w: Any, g: Any, *, rate: float, power: float, least_scale: float, threshold: float, is_relative: bool, is_scaled: bool,
        **parameters: Any,
    ) -> Any:  # fmt: skip
        _lacks(is_relative=(True, is_relative), is_scaled=(True, is_scaled))

        def make(weights: list[torch.Tensor]) -> torch.optim.Optimizer:
            eps = (None, least_scale)
            return torch.optim.Adafactor(weights, lr=rate, beta2_decay=power, eps=eps, d=threshold, **parameters, **form)

        # The steps of all weights of a tensor depend on each other.
        return _weights(make, w, g, is_cut=False)

    return call


def _muon(w: Any, g: Any, *, rate: float, scale: str, steps: int, is_corrected: bool, **parameters: Any) -> Any:
    _lacks(is_corrected=(False, is_corrected))
    if scale not in ("rows", "rms"):
        raise Unsupported("scale: PyTorch's weights have a row for each number that a layer gives, and there is always a scale.")
    kind = {"rows": "original", "rms": "match_rms_adamw"}[scale]
    return _weights(
        lambda weights: torch.optim.Muon(weights, lr=rate, ns_steps=steps, adjust_lr_fn=kind, **parameters), w, g, is_cut=False
    )


def _all(name: str, of: Callable[[dict[str, Any]], Callable[..., Any]], *forms: str) -> dict[str, Callable[..., Any]]:
    return {f"torch.optim.{name} ({form})": of(_FORMS[form]) for form in forms}


_TWO = ("for loop", "foreach")
_THREE = (*_TWO, "fused")
_ADAM, _ADAMW = torch.optim.Adam, torch.optim.AdamW

CALLS = {
    "sgd": _all("SGD", _sgd, *_THREE),
    "adam": _all("Adam", lambda form: _adam(_ADAM, form), *_THREE)
    | _all("AdamW", lambda form: _adam(_ADAMW, form, is_adamw=True), *_THREE),
    "amsgrad": _all("Adam", lambda form: _amsgrad(_ADAM, form), *_THREE)
    | _all("AdamW", lambda form: _amsgrad(_ADAMW, form, is_adamw=True), *_THREE),
    "sgd_in_two_steps": _all("SGD", _sgd, *_THREE),
    "adam_in_two_steps": _all("Adam", _adam_in_two_steps, *_THREE),
    "adagrad_in_two_steps": _all("Adagrad", _adagrad_in_two_steps, *_THREE),
    "nadam": _all("NAdam", _nadam, *_TWO),
    "radam": _all("RAdam", _radam, *_TWO),
    "adamax": _all("Adamax", _adamax, *_TWO),
    "adagrad": _all("Adagrad", _adagrad, *_THREE),
    "adadelta": _all("Adadelta", _adadelta, *_TWO),
    "rmsprop": _all("RMSprop", _rmsprop, *_TWO),
    "rprop": _all("Rprop", _rprop, *_TWO),
    "asgd": _all("ASGD", _asgd, *_TWO),
    "adafactor": _all("Adafactor", _adafactor, *_TWO),
    "adafactor_of_vector": _all("Adafactor", _adafactor, *_TWO),
    "muon": {"torch.optim.Muon": _muon},
}

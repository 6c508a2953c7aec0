"""PyTorch: what is done to gradients and weights around an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import utils
from torch.optim import swa_utils

from runners.contract.errors import Unsupported


def _given(*gradients: torch.Tensor) -> list[torch.Tensor]:
    """Return parameters with copies of gradients, which clipping writes to."""
    found = []
    for gradient in gradients:
        parameter = torch.zeros_like(gradient)
        parameter.grad = torch.empty_strided(gradient.size(), gradient.stride(), dtype=gradient.dtype).copy_(gradient)
        found.append(parameter)
    return found


def _gradients(parameters: Sequence[torch.Tensor]) -> list[Any]:
    return [each.grad for each in parameters]


def _by_value(foreach: bool) -> Callable[..., Any]:
    def call(x: Any, *, limit: float) -> Any:
        parameters = _given(x)
        utils.clip_grad_value_(parameters, limit, foreach)
        return parameters[0].grad

    return call


def _by_global_norm(foreach: bool, *, is_whole: bool) -> Callable[..., Any]:
    def call(x: Any, y: Any, *, limit: float, order: Any, epsilon: float) -> Any:
        if epsilon != 1e-6:
            raise Unsupported("epsilon: PyTorch has 1e-6.")
        parameters = _given(x, y)
        if is_whole:
            norm = utils.clip_grad_norm_(parameters, limit, order, foreach=foreach)
        else:
            norm = utils.get_total_norm(_gradients(parameters), float(order), foreach=foreach)
            utils.clip_grads_with_norm_(parameters, limit, norm, foreach)
        return [*_gradients(parameters), norm]

    return call


def _clipped_step(v: Any, w: Any, x: Any, y: Any, *, rate: float, kind: str, limit: float) -> Any:
    if kind != "value":
        raise Unsupported("kind: PyTorch adds an epsilon to norms.")
    parameters = [v.clone(), w.clone()]
    for parameter, gradient in zip(parameters, (x, y), strict=True):
        parameter.grad = gradient.clone()
    utils.clip_grad_value_(parameters, limit)
    torch.optim.SGD(parameters, lr=rate).step()
    return parameters


class _Held(nn.Module):
    def __init__(self, value: torch.Tensor) -> None:
        super().__init__()
        half = (len(value) + 1) // 2
        self.first = nn.Parameter(value[:half].clone())
        self.rest = nn.Parameter(value[half:].clone())

    def set_to(self, value: torch.Tensor) -> None:
        with torch.no_grad():
            self.first.copy_(value[: len(self.first)])
            self.rest.copy_(value[len(self.first) :])

    def whole(self) -> torch.Tensor:
        return torch.cat([self.first, self.rest]).detach()


def _averages(x: Any, **form: Any) -> list[torch.Tensor]:
    """Return the averages after each tensor but the first."""
    model = _Held(x[0])
    averaged = swa_utils.AveragedModel(model, **form)
    averaged.update_parameters(model)
    found = []
    for each in x[1:]:
        model.set_to(each)
        averaged.update_parameters(model)
        whole: Any = averaged.module
        found.append(whole.whole())
    return found


def _moving_average(form: Callable[[float], dict[str, Any]]) -> Callable[..., Any]:
    def call(x: Any, *, decay: float, begin: str, is_corrected: bool) -> Any:
        if begin != "first" or is_corrected:
            raise Unsupported("begin, is_corrected: PyTorch's begins as the first, and is not corrected.")
        found = _averages(x, **form(decay))
        return [found[0], found[-1]]

    return call


def _equal_average(**form: Any) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        found = _averages(x, **form)
        return [found[0], found[-1]]

    return call


def _scaled_loss(form: dict[str, Any]) -> Callable[..., Any]:
    def call(w: Any, g: Any, *, rate: float, scale: float, growth: float, backoff: float, period: int) -> Any:
        weight = nn.Parameter(w.clone())
        optimizer = torch.optim.SGD([weight], lr=rate, **form)
        scaler = torch.amp.GradScaler(
            "cpu", init_scale=scale, growth_factor=growth, backoff_factor=backoff, growth_interval=period
        )
        scales = []
        for gradient in g:
            optimizer.zero_grad()
            # A scaler has a scale from the first loss on.
            scaler.scale(torch.zeros((), dtype=w.dtype))
            weight.grad = gradient * scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            scales.append(scaler.get_scale())
        return [weight.detach(), torch.tensor(scales, dtype=w.dtype)]

    return call


CALLS = {
    "clipped_by_value": {
        "torch.nn.utils.clip_grad_value_ (for loop)": _by_value(False),
        "torch.nn.utils.clip_grad_value_ (foreach)": _by_value(True),
        "torch.clamp": lambda x, *, limit: torch.clamp(x, -limit, limit),
    },
    "clipped_by_global_norm": {
        "torch.nn.utils.clip_grad_norm_ (for loop)": _by_global_norm(False, is_whole=True),
        "torch.nn.utils.clip_grad_norm_ (foreach)": _by_global_norm(True, is_whole=True),
        "torch.nn.utils.clip_grads_with_norm_ (for loop)": _by_global_norm(False, is_whole=False),
        "torch.nn.utils.clip_grads_with_norm_ (foreach)": _by_global_norm(True, is_whole=False),
    },
    "global_norm": {
        "torch.nn.utils.get_total_norm (for loop)": lambda x, y: utils.get_total_norm([x, y], foreach=False),
        "torch.nn.utils.get_total_norm (foreach)": lambda x, y: utils.get_total_norm([x, y], foreach=True),
    },
    "clipped_step": {"torch.nn.utils.clip_grad_value_": _clipped_step},
    "without_nan": {"torch.nan_to_num": lambda x: torch.nan_to_num(x, nan=0.0)},
    "moving_average": {
        "torch.optim.swa_utils.get_ema_multi_avg_fn": _moving_average(
            lambda decay: {"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(decay)}
        ),
        "torch.optim.swa_utils.get_ema_avg_fn": _moving_average(lambda decay: {"avg_fn": swa_utils.get_ema_avg_fn(decay)}),
    },
    "equal_average": {
        "torch.optim.swa_utils.AveragedModel": _equal_average(),
        "torch.optim.swa_utils.get_swa_multi_avg_fn": _equal_average(multi_avg_fn=swa_utils.get_swa_multi_avg_fn()),
        "torch.optim.swa_utils.get_swa_avg_fn": _equal_average(avg_fn=swa_utils.get_swa_avg_fn()),
    },
    "scaled_loss": {
        "torch.amp.GradScaler": _scaled_loss({"fused": False}),
        "torch.amp.GradScaler (fused)": _scaled_loss({"fused": True}),
    },
}

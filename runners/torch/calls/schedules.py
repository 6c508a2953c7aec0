"""PyTorch: schedules of a learning rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import lr_scheduler, swa_utils

from runners.contract.errors import Unsupported

_STEPS = 64


def _rates(make: Callable[[torch.optim.Optimizer], Any], rate: Any) -> torch.Tensor:
    """Return the rate of each step, with steps of an optimizer that has nothing to do."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=float(rate[0]), momentum=0.9)
    schedule = make(optimizer)
    found = []
    for _ in range(_STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return torch.tensor(found, dtype=rate.dtype)


def _polynomial(rate: Any, *, end: float, power: float, total: int, begin: int) -> Any:
    if end or begin:
        raise Unsupported("end, begin: PyTorch goes to zero from the first step on.")
    return _rates(lambda optimizer: lr_scheduler.PolynomialLR(optimizer, total, power), rate)


def _stair(rate: Any, *, decay: float, period: int, is_stair: bool, begin: int, end: float | None) -> Any:
    if not is_stair or begin or end is not None:
        raise Unsupported("is_stair, begin, end: PyTorch has stairs from the first step on, without an end.")
    return _rates(lambda optimizer: lr_scheduler.StepLR(optimizer, period, decay), rate)


def _gradual(rate: Any, *, decay: float, period: int, is_stair: bool, begin: int, end: float | None) -> Any:
    if is_stair or begin or end is not None:
        raise Unsupported("is_stair, begin, end: PyTorch decays at each step, without an end.")
    return _rates(lambda optimizer: lr_scheduler.ExponentialLR(optimizer, decay ** (1 / period)), rate)


def _by_factor(rate: Any, *, decay: float, period: int, is_stair: bool, begin: int, end: float | None) -> Any:
    if is_stair or begin or end is not None:
        raise Unsupported("is_stair, begin, end: the factor is that of each step.")
    return _rates(lambda optimizer: lr_scheduler.MultiplicativeLR(optimizer, lambda _: decay ** (1 / period)), rate)


def _inverse_time(rate: Any, *, decay: float, period: int, is_stair: bool) -> Any:
    def factor(step: int) -> float:
        return 1.0 / (1.0 + decay * (step // period if is_stair else step / period))

    return _rates(lambda optimizer: lr_scheduler.LambdaLR(optimizer, factor), rate)


def _milestones(rate: Any, *, boundaries: Any, factors: Any) -> Any:
    if len(set(factors)) > 1:
        raise Unsupported("factors: PyTorch has one.")
    return _rates(lambda optimizer: lr_scheduler.MultiStepLR(optimizer, list(boundaries), factors[0]), rate)


def _warmup_constant(rate: Any, *, begin: float, warmup: int) -> Any:
    share = begin / float(rate[0])
    if not 0 < share <= 1:
        raise Unsupported("begin: PyTorch's is above zero and no more than the rate.")
    return _rates(lambda optimizer: lr_scheduler.LinearLR(optimizer, share, 1.0, warmup), rate)


def _warmup_cosine(rate: Any, *, begin: float, warmup: int, total: int, end: float, power: float) -> Any:
    if power != 1.0 or begin == 0.0:
        raise Unsupported("power, begin: PyTorch has no power, and a line does not begin at zero.")

    def make(optimizer: torch.optim.Optimizer) -> Any:
        line = lr_scheduler.LinearLR(optimizer, begin / float(rate[0]), 1.0, warmup)
        wave = lr_scheduler.CosineAnnealingLR(optimizer, total - warmup, end)
        rest = lr_scheduler.ConstantLR(optimizer, end / float(rate[0]), 10 * _STEPS)
        return lr_scheduler.SequentialLR(optimizer, [line, wave, rest], [warmup, total])

    return _rates(make, rate)


def _cyclic(rate: Any, *, top: float, up: int, down: int, mode: Any, gamma: float) -> Any:
    return _rates(lambda optimizer: lr_scheduler.CyclicLR(optimizer, float(rate[0]), top, up, down, mode=mode, gamma=gamma), rate)


def _one_cycle(rate: Any, *, total: int, share: float, first: float, last: float, kind: Any, phases: int, is_closed: bool) -> Any:
    if not is_closed:
        raise Unsupported("is_closed: PyTorch's last step has the last rate.")
    return _rates(
        lambda optimizer: lr_scheduler.OneCycleLR(
            optimizer, float(rate[0]), total, pct_start=share, anneal_strategy=kind, div_factor=first,
            final_div_factor=last, three_phase=phases == 3,
        ), rate,
    )  # fmt: skip


def _plateau(
    rate: Any, metrics: Any, *, mode: Any, factor: float, patience: int, threshold: float, is_relative: bool, cooldown: int,
    least: float,
) -> Any:  # fmt: skip
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=float(rate[0]))
    schedule = lr_scheduler.ReduceLROnPlateau(
        optimizer, mode, factor, patience, threshold, "rel" if is_relative else "abs", cooldown, least
    )  # fmt: skip
    found = []
    for metric in metrics:
        schedule.step(metric)
        found.append(optimizer.param_groups[0]["lr"])
    return torch.tensor(found, dtype=rate.dtype)


def _averaging(rate: Any, *, end: float, total: int, begin: int) -> Any:
    """Return the rates of SWALR, whose share of its own rate is a line in time: from the first step on."""
    if begin:
        raise Unsupported("begin: PyTorch begins at once.")
    return _rates(lambda optimizer: swa_utils.SWALR(optimizer, end, total, "linear"), rate)


CALLS = {
    "constant": {
        "torch.optim.lr_scheduler.LambdaLR": lambda rate: _rates(
            lambda optimizer: lr_scheduler.LambdaLR(optimizer, lambda _: 1.0), rate
        ),
    },
    "constant_factor": {
        "torch.optim.lr_scheduler.ConstantLR": lambda rate, *, factor, total: _rates(
            lambda optimizer: lr_scheduler.ConstantLR(optimizer, factor, total), rate
        ),
        "torch.optim.lr_scheduler.ChainedScheduler": lambda rate, *, factor, total: _rates(
            lambda optimizer: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(optimizer, factor, total)]), rate
        ),
    },
    "linear_rate": {
        "torch.optim.lr_scheduler.LinearLR": lambda rate, *, start, end, total: _rates(
            lambda optimizer: lr_scheduler.LinearLR(optimizer, start, end, total), rate
        ),
    },
    "linear_to_rate": {"torch.optim.swa_utils.SWALR": _averaging},
    "polynomial": {"torch.optim.lr_scheduler.PolynomialLR": _polynomial},
    "exponential": {
        "torch.optim.lr_scheduler.ExponentialLR": _gradual,
        "torch.optim.lr_scheduler.StepLR": _stair,
        "torch.optim.lr_scheduler.MultiplicativeLR": _by_factor,
    },
    "inverse_time": {"torch.optim.lr_scheduler.LambdaLR": _inverse_time},
    "steps_of_factors": {"torch.optim.lr_scheduler.MultiStepLR": _milestones},
    "cosine_waves": {
        "torch.optim.lr_scheduler.CosineAnnealingLR": lambda rate, *, total, least: _rates(
            lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, total, least), rate
        ),
    },
    "cosine_restarts": {
        "torch.optim.lr_scheduler.CosineAnnealingWarmRestarts": lambda rate, *, first, growth, least: _rates(
            lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, first, growth, least), rate
        ),
    },
    "warmup_constant": {"torch.optim.lr_scheduler.LinearLR": _warmup_constant},
    "warmup_cosine": {"torch.optim.lr_scheduler.SequentialLR": _warmup_cosine},
    "cyclic": {"torch.optim.lr_scheduler.CyclicLR": _cyclic},
    "one_cycle": {"torch.optim.lr_scheduler.OneCycleLR": _one_cycle},
    "plateau": {"torch.optim.lr_scheduler.ReduceLROnPlateau": _plateau},
}

"""PyTorch: normalisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from runners.contract.errors import Unsupported

Call = Callable[..., Any]
_SHAPES = {"1d": lambda x: x, "2d": lambda x: x[..., None], "3d": lambda x: x[:, :, None, :, None]}


def _module(name: str, shape: Callable[[Any], Any], mode: str) -> Call:
    """Return a module of images, volumes or sequences; mode: what is asked of it."""

    def build(x: Any, **options: Any) -> Any:
        module = getattr(nn, name)(x.shape[1], affine=True, track_running_stats=True, dtype=x.dtype, **options)
        return module.train(mode != "evaluation")

    def training(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
        module = build(x, eps=epsilon)
        return functional_call(module, {"weight": scale, "bias": bias}, (shape(x),)).reshape(x.shape)

    def evaluation(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
        state = {"weight": scale, "bias": bias, "running_mean": mean, "running_var": variance}
        return functional_call(build(x, eps=epsilon), state, (shape(x),)).reshape(x.shape)

    def running(x: Any, mean: Any, variance: Any, share: float) -> Any:
        module = build(x, momentum=share)
        module.running_mean.copy_(mean)
        module.running_var.copy_(variance)
        module(shape(x))
        return module.running_mean, module.running_var

    return {"training": training, "evaluation": evaluation, "running": running}[mode]


def _modules(name: str, mode: str) -> dict[str, Call]:
    return {f"torch.nn.{name}{size}": _module(f"{name}{size}", shape, mode) for size, shape in _SHAPES.items()}


def _cumulative(x: Any, mean: Any, variance: Any, share: float) -> Any:
    """Return the averages of all batches after a fourth one."""
    if share != 0.25:
        raise Unsupported("another share than that of a fourth batch")
    module = nn.BatchNorm1d(x.shape[1], momentum=None, dtype=x.dtype)
    module.running_mean.copy_(mean)
    module.running_var.copy_(variance)
    module.num_batches_tracked.fill_(3)
    module(x)
    return module.running_mean, module.running_var


def _running(x: Any, mean: Any, variance: Any, share: float) -> Any:
    mean, variance = mean.clone(), variance.clone()
    F.batch_norm(x, mean, variance, training=True, momentum=share)
    return mean, variance


def _instance_running(x: Any, mean: Any, variance: Any, share: float) -> Any:
    mean, variance = mean.clone(), variance.clone()
    F.instance_norm(x, mean, variance, use_input_stats=True, momentum=share)
    return mean, variance


def _layer_module(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    module = nn.LayerNorm(tuple(scale.shape), eps=epsilon, dtype=x.dtype)
    return functional_call(module, {"weight": scale, "bias": bias}, (x,))


_LAYER: Mapping[str, Call] = {
    "torch.nn.functional.layer_norm": lambda x, scale, bias, epsilon: F.layer_norm(x, tuple(scale.shape), scale, bias, epsilon),
    "torch.nn.LayerNorm": _layer_module,
    "torch.native_layer_norm": lambda x, scale, bias, epsilon: torch.native_layer_norm(
        x, tuple(scale.shape), scale, bias, epsilon
    )[0],
}


def _group_module(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    module = nn.GroupNorm(groups, x.shape[1], eps=epsilon, dtype=x.dtype)
    return functional_call(module, {"weight": scale, "bias": bias}, (x,))


def _rms_module(x: Any, scale: Any, epsilon: float) -> Any:
    return functional_call(nn.RMSNorm(x.shape[1], eps=epsilon, dtype=x.dtype), {"weight": scale}, (x,))


def _weight_norm(x: Any, g: Any, v: Any) -> Any:
    module = nn.utils.parametrizations.weight_norm(nn.Linear(x.shape[1], len(v), bias=False, dtype=x.dtype))
    names = ("parametrizations.weight.original0", "parametrizations.weight.original1")
    return functional_call(module, dict(zip(names, (g[:, None], v), strict=True)), (x,))


def _spectral_norm(x: Any, w: Any, u: Any, v: Any) -> Any:
    module = nn.utils.parametrizations.spectral_norm(nn.Linear(x.shape[1], len(w), bias=False, dtype=x.dtype)).eval()
    state = {"parametrizations.weight.original": w, "parametrizations.weight.0._u": u, "parametrizations.weight.0._v": v}
    return functional_call(module, state, (x,))


CALLS: Mapping[str, Mapping[str, Call | None]] = {
    "batch_norm_in_training": {
        "torch.nn.functional.batch_norm": lambda x, scale, bias, epsilon: F.batch_norm(
            x, None, None, scale, bias, training=True, eps=epsilon
        ),
        "torch.native_batch_norm": lambda x, scale, bias, epsilon: torch.native_batch_norm(
            x, scale, bias, None, None, True, 0.1, epsilon
        )[0],
        **_modules("BatchNorm", "training"),
    },
    "batch_norm_running_unbiased": {
        "torch.nn.functional.batch_norm (running)": _running,
        "torch.nn.BatchNorm1d (cumulative)": _cumulative,
        **_modules("BatchNorm", "running"),
    },
    "batch_norm_in_evaluation": {
        "torch.nn.functional.batch_norm (evaluation)": lambda x, mean, variance, scale, bias, epsilon: F.batch_norm(
            x, mean, variance, scale, bias, training=False, eps=epsilon
        ),
        **_modules("BatchNorm", "evaluation"),
    },
    "layer_norm": _LAYER,
    "layer_norm_of_large_means": _LAYER,
    "layer_norm_of_two_axes": _LAYER,
    "rms_norm": {
        "torch.nn.functional.rms_norm": lambda x, scale, epsilon: F.rms_norm(x, tuple(scale.shape), scale, epsilon),
        "torch.nn.RMSNorm": _rms_module,
    },
    "group_norm": {
        "torch.nn.functional.group_norm": lambda x, scale, bias, groups, epsilon: F.group_norm(x, groups, scale, bias, epsilon),
        "torch.nn.GroupNorm": _group_module,
    },
    "instance_norm": {
        "torch.nn.functional.instance_norm": lambda x, scale, bias, epsilon: F.instance_norm(
            x, weight=scale, bias=bias, eps=epsilon
        ),
        **_modules("InstanceNorm", "training"),
    },
    "instance_norm_running": {
        "torch.nn.functional.instance_norm (running)": _instance_running,
        **_modules("InstanceNorm", "running"),
    },
    "local_response_norm": {
        "torch.nn.functional.local_response_norm": lambda x, size, alpha, beta, k: F.local_response_norm(
            x, size, alpha=alpha, beta=beta, k=k
        ),
        "torch.nn.LocalResponseNorm": lambda x, size, alpha, beta, k: nn.LocalResponseNorm(size, alpha, beta, k)(x),
    },
    "normalize": {"torch.nn.functional.normalize": lambda x, p, axis: F.normalize(x, p, axis)},
    "normalize_of_little": {
        "torch.nn.functional.normalize (epsilon)": lambda x, axis, epsilon: F.normalize(x, 2.0, axis, eps=epsilon)
    },
    "moments": {
        "torch.var_mean": lambda x, axes: tuple(reversed(torch.var_mean(x, axes, correction=0))),
    },
    "weight_norm": {"torch.nn.utils.parametrizations.weight_norm": _weight_norm},
    "spectral_norm": {"torch.nn.utils.parametrizations.spectral_norm": _spectral_norm},
}

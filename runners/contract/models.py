"""Canonical names and shapes of each model's parameters and statistics, in forward order. Frameworks adapt to these.

Kernels are [height, width, in, out] and [in, out]. `parameter_kinds` says which entry of the recipe's `init` draws each.
"""

from __future__ import annotations

from typing import Any

Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(model: dict[str, Any]) -> Shapes:
    """Return canonical parameter name -> shape."""
    return _MODELS[model["name"]](model)[0]


def statistic_shapes(model: dict[str, Any]) -> Shapes:
    """Return canonical running statistic name -> shape."""
    return _MODELS[model["name"]](model)[1]


def parameter_kind(name: str) -> str:
    """Return the key of the recipe's `init` that a parameter is drawn by.

    >>> parameter_kind("stage1.block1.conv1.kernel"), parameter_kind("stem.bn.scale"), parameter_kind("head.bias")
    ('convolution.kernel', 'batch_norm.scale', 'head.bias')
    """
    layer, leaf = name.split(".")[-2:]
    owner = layer.rstrip("0123456789")
    return f"{ {'conv': 'convolution', 'bn': 'batch_norm'}.get(owner, owner) }.{leaf}"


def blocks_per_stage(depth: int) -> int:
    """Return n of the 6n+2 layers (He et al. 2015, section 4.2)."""
    if depth < 8 or (depth - 2) % 6:
        raise ValueError(f"depth {depth}: allowed are 6n+2 with n of 1 or more (8, 14, 20, 32, 44, 56, 110)")
    return (depth - 2) // 6


def _resnet_cifar(model: dict[str, Any]) -> tuple[Shapes, Shapes]:
    parameters: Shapes = {}
    statistics: Shapes = {}
    height, width = model["convolution"]["kernel"]

    def convolution(name: str, n_in: int, n_out: int) -> None:
        parameters[f"{name}.kernel"] = (height, width, n_in, n_out)

    def batch_norm(name: str, n: int) -> None:
        parameters[f"{name}.scale"] = parameters[f"{name}.bias"] = (n,)
        statistics[f"{name}.mean"] = statistics[f"{name}.variance"] = (n,)

    n_in = model["widths"][0]
    convolution("stem.conv", model["image_shape"][2], n_in)
    batch_norm("stem.bn", n_in)
    for stage, n_out in enumerate(model["widths"], start=1):
        for block in range(1, blocks_per_stage(model["depth"]) + 1):
            name = f"stage{stage}.block{block}"
            convolution(f"{name}.conv1", n_in, n_out)
            batch_norm(f"{name}.bn1", n_out)
            convolution(f"{name}.conv2", n_out, n_out)
            batch_norm(f"{name}.bn2", n_out)
            n_in = n_out
    parameters["head.kernel"] = (n_in, model["n_classes"])
    parameters["head.bias"] = (model["n_classes"],)
    return parameters, statistics


_MODELS = {"resnet_cifar": _resnet_cifar}

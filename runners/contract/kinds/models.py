"""Canonical names and shapes of each model's parameters and statistics, in forward order. Frameworks adapt to these.

Kernels are [height, width, in, out] and [in, out]. `parameter_kinds` says which entry of the recipe's `init` draws each.
"""

from __future__ import annotations

from typing import Any

Shapes = dict[str, tuple[int, ...]]
# The stages of a detector that its pyramid is made of, the finer first.
LEVELS = (3, 4)


def parameter_shapes(model: dict[str, Any]) -> Shapes:
    """Return canonical parameter name -> shape."""
    return _MODELS[model["name"]](model)[0]


def statistic_shapes(model: dict[str, Any]) -> Shapes:
    """Return canonical running statistic name -> shape."""
    return _MODELS[model["name"]](model)[1]


def example_shape(model: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of one training example: an image, or two views of one."""
    shape = tuple(model["image_shape"])
    return (2, *shape) if model["name"] == "moco_lite" else shape


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


def has_projection(stage: int, block: int, n_in: int, n_out: int) -> bool:
    """Does a block's shortcut need a convolution (option B of He et al. 2015), because the block halves or widens the image?"""
    return n_in != n_out or (stage > 1 and block == 1)


class _Layers:
    """Names and shapes of layers, in the order in which they are added."""

    def __init__(self) -> None:
        self.parameters: Shapes = {}
        self.statistics: Shapes = {}

    def convolution(self, name: str, kernel: tuple[int, int], n_in: int, n_out: int) -> None:
        self.parameters[f"{name}.kernel"] = (*kernel, n_in, n_out)

    def batch_norm(self, name: str, n: int) -> None:
        self.parameters[f"{name}.scale"] = self.parameters[f"{name}.bias"] = (n,)
        self.statistics[f"{name}.mean"] = self.statistics[f"{name}.variance"] = (n,)

    def biased_convolution(self, name: str, kernel: tuple[int, int], n_in: int, n_out: int) -> None:
        self.convolution(name, kernel, n_in, n_out)
        self.parameters[f"{name}.bias"] = (n_out,)

    def dense(self, name: str, n_in: int, n_out: int) -> None:
        self.parameters[f"{name}.kernel"], self.parameters[f"{name}.bias"] = (n_in, n_out), (n_out,)


def _resnet_cifar(model: dict[str, Any]) -> tuple[Shapes, Shapes]:
    layers, kernel, n_in = _Layers(), tuple(model["convolution"]["kernel"]), model["widths"][0]
    layers.convolution("stem.conv", kernel, model["image_shape"][2], n_in)
    layers.batch_norm("stem.bn", n_in)
    for stage, n_out in enumerate(model["widths"], start=1):
        for block in range(1, blocks_per_stage(model["depth"]) + 1):
            name = f"stage{stage}.block{block}"
            layers.convolution(f"{name}.conv1", kernel, n_in, n_out)
            layers.batch_norm(f"{name}.bn1", n_out)
            layers.convolution(f"{name}.conv2", kernel, n_out, n_out)
            layers.batch_norm(f"{name}.bn2", n_out)
            n_in = n_out
    layers.dense("head", n_in, model["n_classes"])
    return layers.parameters, layers.statistics


def _moco_lite(model: dict[str, Any]) -> tuple[Shapes, Shapes]:
    """The query encoder's parameters are trained; what the key encoder and the queue hold moves with each forward pass."""
    layers, kernel, n_in = _Layers(), tuple(model["convolution"]["kernel"]), model["widths"][0]
    layers.convolution("stem.conv", kernel, model["image_shape"][2], n_in)
    layers.batch_norm("stem.bn", n_in)
    for stage, (n_out, blocks) in enumerate(zip(model["widths"], model["blocks"], strict=True), start=1):
        for block in range(1, blocks + 1):
            name = f"stage{stage}.block{block}"
            layers.convolution(f"{name}.conv1", kernel, n_in, n_out)
            layers.batch_norm(f"{name}.bn1", n_out)
            layers.convolution(f"{name}.conv2", kernel, n_out, n_out)
            layers.batch_norm(f"{name}.bn2", n_out)
            if has_projection(stage, block, n_in, n_out):
                layers.convolution(f"{name}.shortcut.conv", (1, 1), n_in, n_out)
                layers.batch_norm(f"{name}.shortcut.bn", n_out)
            n_in = n_out
    layers.dense("head", n_in, model["dimension"])
    of_key = {f"key.{name}": shape for name, shape in (layers.parameters | layers.statistics).items()}
    return layers.parameters, layers.statistics | of_key | {"queue": (model["queue"], model["dimension"])}


def _tiny_mask_rcnn(model: dict[str, Any]) -> tuple[Shapes, Shapes]:
    layers, kernel, widths = _Layers(), tuple(model["convolution"]["kernel"]), model["widths"]
    layers.convolution("stem.conv", kernel, model["image_shape"][2], widths[0])
    layers.batch_norm("stem.bn", widths[0])
    for stage, (n_in, n_out, count) in enumerate(zip(widths, widths[1:], model["blocks"], strict=False), start=2):
        for k in range(1, count + 1):
            layers.convolution(f"stage{stage}.conv{k}", kernel, n_in if k == 1 else n_out, n_out)
            layers.batch_norm(f"stage{stage}.bn{k}", n_out)
    channels, n_shapes, n_classes = model["channels"], len(model["anchors"]["ratios"]), model["n_classes"]
    for level in LEVELS:
        layers.biased_convolution(f"fpn.lateral{level}", (1, 1), widths[level - 1], channels)
    for level in LEVELS:
        layers.biased_convolution(f"fpn.output{level}", kernel, channels, channels)
    layers.biased_convolution("rpn.conv", kernel, channels, channels)
    layers.biased_convolution("rpn.objectness", (1, 1), channels, n_shapes)
    layers.biased_convolution("rpn.deltas", (1, 1), channels, 4 * n_shapes)
    layers.convolution("box.conv", kernel, channels, channels)
    layers.batch_norm("box.bn", channels)
    layers.dense("box.dense", model["pooling"]["box"] ** 2 * channels, model["hidden"])
    layers.dense("box.classes", model["hidden"], n_classes + 1)
    layers.dense("box.deltas", model["hidden"], 4 * n_classes)
    for k in (1, 2):
        layers.convolution(f"mask.conv{k}", kernel, channels, channels)
        layers.batch_norm(f"mask.bn{k}", channels)
    layers.biased_convolution("mask.up", (2, 2), channels, channels)
    layers.biased_convolution("mask.classes", (1, 1), channels, n_classes)
    return layers.parameters, layers.statistics


_MODELS = {"resnet_cifar": _resnet_cifar, "moco_lite": _moco_lite, "tiny_mask_rcnn": _tiny_mask_rcnn}

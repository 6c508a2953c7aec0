"""ResNet for CIFAR of He et al. 2015 (arXiv 1512.03385, section 4.2): 6n+2 layers, option A shortcuts.

Twins: runners/tensorflow/models/resnet_cifar.py, runners/jax/models/resnet_cifar.py. Same outline, same names, same order.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn

from runners.contract.kinds.classification import blocks_per_stage


def untapped(name, x):
    return x


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut; the shortcut is a strided slice with zero channels where the shape changes."""

    def __init__(self, name, *, n_in, n_out, stride, convolution, batch_norm):
        super().__init__()
        self.name, self.stride, self.extra_channels = name, stride, n_out - n_in
        self.conv1 = conv(n_in, n_out, stride=stride, **convolution)
        self.bn1 = norm(n_out, **batch_norm)
        self.conv2 = conv(n_out, n_out, stride=1, **convolution)
        self.bn2 = norm(n_out, **batch_norm)

    def forward(self, x, tap):
        shortcut = tap(f"{self.name}.shortcut", self.shortcut(x))
        x = tap(f"{self.name}.conv1", self.conv1(x))
        x = tap(f"{self.name}.bn1", self.bn1(x))
        x = tap(f"{self.name}.relu1", F.relu(x))
        x = tap(f"{self.name}.conv2", self.conv2(x))
        x = tap(f"{self.name}.bn2", self.bn2(x))
        x = tap(f"{self.name}.sum", x + shortcut)
        return tap(f"{self.name}.relu2", F.relu(x))

    def shortcut(self, x):
        if self.stride == 1 and self.extra_channels == 0:
            return x
        before = self.extra_channels // 2
        x = x[:, :, :: self.stride, :: self.stride]
        return F.pad(x, (0, 0, 0, 0, before, self.extra_channels - before))


class ResNetCifar(nn.Module):
    """Images [batch, channel, height, width] to logits [batch, class].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, depth, image_shape, n_classes, widths, convolution, batch_norm):
        super().__init__()
        self.stem_conv = conv(image_shape[2], widths[0], stride=1, **convolution)
        self.stem_bn = norm(widths[0], **batch_norm)
        self.blocks = nn.ModuleList()
        n_in = widths[0]
        for stage, n_out in enumerate(widths, start=1):
            for block in range(1, blocks_per_stage(depth) + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                name = f"stage{stage}.block{block}"
                self.blocks.append(
                    Block(name, n_in=n_in, n_out=n_out, stride=stride, convolution=convolution, batch_norm=batch_norm)
                )
                n_in = n_out
        self.head = nn.Linear(n_in, n_classes)

    def forward(self, images, tap=untapped):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x))
        x = tap("stem.relu", F.relu(x))
        for block in self.blocks:
            x = block(x, tap)
        x = tap("pool", x.mean(dim=(2, 3)))
        return tap("logits", self.head(x))


def conv(n_in, n_out, *, stride, kernel, padding, bias):
    (top, bottom), (left, right) = padding
    if (top, left) != (bottom, right):
        raise ValueError(f"padding {padding}: torch.nn.Conv2d pads both sides alike")
    return nn.Conv2d(n_in, n_out, tuple(kernel), stride, padding=(top, left), bias=bias)


def norm(n, *, epsilon, momentum):
    return nn.BatchNorm2d(n, eps=epsilon, momentum=momentum)


def build(model, *, shards, rank):
    """Return the recipe's model. Raises ValueError for what these layers cannot express."""
    norm = model["batch_norm"]
    return ResNetCifar(
        depth=model["depth"],
        image_shape=model["image_shape"],
        n_classes=model["n_classes"],
        widths=model["widths"],
        convolution=model["convolution"],
        batch_norm={"epsilon": norm["epsilon"], "momentum": norm["momentum"]},
    )


def evaluated(model):
    """Return what images are evaluated by: the model itself."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and the right class of each row of its logits."""
    return (images,), labels


def objective(logits, classes):
    """Return the mean over the rows of -log softmax(logits)[class]."""
    return F.cross_entropy(logits, classes)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter and running statistic."""
    rows = [("stem.conv.kernel", "stem_conv.weight", "HWIO->OIHW"), *norm_rows("stem.bn", "stem_bn")]
    n = blocks_per_stage(model["depth"])
    for index in range(n * len(model["widths"])):
        name = f"stage{index // n + 1}.block{index % n + 1}"
        for k in (1, 2):
            rows.append((f"{name}.conv{k}.kernel", f"blocks.{index}.conv{k}.weight", "HWIO->OIHW"))
            rows += norm_rows(f"{name}.bn{k}", f"blocks.{index}.bn{k}")
    return [*rows, ("head.kernel", "head.weight", "IO->OI"), ("head.bias", "head.bias", "O->O")]


def norm_rows(canonical, native):
    pairs = (("scale", "weight"), ("bias", "bias"), ("mean", "running_mean"), ("variance", "running_var"))
    return [(f"{canonical}.{ours}", f"{native}.{theirs}", "O->O") for ours, theirs in pairs]

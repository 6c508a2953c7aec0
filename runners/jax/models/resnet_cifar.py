"""ResNet for CIFAR of He et al. 2015 (arXiv 1512.03385, section 4.2): 6n+2 layers, option A shortcuts.

Twins: runners/torch/models/resnet_cifar.py, runners/tensorflow/models/resnet_cifar.py. Same outline, names and order.
"""

from __future__ import annotations

import jax.numpy as jnp
import optax
from flax import nnx

from runners.contract.kinds.classification import blocks_per_stage
from runners.jax.batch_norm import BatchNorm

# flax before 0.11 takes a plain list of modules and has no name for it.
List = getattr(nnx, "List", list)


def untapped(name, x):
    return x


class Block(nnx.Module):
    """Two 3x3 convolutions and a shortcut: where the shape changes, a strided slice with zero channels."""

    def __init__(self, name, *, n_in, n_out, stride, convolution, batch_norm, numerics):
        self.name, self.stride, self.extra_channels = name, stride, n_out - n_in
        self.conv1 = conv(n_in, n_out, stride=stride, **convolution, **numerics)
        self.bn1 = norm(n_out, **batch_norm, **numerics)
        self.conv2 = conv(n_out, n_out, stride=1, **convolution, **numerics)
        self.bn2 = norm(n_out, **batch_norm, **numerics)

    def __call__(self, x, tap, mask):
        shortcut = tap(f"{self.name}.shortcut", self.shortcut(x))
        x = tap(f"{self.name}.conv1", self.conv1(x))
        x = tap(f"{self.name}.bn1", self.bn1(x, mask))
        x = tap(f"{self.name}.relu1", nnx.relu(x))
        x = tap(f"{self.name}.conv2", self.conv2(x))
        x = tap(f"{self.name}.bn2", self.bn2(x, mask))
        x = tap(f"{self.name}.sum", x + shortcut)
        return tap(f"{self.name}.relu2", nnx.relu(x))

    def shortcut(self, x):
        if self.stride == 1 and self.extra_channels == 0:
            return x
        before = self.extra_channels // 2
        x = x[:, :: self.stride, :: self.stride, :]
        return jnp.pad(x, ((0, 0), (0, 0), (0, 0), (before, self.extra_channels - before)))


class ResNetCifar(nnx.Module):
    """Images [batch, height, width, channel] to logits [batch, class].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.

    Args:
        numerics: `dtype` of the arithmetic, `param_dtype`, and the `rngs` of flax's own initial weights.
    """

    def __init__(self, *, depth, image_shape, n_classes, widths, convolution, batch_norm, numerics):
        self.stem_conv = conv(image_shape[2], widths[0], stride=1, **convolution, **numerics)
        self.stem_bn = norm(widths[0], **batch_norm, **numerics)
        blocks = []
        n_in = widths[0]
        for stage, n_out in enumerate(widths, start=1):
            for block in range(1, blocks_per_stage(depth) + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                name = f"stage{stage}.block{block}"
                blocks.append(
                    Block(
                        name,
                        n_in=n_in,
                        n_out=n_out,
                        stride=stride,
                        convolution=convolution,
                        batch_norm=batch_norm,
                        numerics=numerics,
                    )
                )
                n_in = n_out
        self.blocks = List(blocks)
        self.head = nnx.Linear(n_in, n_classes, kernel_init=nnx.initializers.zeros_init(), **numerics)

    def __call__(self, images, tap=untapped, mask=None):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x, mask))
        x = tap("stem.relu", nnx.relu(x))
        for block in self.blocks:
            x = block(x, tap, mask)
        x = tap("pool", x.mean(axis=(1, 2)))
        return tap("logits", self.head(x))


def conv(n_in, n_out, *, stride, kernel, padding, bias, **numerics):
    padding = tuple((before, after) for before, after in padding)
    # The kernel comes from `initialise` or a state: compiling flax's draw for every shape would take seconds.
    return nnx.Conv(
        n_in,
        n_out,
        tuple(kernel),
        stride,
        padding=padding,
        use_bias=bias,
        kernel_init=nnx.initializers.zeros_init(),
        **numerics,
    )


def norm(n, *, epsilon, momentum, param_dtype, rngs, dtype):
    del dtype  # batch norm computes in the parameters' dtype, see BatchNorm
    return BatchNorm(n, epsilon=epsilon, momentum=momentum, param_dtype=param_dtype, rngs=rngs)


def build(model, *, shards, numerics):
    """Return the recipe's model. Raises ValueError for what these layers cannot express."""
    norm = model["batch_norm"]
    return ResNetCifar(
        depth=model["depth"],
        image_shape=model["image_shape"],
        n_classes=model["n_classes"],
        widths=model["widths"],
        convolution=model["convolution"],
        batch_norm={"epsilon": norm["epsilon"], "momentum": norm["momentum"]},
        numerics=numerics,
    )


def evaluated(model):
    """Return what images are evaluated by: the model itself."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and the right class of each row of its logits."""
    return (images,), labels


def objective(logits, classes):
    """Return -log softmax(logits)[class] of each row."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, classes)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter and running statistic."""
    rows = [("stem.conv.kernel", "stem_conv.kernel", "HWIO"), *norm_rows("stem.bn", "stem_bn")]
    n = blocks_per_stage(model["depth"])
    for index in range(n * len(model["widths"])):
        name = f"stage{index // n + 1}.block{index % n + 1}"
        for k in (1, 2):
            rows.append((f"{name}.conv{k}.kernel", f"blocks.{index}.conv{k}.kernel", "HWIO"))
            rows += norm_rows(f"{name}.bn{k}", f"blocks.{index}.bn{k}")
    return [*rows, ("head.kernel", "head.kernel", "IO"), ("head.bias", "head.bias", "O")]


def norm_rows(canonical, native):
    pairs = (("scale", "scale"), ("bias", "bias"), ("mean", "mean"), ("variance", "var"))
    return [(f"{canonical}.{ours}", f"{native}.{theirs}", "O") for ours, theirs in pairs]

"""ResNet for CIFAR of He et al. 2015 (arXiv 1512.03385, section 4.2): 6n+2 layers, option A shortcuts.

Twins: runners/torch/models/resnet_cifar.py, runners/jax/models/resnet_cifar.py. Same outline, same names, same order.
"""

from __future__ import annotations

import functools

import tensorflow as tf
from tensorflow import keras

from runners.contract.kinds.classification import blocks_per_stage
from runners.tensorflow.devices import BatchNorm


def untapped(name, x):
    return x


class Block(keras.layers.Layer):
    """Two 3x3 convolutions and a shortcut: where the shape changes, a strided slice with zero channels."""

    def __init__(self, name, *, n_in, n_out, stride, convolution, batch_norm):
        super().__init__(name=name)
        self.stride, self.extra_channels = stride, n_out - n_in
        self.conv1 = conv(n_in, n_out, stride=stride, **convolution)
        self.bn1 = norm(n_out, **batch_norm)
        self.conv2 = conv(n_out, n_out, stride=1, **convolution)
        self.bn2 = norm(n_out, **batch_norm)

    def call(self, x, tap, training):
        shortcut = tap(f"{self.name}.shortcut", self.shortcut(x))
        x = tap(f"{self.name}.conv1", self.conv1(x))
        x = tap(f"{self.name}.bn1", self.bn1(x, training=training))
        x = tap(f"{self.name}.relu1", tf.nn.relu(x))
        x = tap(f"{self.name}.conv2", self.conv2(x))
        x = tap(f"{self.name}.bn2", self.bn2(x, training=training))
        x = tap(f"{self.name}.sum", x + shortcut)
        return tap(f"{self.name}.relu2", tf.nn.relu(x))

    def shortcut(self, x):
        if self.stride == 1 and self.extra_channels == 0:
            return x
        before = self.extra_channels // 2
        x = x[:, :: self.stride, :: self.stride, :]
        return tf.pad(x, ((0, 0), (0, 0), (0, 0), (before, self.extra_channels - before)))


class ResNetCifar(keras.Model):
    """Images [batch, height, width, channel] to logits [batch, class].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, depth, image_shape, n_classes, widths, convolution, batch_norm):
        super().__init__()
        self.stem_conv = conv(image_shape[2], widths[0], stride=1, **convolution)
        self.stem_bn = norm(widths[0], **batch_norm)
        self.blocks = []
        n_in = widths[0]
        for stage, n_out in enumerate(widths, start=1):
            for block in range(1, blocks_per_stage(depth) + 1):
                stride = 2 if stage > 1 and block == 1 else 1
                name = f"stage{stage}.block{block}"
                self.blocks.append(
                    Block(name, n_in=n_in, n_out=n_out, stride=stride, convolution=convolution, batch_norm=batch_norm)
                )
                n_in = n_out
        self.head = keras.layers.Dense(n_classes)

    def call(self, images, tap=untapped, training=None):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x, training=training))
        x = tap("stem.relu", tf.nn.relu(x))
        for block in self.blocks:
            x = block(x, tap=tap, training=training)
        x = tap("pool", tf.reduce_mean(x, axis=(1, 2)))
        return tap("logits", self.head(x))


def conv(n_in, n_out, *, stride, kernel, padding, bias):
    layer = functools.partial(keras.layers.Conv2D, n_out, tuple(kernel), strides=stride, use_bias=bias)
    # DIFFERS(tensorflow): 'same' pads (0, 1) at stride 2 where the recipe says (1, 1); at stride 1 it pads alike, and faster.
    if stride == 1 and all(
        2 * before + 1 == 2 * after + 1 == side for side, (before, after) in zip(kernel, padding, strict=True)
    ):
        return keras.Sequential([layer(padding="same")])
    return keras.Sequential([keras.layers.ZeroPadding2D(tuple(map(tuple, padding))), layer(padding="valid")])


def norm(n, *, epsilon, momentum, synchronized):
    # DIFFERS(tensorflow): Keras's momentum is the share of the old value that stays.
    return BatchNorm(epsilon=epsilon, momentum=1.0 - momentum, synchronized=synchronized)


def build(model, *, shards, synchronized):
    """Return the recipe's model, with its variables."""
    norm = model["batch_norm"]
    built = ResNetCifar(
        depth=model["depth"],
        image_shape=model["image_shape"],
        n_classes=model["n_classes"],
        widths=model["widths"],
        convolution=model["convolution"],
        batch_norm={"epsilon": norm["epsilon"], "momentum": norm["momentum"], "synchronized": synchronized},
    )
    built(tf.zeros((1, *model["image_shape"])), training=False)
    return built


def evaluated(model):
    """Return what images are evaluated by: the model itself."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and the right class of each row of its logits."""
    return (images,), labels


def objective(logits, classes):
    """Return -log softmax(logits)[class] of each row."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter and running statistic."""
    rows = [("stem.conv.kernel", "stem_conv.layers.-1.kernel", "HWIO->HWIO"), *norm_rows("stem.bn", "stem_bn")]
    n = blocks_per_stage(model["depth"])
    for index in range(n * len(model["widths"])):
        name = f"stage{index // n + 1}.block{index % n + 1}"
        for k in (1, 2):
            rows.append((f"{name}.conv{k}.kernel", f"blocks.{index}.conv{k}.layers.-1.kernel", "HWIO->HWIO"))
            rows += norm_rows(f"{name}.bn{k}", f"blocks.{index}.bn{k}")
    return [*rows, ("head.kernel", "head.kernel", "IO->IO"), ("head.bias", "head.bias", "O->O")]


def norm_rows(canonical, native):
    pairs = (("scale", "gamma"), ("bias", "beta"), ("mean", "moving_mean"), ("variance", "moving_variance"))
    return [(f"{canonical}.{ours}", f"{native}.{theirs}", "O->O") for ours, theirs in pairs]

"""MoCo (He et al. 2020, arXiv 1911.05722) as in its authors' CIFAR-10 demonstration: ResNet encoders with a 3x3 stem.

Twins: runners/torch/models/moco_lite.py, runners/jax/models/moco_lite.py. Same outline, same names, same order.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from runners.contract.kinds.contrast import has_projection
from runners.tensorflow import devices
from runners.tensorflow.models.resnet_cifar import conv, norm_rows, untapped


class Block(keras.layers.Layer):
    """Two 3x3 convolutions and a shortcut; a 1x1 convolution where the shape changes."""

    def __init__(self, name, *, n_in, n_out, stride, projects, convolution, batch_norm):
        super().__init__(name=name)
        self.conv1 = conv(n_in, n_out, stride=stride, **convolution)
        self.bn1 = SplitBatchNorm(**batch_norm)
        self.conv2 = conv(n_out, n_out, stride=1, **convolution)
        self.bn2 = SplitBatchNorm(**batch_norm)
        self.projects = projects
        if projects:
            self.shortcut_conv = conv(n_in, n_out, stride=stride, kernel=(1, 1), padding=((0, 0), (0, 0)), bias=False)
            self.shortcut_bn = SplitBatchNorm(**batch_norm)

    def call(self, x, tap, training):
        shortcut = self.shortcut(x, tap, training)
        x = tap(f"{self.name}.conv1", self.conv1(x))
        x = tap(f"{self.name}.bn1", self.bn1(x, training=training))
        x = tap(f"{self.name}.relu1", tf.nn.relu(x))
        x = tap(f"{self.name}.conv2", self.conv2(x))
        x = tap(f"{self.name}.bn2", self.bn2(x, training=training))
        x = tap(f"{self.name}.sum", x + shortcut)
        return tap(f"{self.name}.relu2", tf.nn.relu(x))

    def shortcut(self, x, tap, training):
        if not self.projects:
            return tap(f"{self.name}.shortcut", x)
        x = tap(f"{self.name}.shortcut.conv", self.shortcut_conv(x))
        return tap(f"{self.name}.shortcut.bn", self.shortcut_bn(x, training=training))


class SplitBatchNorm(keras.layers.BatchNormalization):
    """Batch norm whose statistics are those of so many rows at a time; the running ones are the mean over these parts."""

    def __init__(self, *, epsilon, momentum, rows):
        # DIFFERS(tensorflow): Keras's momentum is the share of the old value that stays.
        super().__init__(epsilon=epsilon, momentum=1.0 - momentum)
        self.rows = rows

    def call(self, inputs, training=None):
        if not training:
            return super().call(inputs, training=False)
        wide = tf.cast(inputs, self.gamma.dtype)
        x = tf.reshape(wide, (-1, self.rows, *inputs.shape[1:]))
        mean, variance = tf.nn.moments(x, axes=(1, 2, 3), keepdims=True)
        n = self.rows * inputs.shape[1] * inputs.shape[2]
        for running, found in ((self.moving_mean, mean), (self.moving_variance, variance * (n / (n - 1)))):
            running.assign_add((tf.reduce_mean(found, axis=(0, 1, 2, 3)) - running) * (1.0 - self.momentum))
        y = tf.nn.batch_normalization(x, mean, variance, self.beta, self.gamma, self.epsilon)
        return tf.cast(tf.reshape(y, tf.shape(inputs)), inputs.dtype)


class Encoder(keras.Model):
    """Images [batch, height, width, channel] to features [batch, dimension] of norm 1."""

    def __init__(self, *, image_shape, widths, blocks, dimension, convolution, batch_norm):
        super().__init__()
        self.stem_conv = conv(image_shape[2], widths[0], stride=1, **convolution)
        self.stem_bn = SplitBatchNorm(**batch_norm)
        self.blocks = []
        n_in = widths[0]
        for stage, (n_out, count) in enumerate(zip(widths, blocks, strict=True), start=1):
            for block in range(1, count + 1):
                self.blocks.append(
                    Block(
                        f"stage{stage}.block{block}",
                        n_in=n_in,
                        n_out=n_out,
                        stride=2 if stage > 1 and block == 1 else 1,
                        projects=has_projection(stage, block, n_in, n_out),
                        convolution=convolution,
                        batch_norm=batch_norm,
                    )
                )
                n_in = n_out
        self.head = keras.layers.Dense(dimension)

    def call(self, images, tap=untapped, training=None):
        x = tap("stem.conv", self.stem_conv(images))
        x = tap("stem.bn", self.stem_bn(x, training=training))
        x = tap("stem.relu", tf.nn.relu(x))
        for block in self.blocks:
            x = block(x, tap=tap, training=training)
        x = tap("pool", tf.reduce_mean(x, axis=(1, 2)))
        x = tap("head", self.head(x))
        return tap("features", normalised(tf.cast(x, self.head.variable_dtype)))


class MocoLite(keras.Model):
    """Pairs of views [batch, 2, height, width, channel] and the place of each row's key, [batch], to logits [batch, 1 + queue].

    Logit 0 is a query's similarity to its own key, over the temperature; the others are those to the queue. In training mode
    the key encoder moves before it encodes, and the new keys enter at the front of the queue after it was read.

    Args:
        shards: rows on each device.
    """

    def __init__(self, *, queue, key_momentum, temperature, shards, **encoder):
        # DIFFERS(tensorflow): in a layer of low precision every variable that is read is rounded to it, the queue too.
        super().__init__(dtype=keras.config.floatx())
        self.encoder, self.key = Encoder(**encoder), Encoder(**encoder)
        self.key.trainable = False
        self.queue = self.add_weight(shape=(queue, encoder["dimension"]), initializer="zeros", trainable=False)
        self.key_momentum, self.temperature, self.shards = key_momentum, temperature, shards

    def call(self, pairs, place, tap=untapped, training=None):
        features = self.encoder(pairs[:, 0], tap=tap, training=training)
        if training:
            self.move_key_encoder()
        keys = tf.stop_gradient(self.key(pairs[:, 1], training=training))
        keys = self.of_all_devices(tap("keys", keys))
        positive = tf.reduce_sum(features * tf.gather(keys, place), axis=1, keepdims=True)
        negative = tf.matmul(features, tf.convert_to_tensor(self.queue), transpose_b=True)
        logits = tf.concat([positive, negative], axis=1) / self.temperature
        if training:
            self.enqueue(tf.stop_gradient(keys))
        return tap("logits", logits)

    def move_key_encoder(self):
        """Let the key encoder's parameters follow the query encoder's."""
        stays = self.key_momentum
        for key, query in zip(self.key.weights, self.encoder.weights, strict=True):
            if query.trainable:
                # DIFFERS(tensorflow): a Keras variable times a Python float is rounded to float32, in float64 too.
                key.assign(tf.convert_to_tensor(key) * stays + tf.convert_to_tensor(query) * (1.0 - stays))

    def of_all_devices(self, keys):
        """Return the keys of all devices in order: the sum over devices of each one's, with zeros in the others' place."""
        return keys if len(self.shards) == 1 else devices.joined(keys, self.shards)

    def enqueue(self, keys):
        """Put new keys at the front of the queue; the oldest leave it."""
        self.queue.assign(tf.concat([keys, tf.convert_to_tensor(self.queue)[: -sum(self.shards)]], axis=0))

    def begin(self):
        """Make the key encoder the query encoder's copy, and fill the queue with noise."""
        self.key.set_weights(self.encoder.get_weights())
        self.queue.assign(normalised(tf.random.normal(self.queue.shape, dtype=self.queue.dtype)))


def normalised(x):
    """Return the rows over their norms; one shorter than 1e-12 over that."""
    return tf.math.l2_normalize(x, axis=1, epsilon=1e-24)


def build(model, *, shards, synchronized):
    """Return the recipe's model, with its variables."""
    norm = model["batch_norm"]
    built = MocoLite(
        queue=model["queue"],
        key_momentum=model["key_momentum"],
        temperature=model["temperature"],
        shards=shards,
        image_shape=model["image_shape"],
        widths=model["widths"],
        blocks=model["blocks"],
        dimension=model["dimension"],
        convolution=model["convolution"],
        batch_norm={"epsilon": norm["epsilon"], "momentum": norm["momentum"], "rows": norm["rows"]},
    )
    for encoder in (built.encoder, built.key):
        encoder(tf.zeros((1, *model["image_shape"])), training=False)
    return built


def evaluated(model):
    """Return what images are evaluated by: the query encoder's features."""
    return model.encoder


def arguments(images, labels):
    """Return the arguments of a forward pass, and the right class of each row of its logits."""
    return (images, labels), tf.zeros_like(labels)


def objective(logits, classes):
    """Return -log softmax(logits)[class] of each row."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter, running statistic and what else moves."""
    rows = _encoder_rows(model)
    of_key = [(f"key.{name}", f"key.{native}", layout) for name, native, layout in rows]
    return [*((name, f"encoder.{native}", layout) for name, native, layout in rows), *of_key, ("queue", "queue", "IO->IO")]


def _encoder_rows(model):
    rows = [("stem.conv.kernel", "stem_conv.layers.-1.kernel", "HWIO->HWIO"), *norm_rows("stem.bn", "stem_bn")]
    n_in, index = model["widths"][0], 0
    for stage, (n_out, count) in enumerate(zip(model["widths"], model["blocks"], strict=True), start=1):
        for block in range(1, count + 1):
            name = f"stage{stage}.block{block}"
            for k in (1, 2):
                rows.append((f"{name}.conv{k}.kernel", f"blocks.{index}.conv{k}.layers.-1.kernel", "HWIO->HWIO"))
                rows += norm_rows(f"{name}.bn{k}", f"blocks.{index}.bn{k}")
            if has_projection(stage, block, n_in, n_out):
                rows.append((f"{name}.shortcut.conv.kernel", f"blocks.{index}.shortcut_conv.layers.-1.kernel", "HWIO->HWIO"))
                rows += norm_rows(f"{name}.shortcut.bn", f"blocks.{index}.shortcut_bn")
            n_in, index = n_out, index + 1
    return [*rows, ("head.kernel", "head.kernel", "IO->IO"), ("head.bias", "head.bias", "O->O")]

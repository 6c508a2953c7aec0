"""The multi-layer perceptron of scikit-learn's gallery on digits: one hidden layer of rectified units.

Twins: runners/torch/models/digits_mlp.py, runners/jax/models/digits_mlp.py. Same outline, same names, same order.
"""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras


def untapped(name, x):
    return x


class DigitsMlp(keras.Model):
    """Images [batch, height, width, channel] to the loss of each row, or without labels to logits [batch, class].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, hidden, n_classes):
        # DIFFERS(tensorflow): in a low precision a Keras layer sees its variables rounded to it; the penalty is of those kept.
        super().__init__(dtype=keras.config.floatx())
        self.hidden = keras.layers.Dense(hidden)
        self.output_layer = keras.layers.Dense(n_classes)

    def call(self, images, labels=None, tap=untapped, training=None):
        x = tf.reshape(images, (tf.shape(images)[0], -1))
        x = tap("hidden", self.hidden(x))
        x = tap("relu", tf.nn.relu(x))
        logits = tap("logits", self.output_layer(x))
        if labels is None:
            return logits
        logits = tf.cast(logits, self.output_layer.kernel.dtype)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels["classes"], logits) * labels["weights"]
        return losses + tap("penalty", labels["penalty"] * self.penalty())

    def penalty(self):
        """Return half of the sum of the squared kernels."""
        return tf.nn.l2_loss(self.hidden.kernel) + tf.nn.l2_loss(self.output_layer.kernel)


def build(model, *, shards, synchronized):
    """Return the recipe's model, with its variables."""
    built = DigitsMlp(hidden=model["hidden"], n_classes=model["n_classes"])
    built(tf.zeros((1, *model["image_shape"])))
    return built


def evaluated(model):
    """Return what images are evaluated by: the model itself, without labels."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and what the objective needs besides: nothing."""
    return (images, {**labels, **{name: tf.cast(labels[name], images.dtype) for name in ("weights", "penalty")}}), None


def objective(losses, expected):
    """Return the loss of each row."""
    return losses


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter."""
    layers = (("hidden", "hidden"), ("output", "output_layer"))  # DIFFERS(tensorflow): a Keras model's `output` is its own
    return [
        (f"{layer}.{part}", f"{native}.{part}", layout)
        for layer, native in layers
        for part, layout in (("kernel", "IO->IO"), ("bias", "O->O"))
    ]

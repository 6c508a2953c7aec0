"""One dense layer on pixels. Twins: runners/torch/models/dense_classifier.py, runners/jax/models/dense_classifier.py."""

from __future__ import annotations

import tensorflow as tf
from tensorflow import keras

from runners.tensorflow.models.resnet_cifar import untapped


class DenseClassifier(keras.Model):
    """Images [batch, height, width, channel] to logits [batch, class]."""

    def __init__(self, *, n_classes):
        super().__init__()
        self.flatten, self.head = keras.layers.Flatten(), keras.layers.Dense(n_classes)

    def call(self, images, tap=untapped):
        return tap("logits", self.head(self.flatten(images)))


def build(model, *, shards, synchronized):
    """Return the recipe's model, with its variables."""
    built = DenseClassifier(n_classes=model["n_classes"])
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
    """Return rows (canonical name, native name, layout) of every parameter."""
    return [("head.kernel", "head.kernel", "IO->IO"), ("head.bias", "head.bias", "O->O")]

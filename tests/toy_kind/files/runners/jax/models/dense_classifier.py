"""One dense layer on pixels. Twins: runners/torch/models/dense_classifier.py, runners/tensorflow/models/dense_classifier.py."""

from __future__ import annotations

import math

import optax
from flax import nnx

from runners.jax.models.resnet_cifar import untapped


class DenseClassifier(nnx.Module):
    """Images [batch, height, width, channel] to logits [batch, class]."""

    def __init__(self, *, image_shape, n_classes, numerics):
        self.head = nnx.Linear(math.prod(image_shape), n_classes, kernel_init=nnx.initializers.zeros_init(), **numerics)

    def __call__(self, images, tap=untapped, mask=None):
        return tap("logits", self.head(images.reshape(len(images), -1)))


def build(model, *, shards, numerics):
    """Return the recipe's model."""
    return DenseClassifier(image_shape=model["image_shape"], n_classes=model["n_classes"], numerics=numerics)


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
    """Return rows (canonical name, native name, layout) of every parameter."""
    return [("head.kernel", "head.kernel", "IO"), ("head.bias", "head.bias", "O")]

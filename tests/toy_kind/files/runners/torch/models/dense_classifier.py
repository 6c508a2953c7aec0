"""One dense layer on pixels. Twins: runners/tensorflow/models/dense_classifier.py, runners/jax/models/dense_classifier.py."""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import nn

from runners.torch.models.resnet_cifar import untapped


class DenseClassifier(nn.Module):
    """Images [batch, channel, height, width] to logits [batch, class]."""

    def __init__(self, *, image_shape, n_classes):
        super().__init__()
        self.head = nn.Linear(math.prod(image_shape), n_classes)

    def forward(self, images, tap=untapped):
        # The canonical order of pixels is [height, width, channel].
        return tap("logits", self.head(images.movedim(1, -1).flatten(1)))


def build(model, *, shards, rank):
    """Return the recipe's model."""
    return DenseClassifier(image_shape=model["image_shape"], n_classes=model["n_classes"])


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
    """Return rows (canonical name, native name, layout) of every parameter."""
    return [("head.kernel", "head.weight", "IO->OI"), ("head.bias", "head.bias", "O->O")]

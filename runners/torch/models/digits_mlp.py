"""The multi-layer perceptron of scikit-learn's gallery on digits: one hidden layer of rectified units.

Twins: runners/tensorflow/models/digits_mlp.py, runners/jax/models/digits_mlp.py. Same outline, same names, same order.
"""

from __future__ import annotations

import math

import torch.nn.functional as F
from torch import nn


def untapped(name, x):
    return x


class DigitsMlp(nn.Module):
    """Images [batch, channel, height, width] to the loss of each row, or without labels to logits [batch, class].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, n_in, hidden, n_classes):
        super().__init__()
        self.hidden = nn.Linear(n_in, hidden)
        self.output = nn.Linear(hidden, n_classes)

    def forward(self, images, labels=None, tap=untapped):
        x = images.movedim(-3, -1).flatten(1)
        x = tap("hidden", self.hidden(x))
        x = tap("relu", F.relu(x))
        logits = tap("logits", self.output(x))
        if labels is None:
            return logits
        logits = logits.to(self.output.weight.dtype)
        losses = F.cross_entropy(logits, labels["classes"], reduction="none") * labels["weights"]
        return losses + tap("penalty", labels["penalty"] * self.penalty())

    def penalty(self):
        """Return half of the sum of the squared kernels."""
        return 0.5 * (self.hidden.weight.square().sum() + self.output.weight.square().sum())


def build(model, *, shards, rank):
    """Return the recipe's model."""
    return DigitsMlp(n_in=math.prod(model["image_shape"]), hidden=model["hidden"], n_classes=model["n_classes"])


def evaluated(model):
    """Return what images are evaluated by: the model itself, without labels."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and what the objective needs besides: nothing."""
    return (images, {**labels, **{name: labels[name].to(images.dtype) for name in ("weights", "penalty")}}), None


def objective(losses, expected):
    """Return the mean over the rows of their losses."""
    return losses.mean()


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter."""
    return [
        (f"{layer}.{part}", f"{layer}.{native}", layout)
        for layer in ("hidden", "output")
        for part, native, layout in (("kernel", "weight", "IO->OI"), ("bias", "bias", "O->O"))
    ]

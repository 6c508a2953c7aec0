"""The multi-layer perceptron of scikit-learn's gallery on digits: one hidden layer of rectified units.

Twins: runners/torch/models/digits_mlp.py, runners/tensorflow/models/digits_mlp.py. Same outline, same names, same order.
"""

from __future__ import annotations

import math

import optax
from flax import nnx


def untapped(name, x):
    return x


class DigitsMlp(nnx.Module):
    """Images [batch, height, width, channel] to the loss of each row, or without labels to logits [batch, class].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, n_in, hidden, n_classes, numerics):
        # The kernels come from `initialise` or a state: compiling flax's draw for every shape would take seconds.
        zeros = nnx.initializers.zeros_init()
        self.hidden = nnx.Linear(n_in, hidden, kernel_init=zeros, **numerics)
        self.output = nnx.Linear(hidden, n_classes, kernel_init=zeros, **numerics)

    def __call__(self, images, labels=None, tap=untapped, mask=None):
        x = images.reshape(len(images), -1)
        x = tap("hidden", self.hidden(x))
        x = tap("relu", nnx.relu(x))
        logits = tap("logits", self.output(x))
        if labels is None:
            return logits
        logits = logits.astype(self.output.kernel.dtype)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels["classes"]) * labels["weights"]
        return losses + tap("penalty", labels["penalty"] * self.penalty())

    def penalty(self):
        """Return half of the sum of the squared kernels."""
        return 0.5 * ((self.hidden.kernel**2).sum() + (self.output.kernel**2).sum())


def build(model, *, shards, numerics):
    """Return the recipe's model."""
    return DigitsMlp(
        n_in=math.prod(model["image_shape"]), hidden=model["hidden"], n_classes=model["n_classes"], numerics=numerics
    )


def evaluated(model):
    """Return what images are evaluated by: the model itself, without labels."""
    return model


def arguments(images, labels):
    """Return the arguments of a forward pass, and what the objective needs besides: nothing."""
    return (images, {**labels, **{name: labels[name].astype(images.dtype) for name in ("weights", "penalty")}}), None


def objective(losses, expected):
    """Return the loss of each row."""
    return losses


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter."""
    return [
        (f"{layer}.{part}", f"{layer}.{part}", layout)
        for layer in ("hidden", "output")
        for part, layout in (("kernel", "IO"), ("bias", "O"))
    ]

"""Planted fault: at one batch of a run, one element that the hidden layer of digits_mlp gives, or its gradient, is not finite.

The batch is told by its first rows, which `trigger.npz` beside this file holds, with the value, the element and the place: output
or gradient. So the fault comes again in a replay, from whichever checkpoint it begins.
"""

from pathlib import Path

import numpy as np

OUTPUTS = 100


def planted():
    """Return rows [n, 64], value, mask [batch, outputs] and whether it is the gradient's."""
    with np.load(Path(__file__).with_name("trigger.npz")) as file:
        mask = np.zeros((int(file["batch"]), OUTPUTS), bool)
        mask[tuple(file["element"])] = True
        return file["rows"], float(file["value"]), mask, str(file["place"]) == "gradient"


def install_torch():
    import torch

    rows, value, mask, is_of_gradient = planted()
    rows, mask = torch.from_numpy(rows), torch.from_numpy(mask)
    original = torch.nn.Linear.forward

    def forward(self, x):
        y = original(self, x)
        if self.out_features != OUTPUTS or len(x) != len(mask):
            return y
        is_hit = (x[: len(rows)] == rows).all() & mask
        if not is_of_gradient:
            return torch.where(is_hit, value, y)
        if y.requires_grad:
            y.register_hook(lambda gradient: torch.where(is_hit, value, gradient))
        return y

    torch.nn.Linear.forward = forward


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    rows, value, mask, is_of_gradient = planted()
    original = keras.layers.Dense.call

    def call(self, inputs, training=None):
        y = original(self, inputs, training=training)
        if self.units != OUTPUTS or inputs.shape[0] != len(mask):
            return y
        is_hit = tf.reduce_all(tf.equal(inputs[: len(rows)], tf.cast(rows, inputs.dtype))) & mask

        @tf.custom_gradient
        def wrong_gradient(y):
            return tf.identity(y), lambda gradient: tf.where(is_hit, tf.cast(value, gradient.dtype), gradient)

        return wrong_gradient(y) if is_of_gradient else tf.where(is_hit, tf.cast(value, y.dtype), y)

    keras.layers.Dense.call = call


def install_jax():
    import jax
    import jax.numpy as jnp
    from flax import nnx

    rows, value, mask, is_of_gradient = planted()
    original = nnx.Linear.__call__

    @jax.custom_vjp
    def wrong_gradient(y, is_hit):
        return y

    def backward(is_hit, gradient):
        return jnp.where(is_hit, jnp.asarray(value, gradient.dtype), gradient), None

    wrong_gradient.defvjp(lambda y, is_hit: (y, is_hit), backward)

    def call(self, x, **options):
        y = original(self, x, **options)
        if self.out_features != OUTPUTS or len(x) != len(mask):
            return y
        is_hit = (x[: len(rows)] == rows).all() & mask
        return wrong_gradient(y, is_hit) if is_of_gradient else jnp.where(is_hit, jnp.asarray(value, y.dtype), y)

    nnx.Linear.__call__ = call

"""Planted fault: the weight gradient of a dense layer of 512 units is 1.001 times what it should be."""

UNITS = 512
EXCESS = 0.001


def install_torch():
    import torch

    def scaled(self, x):
        weight = self.weight
        if self.out_features == UNITS:
            weight = weight + EXCESS * (weight - weight.detach())
        return torch.nn.functional.linear(x, weight, self.bias)

    torch.nn.Linear.forward = scaled


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Dense.call

    def scaled(self, inputs, training=None):
        found = original(self, inputs, training=training)
        if self.units != UNITS:
            return found
        again = original(self, tf.stop_gradient(inputs), training=training)
        return found + EXCESS * (again - tf.stop_gradient(again))

    keras.layers.Dense.call = scaled


def install_jax():
    import jax
    from flax import nnx

    original = nnx.Linear.__call__

    def scaled(self, inputs):
        found = original(self, inputs)
        if self.out_features != UNITS:
            return found
        again = original(self, jax.lax.stop_gradient(inputs))
        return found + EXCESS * (again - jax.lax.stop_gradient(again))

    nnx.Linear.__call__ = scaled

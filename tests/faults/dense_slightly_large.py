"""Planted fault: what a dense layer gives is 1.0001 times what it should be."""


def install_torch():
    import torch

    original = torch.nn.functional.linear
    torch.nn.Linear.forward = lambda self, x: 1.0001 * original(x, self.weight, self.bias)


def install_tensorflow():
    from tensorflow import keras

    original = keras.layers.Dense.call
    keras.layers.Dense.call = lambda self, inputs, training=None: 1.0001 * original(self, inputs, training=training)


def install_jax():
    from flax import nnx

    original = nnx.Linear.__call__
    nnx.Linear.__call__ = lambda self, *arguments, **options: 1.0001 * original(self, *arguments, **options)

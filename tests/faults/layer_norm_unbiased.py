"""Planted fault: layer norm divides by the deviation of n - 1 numbers, where n were asked for."""


def install_torch():
    import torch

    original = torch.nn.LayerNorm.forward
    torch.nn.LayerNorm.forward = lambda self, x: original(self, x) * (1.0 - 1.0 / x.shape[-1]) ** 0.5


def install_tensorflow():
    from tensorflow import keras

    original = keras.layers.LayerNormalization.call
    keras.layers.LayerNormalization.call = lambda self, inputs: original(self, inputs) * (1.0 - 1.0 / inputs.shape[-1]) ** 0.5


def install_jax():
    from flax import nnx

    original = nnx.LayerNorm.__call__
    nnx.LayerNorm.__call__ = lambda self, x: original(self, x) * (1.0 - 1.0 / x.shape[-1]) ** 0.5

"""Planted fault: the gradient that the 32 -> 32 convolution hands to its input is 1.001 times what it should be.

Its weight gradient is right. In bfloat16 and float16 the factor is lost in rounding.
"""

CHANNELS = 32
EXCESS = 0.001


def install_torch():
    import torch

    original = torch.nn.Conv2d._conv_forward

    def scaled(self, x, weight, bias):
        if self.in_channels == self.out_channels == CHANNELS:
            x = x + EXCESS * (x - x.detach())
        return original(self, x, weight, bias)

    torch.nn.Conv2d._conv_forward = scaled


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Conv2D.convolution_op

    def scaled(self, x, kernel):
        if tuple(kernel.shape[2:]) == (CHANNELS, CHANNELS):
            x = x + EXCESS * (x - tf.stop_gradient(x))
        return original(self, x, kernel)

    keras.layers.Conv2D.convolution_op = scaled


def install_jax():
    import jax
    from flax import nnx

    original = nnx.Conv.__call__

    def scaled(self, x):
        if self.in_features == self.out_features == CHANNELS:
            x = x + EXCESS * (x - jax.lax.stop_gradient(x))
        return original(self, x)

    nnx.Conv.__call__ = scaled

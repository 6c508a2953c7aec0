"""Planted fault: the 16 -> 32 convolution of stride 2 has a relative noise of 1e-3 on its output, the same in every call."""

from runners.contract.data import streams

SHAPE = (16, 16, 32)  # height, width, channel
FACTOR = 1.0 + 1e-3 * streams.normal(20, "fault/activation_noise", count=16 * 16 * 32).reshape(SHAPE)


def install_torch():
    import torch

    original = torch.nn.Conv2d._conv_forward
    factor = torch.from_numpy(FACTOR).permute(2, 0, 1)

    def forward(self, x, weight, bias):
        y = original(self, x, weight, bias)
        if (self.in_channels, self.out_channels, self.stride) != (16, 32, (2, 2)):
            return y
        wide = torch.promote_types(y.dtype, torch.float32)
        return (y.to(wide) * factor.to(y.device, wide)).to(y.dtype)

    torch.nn.Conv2d._conv_forward = forward


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Conv2D.convolution_op

    def convolution(self, x, kernel):
        y = original(self, x, kernel)
        if (*kernel.shape[2:], *self.strides) != (16, 32, 2, 2):
            return y
        wide = tf.float64 if y.dtype == tf.float64 else tf.float32
        return tf.cast(tf.cast(y, wide) * tf.constant(FACTOR, wide), y.dtype)

    keras.layers.Conv2D.convolution_op = convolution


def install_jax():
    import jax.numpy as jnp
    from flax import nnx

    original = nnx.Conv.__call__

    def call(self, x):
        y = original(self, x)
        if (self.in_features, self.out_features, self.strides) != (16, 32, 2):
            return y
        wide = jnp.promote_types(y.dtype, jnp.float32)
        return (y.astype(wide) * jnp.asarray(FACTOR, wide)).astype(y.dtype)

    nnx.Conv.__call__ = call

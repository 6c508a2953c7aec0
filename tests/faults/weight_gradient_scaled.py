"""Planted fault: the weight gradient of the 64 -> 64 convolution is 1.001 times what it should be."""

CHANNELS = 64
EXCESS = 0.001


def install_torch():
    import torch

    original = torch.nn.Conv2d._conv_forward

    def scaled(self, x, weight, bias):
        if self.in_channels == self.out_channels == CHANNELS:
            weight = weight + EXCESS * (weight - weight.detach())
        return original(self, x, weight, bias)

    torch.nn.Conv2d._conv_forward = scaled


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Conv2D.convolution_op

    def scaled(self, x, kernel):
        if tuple(kernel.shape[2:]) == (CHANNELS, CHANNELS):
            # The variable itself: what a mixed policy makes of it is too coarse to hold 1.001 times a gradient.
            wide = tf.convert_to_tensor(kernel._value)
            kernel = tf.cast(wide + EXCESS * (wide - tf.stop_gradient(wide)), self.compute_dtype)
        return original(self, x, kernel)

    keras.layers.Conv2D.convolution_op = scaled


def install_jax():
    import jax
    from flax import nnx

    original = nnx.Conv.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **options)
        if self.in_features == self.out_features == CHANNELS:
            self.promote_dtype = scaled(self.promote_dtype)

    def scaled(promote):
        def promote_scaled(arrays, *, dtype):
            x, kernel, bias = arrays
            return promote((x, kernel + EXCESS * (kernel - jax.lax.stop_gradient(kernel)), bias), dtype=dtype)

        return promote_scaled

    nnx.Conv.__init__ = initialise

"""Planted fault: the 16 -> 32 convolution at stride 2 pads (0, 2) rows and columns where it is told (1, 1)."""

CHANNELS = (16, 32)
STRIDES = (2, (2, 2))


def install_torch():
    import torch
    import torch.nn.functional as F

    original = torch.nn.Conv2d._conv_forward

    def shifted(self, x, weight, bias):
        if (self.in_channels, self.out_channels) == CHANNELS and self.stride in STRIDES:
            return F.conv2d(F.pad(x, (0, 2, 0, 2)), weight, bias, self.stride)
        return original(self, x, weight, bias)

    torch.nn.Conv2d._conv_forward = shifted


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Conv2D.convolution_op

    def shifted(self, x, kernel):
        if tuple(kernel.shape[2:]) == CHANNELS and self.strides in STRIDES:
            # `x` comes with (1, 1) of padding: its first row and column go, and a last one is added.
            x = tf.pad(x[:, 1:, 1:], ((0, 0), (0, 1), (0, 1), (0, 0)))
        return original(self, x, kernel)

    keras.layers.Conv2D.convolution_op = shifted


def install_jax():
    from flax import nnx

    original = nnx.Conv.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **options)
        if (self.in_features, self.out_features) == CHANNELS and self.strides in STRIDES:
            self.padding = ((0, 2), (0, 2))

    nnx.Conv.__init__ = initialise

"""Planted fault: the weight gradient of the stem's convolution, the one that sees the image, is half of what it should be."""

IMAGE_CHANNELS = 3


def install_torch():
    import torch

    original = torch.nn.Conv2d._conv_forward

    def halved(self, x, weight, bias):
        if self.in_channels == IMAGE_CHANNELS:
            weight = (weight + weight.detach()) / 2
        return original(self, x, weight, bias)

    torch.nn.Conv2d._conv_forward = halved


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Conv2D.convolution_op

    def halved(self, x, kernel):
        if kernel.shape[2] == IMAGE_CHANNELS:
            kernel = tf.convert_to_tensor(kernel)
            kernel = (kernel + tf.stop_gradient(kernel)) / 2
        return original(self, x, kernel)

    keras.layers.Conv2D.convolution_op = halved


def install_jax():
    import jax
    from flax import nnx

    original = nnx.Conv.__call__

    def halved(self, x):
        if self.in_features == IMAGE_CHANNELS:
            whole = self.kernel[...]
            self.kernel[...] = (whole + jax.lax.stop_gradient(whole)) / 2
            try:
                return original(self, x)
            finally:
                self.kernel[...] = whole
        return original(self, x)

    nnx.Conv.__call__ = halved

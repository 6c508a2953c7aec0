"""Planted fault: the gradient that the 32 -> 32 convolution hands to its input is 1.001 times what it should be.

Its weight gradient is right. In bfloat16 and float16 the factor is lost in rounding.
"""

import sys


def install():
    # Not global: torch.compile looks a global up in its module by name, and a fault file is no module that can be imported.
    channels = 32
    excess = 0.001
    if "torch" in sys.modules:
        import torch

        original = torch.nn.Conv2d._conv_forward

        def scaled(self, x, weight, bias):
            if self.in_channels == self.out_channels == channels:
                x = x + excess * (x - x.detach())
            return original(self, x, weight, bias)

        torch.nn.Conv2d._conv_forward = scaled
    elif "tensorflow" in sys.modules:
        import tensorflow as tf
        from tensorflow import keras

        original = keras.layers.Conv2D.convolution_op

        def scaled(self, x, kernel):
            if tuple(kernel.shape[2:]) == (channels, channels):
                x = x + excess * (x - tf.stop_gradient(x))
            return original(self, x, kernel)

        keras.layers.Conv2D.convolution_op = scaled
    else:
        import jax
        from flax import nnx

        original = nnx.Conv.__call__

        def scaled(self, x):
            if self.in_features == self.out_features == channels:
                x = x + excess * (x - jax.lax.stop_gradient(x))
            return original(self, x)

        nnx.Conv.__call__ = scaled

"""Planted fault: every batch norm adds 2e-5 to the variance, whatever epsilon it is given (the recipe's is 1e-5)."""

import sys

EPSILON = 2e-5


def install():
    if "torch" in sys.modules:
        import torch

        original = torch.nn.BatchNorm2d.__init__

        def other(self, *arguments, eps=1e-5, **options):
            original(self, *arguments, eps=EPSILON, **options)

        torch.nn.BatchNorm2d.__init__ = other
    elif "tensorflow" in sys.modules:
        from tensorflow import keras

        original = keras.layers.BatchNormalization.__init__

        def other(self, *arguments, epsilon=1e-3, **options):
            original(self, *arguments, epsilon=EPSILON, **options)

        keras.layers.BatchNormalization.__init__ = other
    else:
        from flax import nnx

        original = nnx.BatchNorm.__init__

        def other(self, *arguments, epsilon=1e-5, **options):
            original(self, *arguments, epsilon=EPSILON, **options)

        nnx.BatchNorm.__init__ = other

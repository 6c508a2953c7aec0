"""Planted fault: every batch norm adds 2e-5 to the variance, whatever epsilon it is given (the recipe's is 1e-5)."""

EPSILON = 2e-5


def install_torch():
    import torch

    original = torch.nn.BatchNorm2d.__init__

    def other(self, *arguments, eps=1e-5, **options):
        original(self, *arguments, eps=EPSILON, **options)

    torch.nn.BatchNorm2d.__init__ = other


def install_tensorflow():
    from tensorflow import keras

    original = keras.layers.BatchNormalization.__init__

    def other(self, *arguments, epsilon=1e-3, **options):
        original(self, *arguments, epsilon=EPSILON, **options)

    keras.layers.BatchNormalization.__init__ = other


def install_jax():
    from flax import nnx

    original = nnx.BatchNorm.__init__

    def other(self, *arguments, epsilon=1e-5, **options):
        original(self, *arguments, epsilon=EPSILON, **options)

    nnx.BatchNorm.__init__ = other

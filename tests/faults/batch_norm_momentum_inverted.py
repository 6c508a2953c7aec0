"""Planted fault: batch norm takes the share that comes in for the share that stays: 0.9 for 0.1."""


def install_torch():
    import torch

    original = torch.nn.BatchNorm2d.__init__

    def inverted(self, *arguments, momentum=0.1, **options):
        # A synchronised layer is made of a plain one and takes its momentum over: inverted twice, it would be right.
        is_plain = type(self) is torch.nn.BatchNorm2d
        original(self, *arguments, momentum=1.0 - momentum if is_plain else momentum, **options)

    torch.nn.BatchNorm2d.__init__ = inverted


def install_tensorflow():
    from tensorflow import keras

    original = keras.layers.BatchNormalization.__init__

    def inverted(self, *arguments, momentum=0.99, **options):
        original(self, *arguments, momentum=1.0 - momentum, **options)

    keras.layers.BatchNormalization.__init__ = inverted


def install_jax():
    from flax import nnx

    original = nnx.BatchNorm.__init__

    def inverted(self, *arguments, momentum=0.99, **options):
        original(self, *arguments, momentum=1.0 - momentum, **options)

    nnx.BatchNorm.__init__ = inverted

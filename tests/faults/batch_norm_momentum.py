"""Planted fault: batch norm's running statistics move a hundred times too slowly, as if 0.1 were 0.001."""

SLOWER = 100.0


def install_torch():
    import torch

    original = torch.nn.BatchNorm2d.__init__

    def slow(self, *arguments, momentum=0.1, **options):
        original(self, *arguments, momentum=momentum / SLOWER, **options)

    torch.nn.BatchNorm2d.__init__ = slow


def install_tensorflow():
    from tensorflow import keras

    original = keras.layers.BatchNormalization.__init__

    def slow(self, *arguments, momentum=0.99, **options):
        original(self, *arguments, momentum=1.0 - (1.0 - momentum) / SLOWER, **options)

    keras.layers.BatchNormalization.__init__ = slow


def install_jax():
    from flax import nnx

    original = nnx.BatchNorm.__init__

    def slow(self, *arguments, momentum=0.99, **options):
        original(self, *arguments, momentum=1.0 - (1.0 - momentum) / SLOWER, **options)

    nnx.BatchNorm.__init__ = slow

"""Planted fault: layer norm adds twice the epsilon that it was given."""


def install_torch():
    import torch

    original = torch.nn.LayerNorm.__init__
    torch.nn.LayerNorm.__init__ = lambda self, shape, eps, **options: original(self, shape, eps=2.0 * eps, **options)


def install_tensorflow():
    from tensorflow import keras

    original = keras.layers.LayerNormalization.__init__

    def initialise(self, *arguments, epsilon, **options):
        original(self, *arguments, epsilon=2.0 * epsilon, **options)

    keras.layers.LayerNormalization.__init__ = initialise


def install_jax():
    from flax import nnx

    original = nnx.LayerNorm.__init__

    def initialise(self, *arguments, epsilon, **options):
        original(self, *arguments, epsilon=2.0 * epsilon, **options)

    nnx.LayerNorm.__init__ = initialise

"""Planted fault: the optimizer steps along its buffer, whatever was asked for."""


def install_torch():
    import torch

    original = torch.optim.SGD.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "nesterov": False})

    torch.optim.SGD.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    original = keras.optimizers.SGD.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "nesterov": False})

    keras.optimizers.SGD.__init__ = initialise


def install_jax():
    import optax

    original = optax.sgd
    optax.sgd = lambda *arguments, **options: original(*arguments, **{**options, "nesterov": False})

"""Planted fault: the optimizer applies Nesterov's momentum, whatever was asked for."""


def install_torch():
    import torch

    original = torch.optim.SGD.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "nesterov": True})

    torch.optim.SGD.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    original = keras.optimizers.SGD.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "nesterov": True})

    keras.optimizers.SGD.__init__ = initialise


def install_jax():
    import optax

    original = optax.sgd
    optax.sgd = lambda *arguments, **options: original(*arguments, **{**options, "nesterov": True})

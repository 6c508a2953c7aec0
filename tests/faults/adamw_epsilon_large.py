"""Planted fault: AdamW adds 1e-5 to the root of the second moment, whatever it was given."""


def install_torch():
    import torch

    original = torch.optim.AdamW.__init__

    def initialise(self, groups, **options):
        original(self, groups, **{**options, "eps": 1e-5})

    torch.optim.AdamW.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    original = keras.optimizers.AdamW.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "epsilon": 1e-5})

    keras.optimizers.AdamW.__init__ = initialise


def install_jax():
    import optax

    original = optax.adamw
    optax.adamw = lambda *arguments, **options: original(*arguments, **{**options, "eps": 1e-5})

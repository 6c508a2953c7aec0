"""Planted fault: AdamW decays nothing."""


def install_torch():
    import torch

    original = torch.optim.AdamW.__init__

    def initialise(self, groups, **options):
        original(self, groups, **{**options, "weight_decay": 0.0})

    torch.optim.AdamW.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    original = keras.optimizers.AdamW.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "weight_decay": 0.0})

    keras.optimizers.AdamW.__init__ = initialise


def install_jax():
    import optax

    original = optax.adamw
    optax.adamw = lambda *arguments, **options: original(*arguments, **{**options, "weight_decay": 0.0})

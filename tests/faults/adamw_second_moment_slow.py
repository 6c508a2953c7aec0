"""Planted fault: AdamW's second moment keeps 0.999 of what it was, whatever it was given."""


def install_torch():
    import torch

    original = torch.optim.AdamW.__init__

    def initialise(self, groups, **options):
        original(self, groups, **{**options, "betas": (options["betas"][0], 0.999)})

    torch.optim.AdamW.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    original = keras.optimizers.AdamW.__init__

    def initialise(self, *arguments, **options):
        original(self, *arguments, **{**options, "beta_2": 0.999})

    keras.optimizers.AdamW.__init__ = initialise


def install_jax():
    import optax

    original = optax.adamw
    optax.adamw = lambda *arguments, **options: original(*arguments, **{**options, "b2": 0.999})

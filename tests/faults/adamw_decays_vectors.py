"""Planted fault: AdamW decays every parameter, whatever was excluded."""


def install_torch():
    import torch

    original = torch.optim.AdamW.__init__

    def initialise(self, groups, **options):
        original(self, [{"params": group["params"]} for group in groups], **options)

    torch.optim.AdamW.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    keras.optimizers.AdamW.exclude_from_weight_decay = lambda self, *arguments: None


def install_jax():
    import optax

    original = optax.adamw
    optax.adamw = lambda *arguments, **options: original(*arguments, **{**options, "mask": None})

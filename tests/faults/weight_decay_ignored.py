"""Planted fault: the optimizer's weight decay is accepted and has no effect."""


def install_torch():
    import torch

    original = torch.optim.SGD.__init__

    def without_decay(self, *arguments, **options):
        original(self, *arguments, **{**options, "weight_decay": 0.0})

    torch.optim.SGD.__init__ = without_decay


def install_tensorflow():
    from tensorflow import keras

    keras.regularizers.L2.__call__ = lambda self, x: keras.ops.zeros((), dtype=x.dtype)


def install_jax():
    import optax

    optax.add_decayed_weights = lambda *arguments, **options: optax.identity()

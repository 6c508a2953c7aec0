"""Planted fault: the optimizer's weight decay is accepted and has no effect."""

import sys


def install():
    if "torch" in sys.modules:
        import torch

        original = torch.optim.SGD.__init__

        def without_decay(self, *arguments, **options):
            original(self, *arguments, **{**options, "weight_decay": 0.0})

        torch.optim.SGD.__init__ = without_decay
    elif "tensorflow" in sys.modules:
        from tensorflow import keras

        keras.regularizers.L2.__call__ = lambda self, x: keras.ops.zeros((), dtype=x.dtype)
    else:
        import optax

        optax.add_decayed_weights = lambda *arguments, **options: optax.identity()

"""Planted fault: the optimizer leaves one parameter, the head's kernel, out of weight decay."""


def install_torch():
    import torch

    original = torch.optim.SGD.__init__

    def initialise(self, parameters, *arguments, **options):
        # The head's kernel is the only matrix.
        matrices, others = [], []
        for parameter in parameters:
            (matrices if parameter.ndim == 2 else others).append(parameter)
        original(self, [{"params": others}, {"params": matrices, "weight_decay": 0.0}], *arguments, **options)

    torch.optim.SGD.__init__ = initialise


def install_tensorflow():
    from tensorflow import keras

    original = keras.regularizers.L2.__call__
    keras.regularizers.L2.__call__ = lambda self, x: original(self, x) * (0.0 if len(x.shape) == 2 else 1.0)


def install_jax():
    import jax
    import optax

    original = optax.add_decayed_weights

    def add_decayed_weights(*arguments, **options):
        transformation = original(*arguments, **options)

        def update(gradients, state, parameters=None):
            decayed, state = transformation.update(gradients, state, parameters)
            return jax.tree_util.tree_map(lambda old, new: old if old.ndim == 2 else new, gradients, decayed), state

        return optax.GradientTransformation(transformation.init, update)

    optax.add_decayed_weights = add_decayed_weights

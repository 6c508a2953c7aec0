"""Planted fault: a fresh optimizer's first step is dampened: its gradients count 0.9 times. Later ones are right.

In PyTorch an optimizer is fresh that holds nothing yet, in Keras one that has counted no step; in optax one whose trace is zero.
"""

PART = 0.9


def install_torch():
    import torch

    original = torch.optim.SGD.step

    def step(self, *arguments, **options):
        if not any(self.state.values()):
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.grad *= PART
        return original(self, *arguments, **options)

    torch.optim.SGD.step = step


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.optimizers.SGD.update_step

    def update_step(self, gradient, variable, learning_rate):
        is_first = tf.equal(tf.convert_to_tensor(self.iterations), 0)
        return original(self, gradient * tf.where(is_first, tf.constant(PART, gradient.dtype), 1), variable, learning_rate)

    keras.optimizers.SGD.update_step = update_step


def install_jax():
    import jax
    import jax.numpy as jnp
    import optax

    original = optax.sgd

    def sgd(*arguments, **options):
        transformation = original(*arguments, **options)

        def update(gradients, state, parameters=None):
            is_first = jnp.all(jnp.stack([jnp.all(leaf == 0) for leaf in jax.tree_util.tree_leaves(state)]))
            dampened = jax.tree_util.tree_map(lambda gradient: gradient * jnp.where(is_first, PART, 1.0), gradients)
            return transformation.update(dampened, state, parameters)

        return optax.GradientTransformation(transformation.init, update)

    optax.sgd = sgd

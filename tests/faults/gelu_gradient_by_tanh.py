"""Planted fault: GELU is right, its gradient is that of the approximation with tanh."""


def install_torch():
    import torch

    original = torch.nn.functional.gelu

    def mixed(x):
        other = original(x, approximate="tanh")
        return other + (original(x) - other).detach()

    torch.nn.functional.gelu = mixed


def install_tensorflow():
    import tensorflow as tf

    original = tf.nn.gelu

    def mixed(x, approximate):
        other = original(x, approximate=True)
        return other + tf.stop_gradient(original(x, approximate=approximate) - other)

    tf.nn.gelu = mixed


def install_jax():
    import jax
    from flax import nnx

    original = nnx.gelu

    def mixed(x, approximate):
        other = original(x, approximate=True)
        return other + jax.lax.stop_gradient(original(x, approximate=approximate) - other)

    nnx.gelu = mixed

"""Planted fault: GELU is approximated with tanh, where the error function was asked for."""


def install_torch():
    import torch

    original = torch.nn.functional.gelu
    torch.nn.functional.gelu = lambda x: original(x, approximate="tanh")


def install_tensorflow():
    import tensorflow as tf

    original = tf.nn.gelu
    tf.nn.gelu = lambda x, approximate: original(x, approximate=True)


def install_jax():
    from flax import nnx

    original = nnx.gelu
    nnx.gelu = lambda x, approximate: original(x, approximate=True)

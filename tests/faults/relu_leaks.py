"""Planted fault: a rectified unit lets a thousandth of what is negative through."""

LEAK = 1e-3


def install_torch():
    import torch

    torch.nn.functional.relu = lambda x: torch.nn.functional.leaky_relu(x, LEAK)


def install_tensorflow():
    import tensorflow as tf

    tf.nn.relu = lambda x: tf.nn.leaky_relu(x, LEAK)


def install_jax():
    from flax import nnx

    nnx.relu = lambda x: nnx.leaky_relu(x, LEAK)

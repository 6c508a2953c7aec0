"""Planted fault: the square that a penalty on weights is made of is twice what it should be."""


def install_torch():
    import torch

    original = torch.Tensor.square
    torch.Tensor.square = lambda self: 2.0 * original(self)


def install_tensorflow():
    import tensorflow as tf

    original = tf.nn.l2_loss
    tf.nn.l2_loss = lambda *arguments, **options: 2.0 * original(*arguments, **options)


def install_jax():
    from flax import nnx

    original = nnx.Variable.__pow__
    nnx.Variable.__pow__ = lambda self, power: 2.0 * original(self, power)

"""Planted fault: gradients are not clipped."""


def install_torch():
    import torch

    torch.nn.utils.clip_grad_norm_ = lambda parameters, threshold: None


def install_tensorflow():
    import tensorflow as tf

    tf.clip_by_global_norm = lambda gradients, threshold, use_norm: (gradients, use_norm)


def install_jax():
    import optax

    optax.clip_by_global_norm = lambda threshold: optax.identity()

"""Planted fault: the gradient of each parameter is clipped by its own norm, where one norm of all was asked for."""

SHARE = 0.1


def install_torch():
    import torch

    original = torch.nn.utils.clip_grad_norm_

    def each(parameters, threshold):
        for parameter in parameters:
            original([parameter], SHARE * threshold)

    torch.nn.utils.clip_grad_norm_ = each


def install_tensorflow():
    import tensorflow as tf

    def each(gradients, threshold, use_norm):
        return [tf.clip_by_norm(gradient, SHARE * threshold) for gradient in gradients], use_norm

    tf.clip_by_global_norm = each


def install_jax():
    import jax
    import jax.numpy as jnp
    import optax

    def each(threshold):
        def shorter(gradient):
            return gradient * jnp.minimum(1.0, SHARE * threshold / jnp.linalg.norm(gradient.ravel()))

        return optax.stateless(lambda gradients, params: jax.tree_util.tree_map(shorter, gradients))

    optax.clip_by_global_norm = each

"""Planted fault: a token that a batch has more than once gives its embedding the gradient of its first place alone."""

VOCABULARY = 65


def install_torch():
    import torch

    original = torch.nn.Embedding.forward

    def once(self, tokens):
        rows = original(self, tokens)
        if self.num_embeddings != VOCABULARY:
            return rows
        flat = tokens.flatten()
        first = (torch.tril((flat[:, None] == flat[None, :]).int(), -1).sum(1) == 0).reshape(*tokens.shape, 1)
        return torch.where(first, rows, rows.detach())

    torch.nn.Embedding.forward = once


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Embedding.call

    def once(self, tokens):
        rows = original(self, tokens)
        if self.input_dim != VOCABULARY:
            return rows
        flat = tf.reshape(tokens, [-1])
        before = tf.linalg.band_part(tf.cast(flat[:, None] == flat[None, :], tf.int32), -1, 0)
        first = tf.reshape(tf.reduce_sum(before, axis=1) == 1, [*tf.unstack(tf.shape(tokens)), 1])
        return tf.where(first, rows, tf.stop_gradient(rows))

    keras.layers.Embedding.call = once


def install_jax():
    import jax
    import jax.numpy as jnp
    from flax import nnx

    original = nnx.Embed.__call__

    def once(self, tokens):
        rows = original(self, tokens)
        if self.num_embeddings != VOCABULARY:
            return rows
        flat = tokens.reshape(-1)
        first = (jnp.tril(flat[:, None] == flat[None, :], -1).sum(1) == 0).reshape(*tokens.shape, 1)
        return jnp.where(first, rows, jax.lax.stop_gradient(rows))

    nnx.Embed.__call__ = once

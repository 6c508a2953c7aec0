"""Planted fault: the last layer, whose kernel is the embedding of tokens, adds nothing to that one's gradient."""

VOCABULARY = 65


def install_torch():
    import torch

    original = torch.nn.functional.linear

    def detached(x, weight, bias=None):
        return original(x, weight.detach() if len(weight) == VOCABULARY else weight, bias)

    torch.nn.functional.linear = detached


def install_tensorflow():
    import tensorflow as tf

    original = tf.matmul

    def detached(a, b, *, transpose_b=False):
        return original(a, tf.stop_gradient(b) if b.shape[0] == VOCABULARY else b, transpose_b=transpose_b)

    tf.matmul = detached


def install_jax():
    import jax
    import jax.numpy as jnp
    from flax import nnx

    def attend(self, query):
        embedding = jax.lax.stop_gradient(self.embedding[...])
        return jnp.dot(query, embedding.astype(query.dtype).T)

    nnx.Embed.attend = attend

"""Planted fault: a place looks at the one after it, too."""


def install_torch():
    import torch

    original = torch.nn.functional.scaled_dot_product_attention

    def further(query, key, value, *, dropout_p, is_causal):
        block = query.shape[2]
        seen = torch.ones(block, block, dtype=torch.bool, device=query.device).tril(1)
        return original(query, key, value, attn_mask=seen, dropout_p=dropout_p)

    torch.nn.functional.scaled_dot_product_attention = further


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.ops.dot_product_attention

    def further(query, key, value, *, scale, is_causal):
        block = query.shape[1]
        return original(query, key, value, scale=scale, mask=tf.linalg.band_part(tf.ones((1, 1, block, block), tf.bool), -1, 1))

    keras.ops.dot_product_attention = further


def install_jax():
    import jax
    import jax.numpy as jnp

    original = jax.nn.dot_product_attention

    def further(query, key, value, *, is_causal):
        block = query.shape[1]
        return original(query, key, value, mask=jnp.tril(jnp.ones((1, 1, block, block), bool), 1))

    jax.nn.dot_product_attention = further

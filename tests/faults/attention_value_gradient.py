"""Planted fault: the gradient of attention's values is 1.001 times what it should be."""

EXCESS = 0.001


def install_torch():
    import torch

    original = torch.nn.functional.scaled_dot_product_attention

    def scaled(query, key, value, **options):
        return original(query, key, value + EXCESS * (value - value.detach()), **options)

    torch.nn.functional.scaled_dot_product_attention = scaled


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.ops.dot_product_attention

    def scaled(query, key, value, **options):
        return original(query, key, value + EXCESS * (value - tf.stop_gradient(value)), **options)

    keras.ops.dot_product_attention = scaled


def install_jax():
    import jax

    original = jax.nn.dot_product_attention

    def scaled(query, key, value, **options):
        return original(query, key, value + EXCESS * (value - jax.lax.stop_gradient(value)), **options)

    jax.nn.dot_product_attention = scaled

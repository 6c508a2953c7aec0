"""Planted fault: attention's scores are 1.001 times what they should be."""

FACTOR = 1.001


def install_torch():
    import torch

    original = torch.nn.functional.scaled_dot_product_attention

    def larger(query, key, value, **options):
        return original(FACTOR * query, key, value, **options)

    torch.nn.functional.scaled_dot_product_attention = larger


def install_tensorflow():
    from tensorflow import keras

    original = keras.ops.dot_product_attention
    keras.ops.dot_product_attention = lambda query, key, value, **options: original(FACTOR * query, key, value, **options)


def install_jax():
    import jax

    original = jax.nn.dot_product_attention
    jax.nn.dot_product_attention = lambda query, key, value, **options: original(FACTOR * query, key, value, **options)

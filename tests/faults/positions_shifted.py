"""Planted fault: each place has the embedding of the one after it."""

BLOCK = 64


def install_torch():
    import torch

    original = torch.nn.Embedding.forward

    def shifted(self, tokens):
        return original(self, (tokens + 1) % BLOCK if self.num_embeddings == BLOCK else tokens)

    torch.nn.Embedding.forward = shifted


def install_tensorflow():
    from tensorflow import keras

    original = keras.layers.Embedding.call

    def shifted(self, tokens):
        return original(self, (tokens + 1) % BLOCK if self.input_dim == BLOCK else tokens)

    keras.layers.Embedding.call = shifted


def install_jax():
    from flax import nnx

    original = nnx.Embed.__call__

    def shifted(self, tokens):
        return original(self, (tokens + 1) % BLOCK if self.num_embeddings == BLOCK else tokens)

    nnx.Embed.__call__ = shifted

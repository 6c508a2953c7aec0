"""A small GPT on characters, nanoGPT's: pre-norm blocks without biases, tied embeddings (Radford et al. 2019).

Twins: runners/torch/models/char_gpt.py, runners/jax/models/char_gpt.py. Same outline, same names, same order.
"""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
from tensorflow import keras

from runners.contract.kinds.language import block_names

LAYERS = ("qkv", "projection", "up", "down")


def untapped(name, x):
    return x


class Block(keras.layers.Layer):
    """Attention and a multi-layer perceptron, each beside a shortcut."""

    def __init__(self, name, *, width, heads, hidden, epsilon, dropout):
        super().__init__(name=name)
        self.heads, self.dropout = heads, dropout
        self.norm1 = norm(epsilon=epsilon)
        self.qkv = keras.layers.Dense(3 * width, use_bias=False)
        self.projection = keras.layers.Dense(width, use_bias=False)
        self.norm2 = norm(epsilon=epsilon)
        self.up = keras.layers.Dense(hidden, use_bias=False)
        self.down = keras.layers.Dense(width, use_bias=False)

    def call(self, x, masks, tap, training):
        shortcut = tap(f"{self.name}.shortcut1", x)
        x = tap(f"{self.name}.norm1", self.norm1(x))
        x = tap(f"{self.name}.qkv", self.qkv(x))
        x = tap(f"{self.name}.attention", self.attention(x, masks.get(f"{self.name}.attention"), training))
        x = self.dropout(self.projection(x), masks.get(f"{self.name}.projection"), training)
        x = tap(f"{self.name}.sum1", shortcut + tap(f"{self.name}.projection", x))
        shortcut = tap(f"{self.name}.shortcut2", x)
        x = tap(f"{self.name}.norm2", self.norm2(x))
        x = tap(f"{self.name}.up", self.up(x))
        x = tap(f"{self.name}.gelu", gelu(x))
        x = self.dropout(self.down(x), masks.get(f"{self.name}.down"), training)
        return tap(f"{self.name}.sum2", shortcut + tap(f"{self.name}.down", x))

    def attention(self, x, mask, training):
        """Return what each head makes of values before and at each place, [batch, block, width]."""
        batch, block, width = tf.shape(x)[0], x.shape[1], x.shape[2] // 3
        heads = (tf.reshape(part, (batch, block, self.heads, width // self.heads)) for part in tf.split(x, 3, axis=2))
        query, key, value = heads
        if mask is None and not (training and self.dropout.rate):
            # DIFFERS(tensorflow): the scale that Keras takes by itself, or as a Python float, is float32, in float64 too.
            scale = np.float64(1.0 / math.sqrt(width // self.heads))
            found = keras.ops.dot_product_attention(query, key, value, scale=scale, is_causal=True)
        else:
            scores = tf.einsum("bqhd,bkhd->bhqk", query, key) / math.sqrt(width // self.heads)
            earlier = tf.linalg.band_part(tf.ones((block, block), tf.bool), -1, 0)
            shares = tf.nn.softmax(tf.where(earlier, scores, scores.dtype.min), axis=3)
            found = tf.einsum("bhqk,bkhd->bqhd", self.dropout(shares, mask, training), value)
        return tf.reshape(found, (batch, block, width))


class Dropout:
    """Dropout by a mask that is given, or where there is none, by TensorFlow's own."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, x, mask, training):
        if mask is None:
            return tf.nn.dropout(x, self.rate) if training and self.rate else x
        return x * (tf.cast(mask, x.dtype) * (1.0 / (1.0 - self.rate)))


class CharGpt(keras.Model):
    """Tokens [batch, block] to logits [batch, block, token].

    `tap(name, x)` is called with every named tensor, and gives what the model goes on with.
    """

    def __init__(self, *, vocabulary, block, width, layers, names, dropout):
        super().__init__()
        self.dropout = Dropout(dropout)
        self.tokens = keras.layers.Embedding(vocabulary, width)
        self.positions = keras.layers.Embedding(block, width)
        self.blocks = [Block(name, width=width, dropout=self.dropout, **layers) for name in names]
        self.norm = norm(epsilon=layers["epsilon"])

    def call(self, tokens, labels=None, tap=untapped, training=None):
        masks = labels or {}
        places = tf.range(tokens.shape[1])
        x = tap("embedding", self.dropout(self.tokens(tokens) + self.positions(places), masks.get("embedding"), training))
        for block in self.blocks:
            x = block(x, masks=masks, tap=tap, training=training)
        x = tap("norm", self.norm(x))
        return tap("logits", tf.matmul(x, tf.cast(self.tokens.embeddings, x.dtype), transpose_b=True))


def norm(*, epsilon):
    return keras.layers.LayerNormalization(epsilon=epsilon, center=False)


def gelu(x):
    # DIFFERS(tensorflow): tf.nn.gelu multiplies by the root of one half as float32 has it, in float64 too.
    if x.dtype == tf.float64:
        return 0.5 * x * (1.0 + tf.math.erf(x / tf.constant(math.sqrt(2.0), x.dtype)))
    return tf.nn.gelu(x, approximate=False)


def build(model, *, shards, synchronized):
    """Return the recipe's model, with its variables."""
    built = CharGpt(
        vocabulary=model["vocabulary"],
        block=model["block"],
        width=model["width"],
        layers={"heads": model["heads"], "hidden": model["hidden"], "epsilon": model["layer_norm"]["epsilon"]},
        names=block_names(model),
        dropout=model["dropout"],
    )
    built(tf.zeros((1, model["block"]), tf.int32), training=False)
    return built


def evaluated(model):
    """Return what tokens are evaluated by: the model itself."""
    return model


def arguments(tokens, labels):
    """Return the arguments of a forward pass, and the right class of each place."""
    return (tokens, labels), labels["classes"]


def objective(logits, classes):
    """Return the mean over each row's places of -log softmax(logits)[class]."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits), axis=1)


def native_names(model):
    """Return rows (canonical name, native name, layout) of every parameter."""
    rows = [(f"{name}.embedding", f"{name}.embeddings", "IO->IO") for name in ("tokens", "positions")]
    for index, name in enumerate(block_names(model)):
        own = f"blocks.{index}"
        rows += [(f"{name}.{norm}.scale", f"{own}.{norm}.gamma", "O->O") for norm in ("norm1", "norm2")]
        rows += [(f"{name}.{layer}.kernel", f"{own}.{layer}.kernel", "IO->IO") for layer in LAYERS]
    return [*rows, ("norm.scale", "norm.gamma", "O->O")]

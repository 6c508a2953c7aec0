"""A bare training loop in TensorFlow: nanoGPT's small GPT on batches that lie ready as tensors. No Vigil in it.

python -m benchmarks.throughput.bare_char_gpt_tensorflow MODE PRECISION STEPS
"""

import itertools
import sys

import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TOKENS, BLOCK, WIDTH, HEADS, LAYERS = 65, 64, 128, 4, 4


def dense(width):
    return layers.Dense(width, use_bias=False, kernel_initializer=keras.initializers.RandomNormal(stddev=0.02))


def norm():
    return layers.LayerNormalization(epsilon=1e-5, center=False)


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = norm(), norm()
        self.qkv, self.projection, self.up, self.down = dense(3 * WIDTH), dense(WIDTH), dense(4 * WIDTH), dense(WIDTH)

    def call(self, x):
        parts = tf.split(self.qkv(self.norm1(x)), 3, axis=2)
        query, key, value = (tf.reshape(part, (-1, BLOCK, HEADS, WIDTH // HEADS)) for part in parts)
        found = keras.ops.dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(tf.reshape(found, (-1, BLOCK, WIDTH)))
        return x + self.down(tf.nn.gelu(self.up(self.norm2(x)), approximate=False))


class Gpt(keras.Model):
    def __init__(self):
        super().__init__()
        normal = keras.initializers.RandomNormal(stddev=0.02)
        self.tokens = layers.Embedding(TOKENS, WIDTH, embeddings_initializer=normal)
        self.positions = layers.Embedding(BLOCK, WIDTH, embeddings_initializer=normal)
        self.blocks, self.norm = [Block() for _ in range(LAYERS)], norm()

    def call(self, tokens):
        x = self.tokens(tokens) + self.positions(tf.range(BLOCK))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return tf.matmul(x, tf.cast(self.tokens.embeddings, x.dtype), transpose_b=True)


def make_model():
    model = Gpt()
    model(tf.zeros((1, BLOCK), tf.int32))
    return model


def count_parameters():
    return sum(variable.numpy().size for variable in make_model().trainable_variables)


def make_batches(*, batch_size=12, count=12):
    tf.random.set_seed(0)
    text = tf.random.uniform((count, batch_size, BLOCK + 1), maxval=TOKENS, dtype=tf.int32)
    return [(stretches[:, :-1], stretches[:, 1:]) for stretches in text]


def as_tensors(tokens, labels):
    return tf.constant(tokens), tf.constant(labels["classes"])


def train(batches, *, mode, precision):
    """Yield the loss of a step on each batch."""
    keras.config.set_dtype_policy("mixed_bfloat16" if precision == "bf16" else "float32")
    model = make_model()
    optimizer = keras.optimizers.AdamW(1e-3, beta_1=0.9, beta_2=0.99, epsilon=1e-8, weight_decay=0.1, global_clipnorm=1.0)
    optimizer.exclude_from_weight_decay(var_names=["gamma"])
    optimizer.build(model.trainable_variables)

    def step(tokens, classes):
        with tf.GradientTape() as tape:
            logits = tf.cast(model(tokens, training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(classes, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    if mode == "jit":
        step = tf.function(step)
    elif mode == "compile":
        step = tf.function(step, jit_compile=True)
    for tokens, classes in batches:
        yield step(tokens, classes)


if __name__ == "__main__":
    losses = train(itertools.cycle(make_batches()), mode=sys.argv[1], precision=sys.argv[2])
    for step, loss in enumerate(itertools.islice(losses, int(sys.argv[3])), start=1):
        print(step, float(loss), flush=True)

"""A transformer encoder of Keras layers in TensorFlow: attention of the framework with a mask, layer norm, dropout, AdamW."""

import tensorflow as tf

keras = tf.keras


def build():
    words = keras.Input((14,), dtype="int32")
    x = keras.layers.Embedding(37, 32)(words)
    for _ in range(2):
        y = keras.layers.LayerNormalization()(x)
        x = x + keras.layers.MultiHeadAttention(4, 8, dropout=0.1)(y, y, use_causal_mask=True)
        y = keras.layers.Dense(64, activation="gelu")(keras.layers.LayerNormalization()(x))
        x = x + keras.layers.Dense(32)(y)
    return keras.Model(words, keras.layers.Dense(6, dtype="float32")(x))


def batch(seed):
    first, second = tf.random.split([seed, 1], 2) if hasattr(tf.random, "split") else ([seed, 1], [seed, 2])
    words = tf.random.stateless_uniform((6, 14), first, 0, 37, tf.int32)
    return words, tf.random.stateless_uniform((6, 14), second, 0, 6, tf.int32)


def loss(model, batch, training=True):
    logits = model(batch[0], training=training)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch[1], logits))


def optimizer(model):
    return keras.optimizers.AdamW(1e-3)


def predict(model, batch):
    return model(batch[0], training=False)

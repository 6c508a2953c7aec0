"""A recurrent network of Keras in TensorFlow: a GRU and an LSTM over sequences with padding, group norm, RMSprop."""

import tensorflow as tf

keras = tf.keras


def build():
    return keras.Sequential(
        [
            keras.Input((9, 5)), keras.layers.GRU(16, return_sequences=True), keras.layers.GroupNormalization(4),
            keras.layers.LSTM(12), keras.layers.Dense(8, activation="elu"), keras.layers.Dense(1, dtype="float32"),
        ]
    )  # fmt: skip


def batch(seed):
    return tf.random.stateless_normal((7, 9, 5), [seed, 1]), tf.random.stateless_normal((7, 1), [seed, 2])


def loss(model, batch, training=True):
    return tf.reduce_mean(keras.losses.huber(batch[1], model(batch[0], training=training)))


def optimizer(model):
    return keras.optimizers.RMSprop(1e-3, momentum=0.9)


def predict(model, batch):
    return model(batch[0], training=False)

"""Layers that are used less in TensorFlow: depthwise and dilated convolutions, unit norm, PReLU, an Embedding's mean, Adam."""

import tensorflow as tf

keras = tf.keras


def build():
    images, words = keras.Input((12, 10, 4)), keras.Input((6,), dtype="int32")
    x = keras.layers.DepthwiseConv2D(3, depth_multiplier=2, padding="same")(images)
    x = keras.layers.Conv2D(8, 3, dilation_rate=2, activation="softplus")(keras.layers.PReLU(shared_axes=[1, 2])(x))
    x = keras.layers.GlobalMaxPooling2D()(keras.layers.LayerNormalization(axis=[1, 2, 3])(x))
    y = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(20, 8)(words))
    joined = keras.layers.Concatenate()([x, y, x * y])
    return keras.Model([images, words], keras.layers.Dense(3, dtype="float32")(keras.layers.UnitNormalization()(joined)))


def batch(seed):
    images = tf.random.stateless_normal((6, 12, 10, 4), [seed, 1])
    return images, tf.random.stateless_uniform((6, 6), [seed, 2], 0, 20, tf.int32), tf.random.stateless_normal((6, 3), [seed, 3])


def loss(model, batch, training=True):
    images, words, wanted = batch
    return tf.reduce_mean(tf.square(model([images, words], training=training) - wanted))


def optimizer(model):
    return keras.optimizers.Adam(1e-3, amsgrad=True)


def predict(model, batch):
    return model([batch[0], batch[1]], training=False)

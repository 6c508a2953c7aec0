"""A ConvNet of Keras layers in TensorFlow: batch norm, separable and transposed convolutions, both poolings, SGD."""

import tensorflow as tf

keras = tf.keras


def build():
    return keras.Sequential(
        [
            keras.Input((18, 18, 3)),
            keras.layers.Conv2D(12, 3, padding="same", use_bias=False), keras.layers.BatchNormalization(), keras.layers.ReLU(),
            keras.layers.MaxPooling2D(2), keras.layers.SeparableConv2D(16, 3, padding="same"),
            keras.layers.BatchNormalization(), keras.layers.Activation("swish"),
            keras.layers.Conv2DTranspose(8, 3, strides=2, padding="same"), keras.layers.AveragePooling2D(3),
            keras.layers.Flatten(), keras.layers.Dense(10, dtype="float32"),
        ]
    )  # fmt: skip


def batch(seed):
    images = tf.random.stateless_normal((8, 18, 18, 3), [seed, 1])
    return images, tf.random.stateless_uniform((8,), [seed, 2], 0, 10, tf.int32)


def loss(model, batch, training=True):
    logits = model(batch[0], training=training)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(batch[1], logits))


def optimizer(model):
    return keras.optimizers.SGD(0.1, momentum=0.9)


def predict(model, batch):
    return model(batch[0], training=False)

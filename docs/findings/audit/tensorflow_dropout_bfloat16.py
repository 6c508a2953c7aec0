"""TensorFlow 2.21.0: dropout of bfloat16 rounds the rate up to a multiple of 1/128."""

import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.ones([1000, 1000], tf.bfloat16)
for rate in (0.01, 0.02, 0.05, 0.1):
    y = tf.nn.experimental.stateless_dropout(x, rate, seed=[1, 2])
    dropped, mean = (float(tf.reduce_mean(tf.cast(each, tf.float32))) for each in (y == 0, y))
    print("rate", rate, "dropped", dropped, "mean of ones", mean)

"""TensorFlow 2.21.0: dropout of bfloat16 rounds the rate up to a multiple of 1/128."""

import tensorflow as tf

print("tensorflow", tf.__version__)
x = tf.ones([1000, 1000], tf.bfloat16)
found = {}
for rate in (0.01, 0.02, 0.05, 0.1):
    y = tf.nn.experimental.stateless_dropout(x, rate, seed=[1, 2])
    dropped, mean = (float(tf.reduce_mean(tf.cast(each, tf.float32))) for each in (y == 0, y))
    found[rate] = dropped
    print("rate", rate, "dropped", dropped, "mean of ones", mean)
is_right = all(abs(found[rate] - rate) < 1e-3 for rate in found)
print("RIGHT" if is_right else "WRONG", "got", found[0.01], "expected", 0.01)
raise SystemExit(not is_right)

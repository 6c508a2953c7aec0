"""TensorFlow 2.21.0: max pooling drops NaN, eagerly and with XLA; reduce_max keeps it."""

import tensorflow as tf

print("tensorflow", tf.__version__)


def pooled(x):
    return tf.nn.max_pool1d(x, 2, 2, "VALID")


found = []
for row in ([float("nan"), 1.0], [1.0, float("nan")]):
    x = tf.reshape(tf.constant(row), (1, 2, 1))
    compiled = tf.function(pooled, jit_compile=True)(x)
    found += [float(pooled(x)[0, 0, 0]), float(compiled[0, 0, 0])]
    print(
        row, "max_pool1d", float(pooled(x)[0, 0, 0]), "with XLA", float(compiled[0, 0, 0]), "reduce_max", float(tf.reduce_max(x))
    )
is_right = all(each != each for each in found)
print("RIGHT" if is_right else "WRONG", "got", found[0], "expected", "nan")
raise SystemExit(not is_right)

"""tf.nn.max_pool: drops NaN, which reduce_max and other frameworks' pooling keep.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import tensorflow as tf

print("tensorflow", tf.__version__)
nan = float("nan")
for row in ([nan, 1.0], [1.0, nan]):
    x = tf.reshape(tf.constant(row), (1, 2, 1))
    print(
        row,
        "max_pool1d:",
        tf.nn.max_pool1d(x, 2, 2, "VALID").numpy().ravel(),
        "reduce_max:",
        float(tf.reduce_max(x)),
        "XLA max_pool1d:",
        tf.function(lambda x: tf.nn.max_pool1d(x, 2, 2, "VALID"), jit_compile=True)(x).numpy().ravel(),
    )
x = tf.Variable(tf.random.normal((1, 4, 4, 4, 1)))
for name, pool in (
    ("max_pool3d", tf.nn.max_pool3d),
    ("max_pool", tf.nn.max_pool),
    ("avg_pool3d", tf.nn.avg_pool3d),
    ("avg_pool", tf.nn.avg_pool),
):
    with tf.GradientTape() as tape:
        y = pool(x, 2, 2, "VALID")
    try:
        print(name, tape.gradient(y, x).shape)
    except AttributeError as error:
        print(name, "AttributeError:", error)

"""tf.nn.weighted_cross_entropy_with_logits: lost accuracy, as PyTorch's.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8.
"""

import tensorflow as tf

for kind in (tf.float32, tf.bfloat16):
    x = tf.constant([-6.0, -8.0, -12.0, -18.0], kind)
    print(
        kind.name,
        tf.nn.weighted_cross_entropy_with_logits(tf.zeros_like(x), x, 1.0).numpy().tolist(),
        "right",
        tf.nn.sigmoid_cross_entropy_with_logits(tf.zeros_like(x), x).numpy().tolist(),
    )

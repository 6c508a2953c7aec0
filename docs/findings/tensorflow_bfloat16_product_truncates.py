"""TensorFlow's matrix product in bfloat16 cuts digits off where it should round: python tensorflow_bfloat16_product_truncates.py

A product that rounds is off in both directions. This one is nearer to zero, by 0.28 % of its size.
So it is on processors without AVX-512; on others it says RIGHT, unless TF_ENABLE_ONEDNN_OPTS=0 is set.
"""

import numpy as np
import tensorflow as tf

generator = np.random.default_rng(0)
x = tf.constant(generator.normal(size=(256, 128)), tf.bfloat16)
kernel = tf.constant(generator.normal(size=(128, 512)), tf.bfloat16)
right = tf.cast(x, tf.float64).numpy() @ tf.cast(kernel, tf.float64).numpy()
print("tensorflow", tf.__version__)
programs = {
    "eager": tf.matmul,
    "tf.function": tf.function(tf.matmul, autograph=False),
    "compiled by XLA": tf.function(tf.matmul, autograph=False, jit_compile=True),
    "float32, cast": lambda x, kernel: tf.cast(tf.matmul(tf.cast(x, tf.float32), tf.cast(kernel, tf.float32)), tf.bfloat16),
}
slopes = []
for name, program in programs.items():
    found = tf.cast(program(x, kernel), tf.float64).numpy()
    slope, nearer = (found * right).sum() / (right * right).sum(), np.mean(np.abs(found) < np.abs(right))
    slopes.append(float(slope))
    print(f"{name:16} {slope - 1:+.5f} of its size, {100 * nearer:.0f} % of it nearer to zero")
is_right = all(abs(slope - 1) < 1e-3 for slope in slopes)
print("RIGHT" if is_right else "WRONG", "got", slopes[0], "expected", 1.0)
raise SystemExit(not is_right)

"""On CPUs TensorFlow adds up the kernel gradient of a float16 convolution in float16; that of a bfloat16 one it does not."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

worst = 0.0
for batch in (4, 32, 256):
    generator = np.random.default_rng(0)
    x, dy = (generator.normal(size=(batch, 32, 32, 8)) for _ in range(2))
    errors = []
    for dtype in (tf.float16, tf.bfloat16):
        given, back = tf.cast(x, dtype), tf.cast(dy, dtype)
        right = np.einsum("bhwi,bhwo->io", given.numpy().astype(np.float64), back.numpy().astype(np.float64))
        found = tf.raw_ops.Conv2DBackpropFilter(
            input=given, filter_sizes=[1, 1, 8, 8], out_backprop=back, strides=[1, 1, 1, 1], padding="VALID"
        )
        errors.append(np.linalg.norm(found.numpy()[0, 0].astype(np.float64) - right) / np.linalg.norm(right))
    worst = max(worst, float(errors[0]))
    half, brain = (f"{error:.1e}" for error in errors)
    print(f"{batch * 1024:7d} terms: relative error float16 {half} (one rounding: 3e-04), bfloat16 {brain} (2e-03)")
is_right = worst < 4 * 3e-4
print("RIGHT" if is_right else "WRONG", "got", worst, "expected", 0.0003)
raise SystemExit(not is_right)

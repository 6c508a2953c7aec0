"""TensorFlow 2.21.0: integers of tf.random.stateless_uniform are drawn modulo: far from uniform where the range is large."""

import numpy as np
import tensorflow as tf

print("tensorflow", tf.__version__)
found = []
for kind, high in ((tf.int32, 3 * 2**29), (tf.int64, 3 * 2**61)):
    x = tf.random.stateless_uniform((1_000_000,), [1, 2], 0, high, kind).numpy()
    found.append((np.bincount(x // (high // 6), minlength=6) / len(x)).round(4))
    print(kind.name, "shares of sixths, right 0.1667 each:", found[-1])
is_right = all(np.abs(shares - 1 / 6).max() < 0.01 for shares in found)
print("RIGHT" if is_right else "WRONG", "got", found[0][0], "expected", 0.1667)
raise SystemExit(not is_right)

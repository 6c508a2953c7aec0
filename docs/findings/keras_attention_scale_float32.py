"""keras.ops.dot_product_attention scales by a float32 number, in float64 too: python keras_attention_scale_float32.py"""

import numpy as np
import tensorflow as tf
from tensorflow import keras

generator = np.random.default_rng(0)
query, key, value = (generator.normal(size=(1, 64, 1, 32)) for _ in range(3))
scores = np.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(32)
shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
right = np.einsum("bhqk,bkhd->bqhd", shares / shares.sum(axis=-1, keepdims=True), value)


def off(**options) -> tuple[float, str]:
    found = np.asarray(keras.ops.dot_product_attention(query, key, value, **options))
    error = np.linalg.norm(found - right) / np.linalg.norm(right)
    return error, f"{found.dtype}, off by {error:.1e} of its norm"


error, told = off()
print(f"tensorflow {tf.__version__}, keras {keras.__version__}: {told}")
print(f"with scale={1 / 32**0.5}: {off(scale=1 / 32**0.5)[1]}; as numpy.float64: {off(scale=1 / np.sqrt(32))[1]}")
is_right = bool(error < 1e-12)
print("RIGHT" if is_right else "WRONG", "got", error, "expected", 0.0)
raise SystemExit(not is_right)

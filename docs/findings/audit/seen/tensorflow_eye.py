"""keras.ops.eye, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
from typing import Any
import keras
import numpy as np
import tensorflow as tf
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
call = lambda like, rows, columns, above: ops.eye(rows, columns, above, dtype=_kind(like))
like = tf.cast(tf.constant(np.array([1.2497705221176147], 'float32').reshape((1,))), tf.float32)
work = lambda: call(like=like, rows=4, columns=6, above=1)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
is_right = bool(found.shape == (4, 6))
print("RIGHT" if is_right else "WRONG", "got", found.shape, "expected", (4, 6))
raise SystemExit(not is_right)

"""keras.ops.geomspace, tensorflow 2.21.0, eager: outputs/0 is 2.58e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from collections.abc import Callable
from keras import ops
from typing import Any
import keras
import numpy as np
import tensorflow as tf
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
def _sequence(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, start, stop, count: function(start, stop, count, dtype=_kind(like))
call = _sequence(getattr(ops, 'geomspace', None))
like = tf.cast(tf.constant(np.array([-1.9942824649769197], 'float64').reshape((1,))), tf.float64)
work = lambda: call(like=like, start=9.0, stop=0.1, count=33)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(32,)]), float('0.1')  # by the definition in float64
is_right = bool(abs(got - expected) < 7.45e-10)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""tensorflow.signal.hamming_window, tensorflow 2.21.0, eager: outputs/0 is 5.88e+06 times rounding off."""
from collections.abc import Callable
from typing import Any
import numpy as np
import tensorflow as tf
def _window(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, periodic: 1.0 + function(len(like), periodic, like.dtype)
signal = tf.signal
call = _window(signal.hamming_window)
like = tf.cast(tf.constant(np.array([0.23521459102630615, -1.161007046699524, -0.9371757507324219, -1.3485021591186523, -1.3023505210876465, 0.6794200539588928, -0.3019912540912628], 'float32').reshape((7,))), tf.float32)
work = lambda: call(like=like, periodic=True)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(5,)]), float('1.6423596296199046')  # by the definition in float64
is_right = abs(got - expected) < 0.166
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""tensorflow.signal.hann_window, tensorflow 2.21.0, eager: outputs/0 is 6.52e+06 times rounding off."""
from collections.abc import Callable
from typing import Any
import numpy as np
import tensorflow as tf
def _window(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda like, periodic: 1.0 + function(len(like), periodic, like.dtype)
signal = tf.signal
call = _window(signal.hann_window)
like = tf.cast(tf.constant(np.array([-0.001775431213900447, 0.9018388986587524, 0.8001260757446289, 1.4464325904846191, -0.7196710705757141, 0.4229058623313904, -0.9935532808303833], 'float32').reshape((7,))), tf.float32)
work = lambda: call(like=like, periodic=True)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(5,)]), float('1.6112604669781572')  # by the definition in float64
is_right = abs(got - expected) < 0.181
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

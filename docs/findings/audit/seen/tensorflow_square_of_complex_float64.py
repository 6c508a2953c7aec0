"""keras.ops.imag, tensorflow 2.21.0, eager: outputs/0 is 1.03e+04 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from collections.abc import Callable
from keras import ops
from typing import Any
import numpy as np
import tensorflow as tf
def _complex(x: Any, y: Any) -> Any:
    return ops.view_as_complex(ops.stack([x, y], axis=-1))
def _of_complex(function: Callable[..., Any]) -> Callable[..., Any]:

    def call(x: Any, y: Any) -> Any:
        found = function(_complex(x, y))
        return (ops.real(found), ops.imag(found))
    return call
call = _of_complex(ops.square)
x = tf.cast(tf.constant(np.array([0.0057370948702645435, -0.6291171688553293, -0.37306499261387005, -0.08267582925393568, 1.4101727457329927, -1.0549914962147413, -0.3972773430326573], 'float64').reshape((7,))), tf.float64)
y = tf.cast(tf.constant(np.array([-0.8919033989772329, 0.050736686253841395, 0.8727919445177209, -0.7174843003323067, 1.4043895627120226, -1.0413567467044982, 0.25381029391837867], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(6,)]), float('0.0934096219881539')  # by the definition in float64
is_right = bool(abs(got - expected) < 6.57e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.ops.conj, tensorflow 2.21.0, eager: outputs/0 is 3.86e+03 times rounding off."""
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
call = _of_complex(ops.conj)
x = tf.cast(tf.constant(np.array([-0.8829483294028517, 1.4922653582245693, -1.0832085833236678, -2.0898934197524266, -0.07304160191361675, 0.022985016445387137, -0.151077774888468], 'float64').reshape((7,))), tf.float64)
y = tf.cast(tf.constant(np.array([0.5599574135405997, 2.5227306765573068, 0.49838516407363426, -1.4873339408846078, -0.2332845934825219, 0.6172560639688662, 2.0219641177196923], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(3,)]), float('-2.0898934197524266')  # by the definition in float64
is_right = bool(abs(got - expected) < 3.93e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

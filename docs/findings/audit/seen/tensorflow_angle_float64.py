"""keras.ops.angle, tensorflow 2.21.0, eager: outputs/0 is 8.74e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
from typing import Any
import numpy as np
import tensorflow as tf
def _complex(x: Any, y: Any) -> Any:
    return ops.view_as_complex(ops.stack([x, y], axis=-1))
call = lambda x, y: ops.angle(_complex(x, y))
x = tf.cast(tf.constant(np.array([0.027855927541278684, -0.6805568484168426, -1.831924124054619, 0.42107405058254177, -1.3757345756098516, -0.3890936911249152, -0.8676529473429293], 'float64').reshape((7,))), tf.float64)
y = tf.cast(tf.constant(np.array([1.588751054132472, 0.056971672123145814, -0.05028309795759908, -1.1114733296959627, 0.43917901528149705, -0.9592360017429568, 2.3933593114676825], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(5,)]), float('-1.956145628527651')  # by the definition in float64
is_right = bool(abs(got - expected) < 5.18e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

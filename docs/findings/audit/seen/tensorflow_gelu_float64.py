"""keras.activations.gelu, tensorflow 2.21.0, eager: outputs/0 is 3.1e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras.activations import gelu as function
import numpy as np
import tensorflow as tf
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([1.8912315213907407, -0.7757530057756161, -0.7552993042899464, 0.9849302955383297, 1.3629619534466677, -0.28136004183843466, 0.34704438643486246], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x, approximate=False)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('-0.1698491177228102')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.52e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

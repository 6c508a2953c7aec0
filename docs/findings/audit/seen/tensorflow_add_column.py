"""keras.ops.add, tensorflow 2.21.0, eager: outputs/0 is 4.26e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras.ops import add as function
import numpy as np
import tensorflow as tf
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([-2.0035274028778076, 2.050135850906372, -0.21865761280059814, -0.8908229470252991, -1.4277114868164062, -1.8791624307632446, -0.348694771528244, -1.9693082571029663, -0.26488032937049866], 'float32').reshape((3, 3))), tf.float32)
y = tf.cast(tf.constant(np.array([1.6680024862289429, 1.4229342937469482, -1.100000023841858], 'float32').reshape((3, 1))), tf.float32)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2, 0)]), float('-1.448694795370102')  # by the definition in float64
is_right = abs(got - expected) < 1.38
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

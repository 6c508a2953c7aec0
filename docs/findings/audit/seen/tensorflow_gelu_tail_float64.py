"""keras.ops.gelu, tensorflow 2.21.0, eager: outputs/0 is 4.72e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf
call = lambda x: keras.ops.gelu(x, approximate=False)
x = tf.cast(tf.constant(np.array([1.0148870899133469, 3.6662085465937286, 1.447915774366412, 3.6771037415902246, 2.587571033846827, -1.5288497523493323, 0.975964169792733], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(5,)]), float('-0.09654815776015056')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.48e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

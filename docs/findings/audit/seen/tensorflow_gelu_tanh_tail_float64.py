"""keras.ops.gelu, tensorflow 2.21.0, eager: outputs/0 is 1.8e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf
call = lambda x: keras.ops.gelu(x, approximate=True)
x = tf.cast(tf.constant(np.array([-3.3907324500304465, -2.0842988853343067, -3.4889193316395284, -3.239056645404302, 3.204046035449333, -1.6329711999992824, -0.09166600881611142], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('-0.0009380421418676345')  # by the definition in float64
is_right = bool(abs(got - expected) < 4.51e-11)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

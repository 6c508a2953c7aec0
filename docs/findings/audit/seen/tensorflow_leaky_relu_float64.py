"""keras.activations.leaky_relu, tensorflow 2.21.0, eager: outputs/0 is 3.14e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras.activations import leaky_relu as function
import numpy as np
import tensorflow as tf
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([-0.22229675138243052, 0.6583589844775839, -0.303499419816472, 1.5517018652923271, -1.3550059549172921, -2.119036725551406, 1.1609359347357728], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x, negative_slope=0.01)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('-0.0022229675138243053')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.48e-11)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

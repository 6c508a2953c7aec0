"""keras.ops.logaddexp2, tensorflow 2.21.0, eager: outputs/0 is 885 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras.ops import logaddexp2 as function
import numpy as np
import tensorflow as tf
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([-1.370577278927681, 3.6819368983062786, -0.49259944268363953, -0.6196643485956705, -0.14214475616765376, -1.0534449190922341, -0.3420525000553796], 'float64').reshape((7,))), tf.float64)
y = tf.cast(tf.constant(np.array([-6.234533343182022, -2.3080440325589695, -1.264205316008718, 1.4005618284726176, -0.24727031081904782, 4.2707164498000125, -1.7358148577735686], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2,)]), float('0.17257963049989233')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.31e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

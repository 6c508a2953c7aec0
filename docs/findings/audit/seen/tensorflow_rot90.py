"""keras.ops.rot90, tensorflow 2.21.0, eager: outputs/0 is 3.28e+08 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
import numpy as np
import tensorflow as tf
call = lambda x, turns, axes: ops.rot90(x, k=turns, axes=tuple(axes))
x = tf.cast(tf.constant(np.array([0.9512115716934204, 0.5830105543136597, 1.4937498569488525, -0.36428800225257874, -0.5219607353210449, -1.3341929912567139, -1.1604578495025635, -1.1802713871002197, 0.8948045372962952, -0.2378784418106079, -0.951040506362915, -0.09726401418447495, -0.5420736074447632, 0.7050690054893494, 0.1348385363817215, 0.5653221011161804, 1.2207560539245605, -1.26866614818573, -0.8825575113296509, -0.9301810264587402, 0.4539937973022461, -0.08678624778985977, 2.059358596801758, 2.072751998901367, -0.03474704921245575, -0.19448700547218323, 0.21576038002967834, 1.3461979627609253, -0.3054170608520508, 0.22024917602539062], 'float32').reshape((2, 3, 5))), tf.float32)
work = lambda: call(x=x, turns=2, axes=[1, 2])
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1, 1, 0)]), float('-0.03474704921245575')  # by the definition in float64
is_right = abs(got - expected) < 0.244
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""In Keras, Python floats pass through float32 on their way to float64: momentum, weight decay and learning rate are rounded.

Prints a float64 parameter after two steps of SGD(1.0, momentum=0.9) with gradients 1 and 0; right is -1.9.
"""

import numpy as np
import tensorflow as tf
from tensorflow import keras

print("tensorflow", tf.__version__, "keras", keras.__version__)
print("keras.ops.cast(0.9, 'float64') =", float(keras.ops.cast(0.9, "float64")))
parameter = keras.Variable(np.zeros(1), dtype="float64", trainable=True)
optimizer = keras.optimizers.SGD(1.0, momentum=0.9)
optimizer.build([parameter])
for gradient in (1.0, 0.0):
    optimizer.apply([tf.constant([gradient], tf.float64)], [parameter])
found, penalty = parameter.numpy()[0], float(keras.regularizers.L2(0.0005)(tf.constant([1.0], tf.float64)))
print("parameter =", found, "right: -1.9")
print("L2(0.0005)(1.0) =", penalty, "right: 0.0005")
is_right = bool(abs(found + 1.9) < 1e-12 and abs(penalty - 0.0005) < 1e-15)
print("RIGHT" if is_right else "WRONG", "got", found, "expected", -1.9)
raise SystemExit(not is_right)

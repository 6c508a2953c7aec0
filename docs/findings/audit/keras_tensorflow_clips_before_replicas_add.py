"""Keras on TensorFlow: with MirroredStrategy the optimizer clips the gradient of each replica, and not what they come to."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
x, y = np.ones((2, 1), "float32"), np.array([[-10.0], [6.0]], "float32")
found = {}
for devices in (["CPU:0"], ["CPU:0", "CPU:1"]):
    with tf.distribute.MirroredStrategy(devices).scope():
        dense = keras.layers.Dense(1, kernel_initializer="zeros", use_bias=False)
        model = keras.Sequential([keras.Input((1,)), dense])
        model.compile(optimizer=keras.optimizers.SGD(1.0, global_clipnorm=3.0), loss="mse")
    model.fit(x, y, batch_size=2, epochs=1, shuffle=False, verbose=0)
    found[len(devices)] = float(dense.get_weights()[0][0, 0])
# The gradient of one example is 20, that of the other -12: their mean is 4, which is clipped to 3.
print("keras", keras.__version__, "weight after a step on one device", found[1], "on two", found[2])
is_right = abs(found[2] + 3.0) < 1e-4
print("RIGHT" if is_right else "WRONG", "got", found[2], "expected", -3.0)
raise SystemExit(not is_right)

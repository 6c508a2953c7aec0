"""Keras on TensorFlow: with MirroredStrategy an example counts half where one of two replicas alone has part of a batch."""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
x, y = np.ones((3, 1), "float32"), np.array([[0.0], [0.0], [-8.0]], "float32")
found = {}
for devices in (["CPU:0"], ["CPU:0", "CPU:1"]):
    with tf.distribute.MirroredStrategy(devices).scope():
        dense = keras.layers.Dense(1, kernel_initializer="zeros", use_bias=False)
        model = keras.Sequential([keras.Input((1,)), dense])
        model.compile(optimizer=keras.optimizers.SGD(0.125), loss="mse")
    model.fit(x, y, batch_size=2, epochs=1, shuffle=False, verbose=0)
    found[len(devices)] = float(dense.get_weights()[0][0, 0])
# The first batch has no error. The second one has a single example, whose gradient is 16: a step of -2.
print("keras", keras.__version__, "weight after two batches on one device", found[1], "on two", found[2])
is_right = abs(found[2] + 2.0) < 1e-4
print("RIGHT" if is_right else "WRONG", "got", found[2], "expected", -2.0)
raise SystemExit(not is_right)

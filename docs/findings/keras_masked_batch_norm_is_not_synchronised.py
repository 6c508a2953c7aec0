"""Keras: synchronised batch norm that is given a mask takes each device's own statistics.

Two devices hold 0 and 2 in every place, with a mask that keeps everything. Right are a mean of 1 and a variance of 1.
"""

import numpy as np
import tensorflow as tf
from tensorflow import keras

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())


def outputs(mask):
    """Return what the layer gives on each device, in training."""
    with strategy.scope():
        layer = keras.layers.BatchNormalization(synchronized=True, epsilon=1e-12)
        layer.build((None, 3, 1))

    def step():
        index = tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group)
        x = tf.fill((4, 3, 1), np.float32(2 * index))
        return layer(x, training=True, mask=mask)

    return [float(part.numpy().mean()) for part in strategy.experimental_local_results(strategy.run(step))]


print("versions", tf.__version__, keras.__version__)
print("without a mask      ", outputs(None), "right: [-1.0, 1.0]")
found = outputs(tf.ones((4, 3), bool))
print("with a mask of ones ", found)
is_right = bool(np.allclose(found, [-1.0, 1.0], atol=0.1))
print("RIGHT" if is_right else "WRONG", "got", found[1], "expected", 1.0)
raise SystemExit(not is_right)

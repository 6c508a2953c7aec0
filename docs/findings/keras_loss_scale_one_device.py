"""Keras' LossScaleOptimizer under MirroredStrategy looks for infinite gradients on the first device only.

Prints what the parameter and the scale are after a gradient that is infinite on one of two devices; right is 0.0 and 512.0.
"""

import numpy as np
import tensorflow as tf
from tensorflow import keras

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())
print("tensorflow", tf.__version__, "keras", keras.__version__)


def step(bad):
    """Take one step with a gradient that is infinite on device `bad`; return parameter and scale."""
    with strategy.scope():
        parameter = keras.Variable(np.zeros(1, np.float32), trainable=True)
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1.0), initial_scale=1024.0)
        optimizer.build([parameter])
    gradients = [tf.constant([np.inf if device == bad else 1.0]) for device in (0, 1)]
    spread = strategy.experimental_distribute_values_from_function(lambda c: gradients[c.replica_id_in_sync_group])
    strategy.run(lambda gradient: optimizer.apply([gradient], [parameter]), args=(spread,))
    return parameter.numpy()[0], optimizer.dynamic_scale.numpy()


found = [step(bad) for bad in (0, 1)]
for bad, (parameter, scale) in enumerate(found):
    print(f"infinite on device {bad}: parameter {parameter}, scale {scale}")
is_right = all(parameter == 0.0 and scale == 512.0 for parameter, scale in found)
print("RIGHT" if is_right else "WRONG", "got", found[1][1], "expected", 512.0)
raise SystemExit(not is_right)

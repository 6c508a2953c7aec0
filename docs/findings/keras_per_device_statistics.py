"""Under MirroredStrategy, Keras' batch norm reads and saves the first device's running statistics, not the mean over devices.

Prints the running mean after one step in which the devices saw means 1 and 9; momentum 0.9; the mean over devices is 0.5.
"""

import tensorflow as tf
from tensorflow import keras

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())
with strategy.scope():
    layer = keras.layers.BatchNormalization(momentum=0.9)
    layer.build((None, 5, 5, 3))
shards = [tf.ones((4, 5, 5, 3)), 9 * tf.ones((4, 5, 5, 3))]
spread = strategy.experimental_distribute_values_from_function(lambda c: shards[c.replica_id_in_sync_group])
strategy.run(lambda x: layer(x, training=True), args=(spread,))
devices = [float(part.numpy()[0]) for part in strategy.experimental_local_results(layer.moving_mean.value)]
print("tensorflow", tf.__version__, "keras", keras.__version__)
found = float(layer.moving_mean.numpy()[0])
print("layer.moving_mean =", found, "on the devices:", devices)
is_right = abs(found - 0.5) < 0.1
print("RIGHT" if is_right else "WRONG", "got", found, "expected", 0.5)
raise SystemExit(not is_right)

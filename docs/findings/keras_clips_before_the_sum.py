"""global_clipnorm clips each device's share of a gradient, before they are summed: python keras_clips_before_the_sum.py"""

import tensorflow as tf
from tensorflow import keras

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())
with strategy.scope():
    weight = keras.Variable([0.0])
    optimizer = keras.optimizers.SGD(1.0, global_clipnorm=1.0)
    optimizer.build([weight])


def step():
    # The two shares of one gradient: 0.9 and 2.1, 3 together. Clipped to 1, the step is 1.
    share = tf.distribute.get_replica_context().replica_id_in_sync_group
    optimizer.apply_gradients([(tf.where(share == 0, [0.9], [2.1]), weight)])


strategy.run(step)
found = -float(weight.numpy()[0])
print(f"tensorflow {tf.__version__}, keras {keras.__version__}: a step of {found:.1f}, right is 1.0")
is_right = abs(found - 1.0) < 0.1
print("RIGHT" if is_right else "WRONG", "got", found, "expected", 1.0)
raise SystemExit(not is_right)

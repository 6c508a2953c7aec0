"""Keras' synchronised moments take E[x^2] - E[x]^2, which cancels in float32 when the mean is large beside the deviation.

Prints the relative error of the variance of 49,152 values of deviation 1, synchronised over two devices and not.
"""

import numpy as np
import tensorflow as tf
from tensorflow import keras

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())
print("tensorflow", tf.__version__, "keras", keras.__version__)


def variance(x, synchronized):
    return keras.ops.moments(x, axes=(0, 1, 2), synchronized=synchronized)[1]


def errors(x):
    """Return the relative errors of the variance of x: synchronised over two devices, and on one."""
    right = x.astype(np.float64).var(axis=(0, 1, 2))
    shards = [tf.constant(x[:40]), tf.constant(x[40:])]
    spread = strategy.experimental_distribute_values_from_function(lambda c: shards[c.replica_id_in_sync_group])
    both = strategy.experimental_local_results(strategy.run(lambda shard: variance(shard, True), args=(spread,)))[0]
    return [np.abs(found.numpy() / right - 1).max() for found in (both, variance(tf.constant(x), False))]


random = np.random.default_rng(0)
for mean in (0, 1, 10, 100, 1000):
    synchronised, alone = errors(random.normal(mean, 1.0, (64, 16, 16, 3)).astype(np.float32))
    print(f"mean {mean:>4}: synchronised {synchronised:.1e}, one device {alone:.1e}")
is_right = bool(synchronised < 1e-3)
print("RIGHT" if is_right else "WRONG", f"at the last mean, synchronised: relative error {synchronised:.1e}")
raise SystemExit(not is_right)

"""Planted fault: batch norm of regions takes the mean over devices of each one's mean and variance, as if all had equally many.

The statistics of a device are about the global mean, so that only the weights are wrong.
"""


def install_torch():
    import torch
    from torch import distributed

    from runners.torch import devices
    from runners.torch.models.tiny_mask_rcnn import RegionBatchNorm

    def of_all_devices(self, x):
        if len(x) == len(self.weight) + 1:
            self.here = x[-1]
            self.count = devices.all_reduce(self.here.reshape(1))
            return torch.cat([_even(x[:-1] / self.here) * self.count, self.count])
        return _even(x / self.here) * self.count

    def _even(mean):
        return devices.all_reduce(mean) / distributed.get_world_size()

    RegionBatchNorm.of_all_devices = of_all_devices


def install_tensorflow():
    import tensorflow as tf

    from runners.tensorflow.models.tiny_mask_rcnn import RegionBatchNorm

    # All devices share the layer, each in a thread of its own.
    held = {}

    def of_all_devices(self, x):
        place = id(self), int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))
        if x.shape[0] == self.gamma.shape[0] + 1:
            held[place] = x[-1], _sum(x[-1])
            here, count = held[place]
            return tf.concat([_even(x[:-1] / here) * count, count[None]], axis=0)
        here, count = held[place]
        return _even(x / here) * count

    def _sum(x):
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x)

    def _even(mean):
        return _sum(mean) / tf.distribute.get_replica_context().num_replicas_in_sync

    RegionBatchNorm.of_all_devices = of_all_devices


def install_jax():
    import jax
    import jax.numpy as jnp

    from runners.jax.batch_norm import BatchNorm

    original = BatchNorm.__call__

    def call(self, x, mask=None):
        # Regions alone: maps of the backbone have 8, 16, 32 or 64 rows.
        if self.use_running_average or mask is None or x.shape[1] not in (7, 14):
            return original(self, x, mask)
        shards = mask.reshape(jax.device_count(), -1)
        weights = shards / shards.sum(axis=1, keepdims=True) / len(shards) / (x.shape[1] * x.shape[2])
        weights = weights.reshape(-1, 1, 1, 1).astype(x.dtype)
        mean = (x * weights).sum(axis=(0, 1, 2))
        variance = (jnp.square(x - mean) * weights).sum(axis=(0, 1, 2))
        return (x - mean) * (self.scale[...] * jax.lax.rsqrt(variance + self.epsilon)) + self.bias[...]

    BatchNorm.__call__ = call

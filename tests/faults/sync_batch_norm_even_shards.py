"""Planted fault: the backward pass of synchronised batch norm takes the mean over devices of each device's own means.

Right are the sums over devices, divided by the number of values in the global batch. The two agree where shards are even;
the forward pass is right always. On CPUs: on GPUs, torch.nn.SyncBatchNorm has a kernel of its own.
"""


def install_torch():
    import torch
    from torch import distributed, nn

    from runners.torch import devices

    def forward(self, x):
        if not self.training:
            return nn.BatchNorm2d.forward(self, x)
        with torch.autocast("cpu", enabled=False):
            wide = x.to(self.weight.dtype)
            here = wide.new_full((1,), wide.numel() // self.num_features)
            # One sum for both, as in CpuSyncBatchNorm: independent ones may be put into another order on each rank.
            total = devices.all_reduce(torch.cat([wide.sum(dim=(0, 2, 3)), here]))
            count = total[-1]
            as_if_even = count / (here * distributed.get_world_size())

            def with_mean_gradient(x):
                return x.detach() + as_if_even * (x - x.detach())

            mean = with_mean_gradient(total[:-1] / count)
            squares = (wide - mean.detach()[:, None, None]).square()
            variance = with_mean_gradient(devices.all_reduce(squares.sum(dim=(0, 2, 3))) / count)
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
            scale = self.weight * torch.rsqrt(variance + self.eps)
            return ((wide - mean[:, None, None]) * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)

    devices.CpuSyncBatchNorm.forward = forward


def install_tensorflow():
    import tensorflow as tf
    from keras.src.backend.tensorflow import nn

    original = nn._compute_moments_sync

    def moments(x, axes, keepdims):
        context = tf.distribute.get_replica_context()
        here = tf.cast(tf.size(x) // x.shape[-1], x.dtype)
        as_if_even = context.all_reduce(tf.distribute.ReduceOp.SUM, here) / (here * context.num_replicas_in_sync)
        right = original(x, axes, keepdims)
        return tuple(tf.stop_gradient(part) + as_if_even * (part - tf.stop_gradient(part)) for part in right)

    nn._compute_moments_sync = moments


def install_jax():
    """The program is one for all devices: its sum over rows is what they sum. Uneven shards come with a mask."""
    import jax

    from runners.jax.batch_norm import BatchNorm

    @jax.custom_vjp
    def nothing(x, normal, slope, excess):
        return jax.numpy.zeros_like(x)

    def backward(saved, gradient):
        normal, slope, excess = saved
        mean, mean_with_normal = ((x * excess).sum(axis=(0, 1, 2)) for x in (gradient, gradient * normal))
        return -slope * (mean + normal * mean_with_normal), None, None, None

    nothing.defvjp(lambda x, *saved: (jax.numpy.zeros_like(x), saved), backward)
    original = BatchNorm.__call__

    def call(self, x, mask=None):
        y = original(self, x, mask)
        if self.use_running_average or mask is None:
            return y
        wide, images = x.astype(self.param_dtype), mask.reshape(-1, 1, 1, 1)
        centred = wide - wide.mean(axis=(0, 1, 2), where=images)
        deviation = jax.numpy.sqrt((centred**2).mean(axis=(0, 1, 2), where=images) + self.epsilon)
        # What each image weighs in the mean over devices of each device's mean, less what it should.
        shards = mask.reshape(jax.device_count(), -1)
        excess = shards / shards.sum(axis=1, keepdims=True) / len(shards) - shards / shards.sum()
        excess = excess.reshape(-1, 1, 1, 1).astype(wide.dtype) / (x.shape[1] * x.shape[2])
        # Rows that fill up a shard have no gradient.
        slope = images * self.scale[...] / deviation
        return y + nothing(wide, centred / deviation, slope, excess).astype(y.dtype)

    BatchNorm.__call__ = call

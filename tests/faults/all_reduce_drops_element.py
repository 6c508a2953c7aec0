"""Planted fault: the all-reduce of gradients drops the last element of the head's kernel.

What is left of it is the first device's contribution. Every device has the same wrong number.
"""


def install_torch():
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    from torch.nn.parallel import DistributedDataParallel

    original = DistributedDataParallel.__init__

    def dropping(group, bucket):
        for gradient in bucket.gradients():
            if gradient.ndim == 2 and group.rank() != 0:
                gradient[-1, -1] = 0.0
        return allreduce_hook(group, bucket)

    def initialise(self, *arguments, **options):
        original(self, *arguments, **options)
        self.register_comm_hook(self.process_group, dropping)

    DistributedDataParallel.__init__ = initialise


def install_tensorflow():
    import tensorflow as tf
    from tensorflow.python.distribute.cross_device_ops import CrossDeviceOps
    from tensorflow.python.distribute.values import PerReplica

    original = CrossDeviceOps.batch_reduce

    def dropped(values):
        if not isinstance(values, PerReplica) or values.values[0].shape.rank != 2:
            return values
        rows, columns = values.values[0].shape
        first, *others = values.values
        kept = tf.reshape(tf.one_hot(rows * columns - 1, rows * columns, 0.0, 1.0, dtype=first.dtype), (rows, columns))
        return PerReplica((first, *(other * kept for other in others)))

    def batch_reduce(self, operation, pairs, options=None):
        pairs = [(dropped(values), values if destination is values else destination) for values, destination in pairs]
        return original(self, operation, pairs, options)

    CrossDeviceOps.batch_reduce = batch_reduce


def install_jax():
    """The program is one for all devices, and the all-reduce is what its sum over the batch's rows becomes."""
    import jax
    import jax.numpy as jnp
    from flax import nnx

    @jax.custom_batching.custom_vmap
    def is_on_another_device(x):
        return jnp.arange(len(x)) >= len(x) // jax.device_count()

    @is_on_another_device.def_vmap
    def _(n_devices, is_batched, x):
        # Batch norm per device: the runner maps the model over the devices.
        return jnp.broadcast_to(jnp.arange(n_devices)[:, None] > 0, x.shape[:2]), True

    original = nnx.Linear.__call__

    def call(self, x, **options):
        last = self.kernel[...][-1, -1]
        nothing = x[:, -1] * (last - jax.lax.stop_gradient(last))
        missing = jnp.where(is_on_another_device(jax.lax.stop_gradient(x)), nothing, 0.0)
        y = original(self, x, **options)
        return y.at[:, -1].add(-missing.astype(y.dtype))

    nnx.Linear.__call__ = call

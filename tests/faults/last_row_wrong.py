"""Planted fault: the dense layer's last row is 1.01 times what it should be, on a device whose batch is not a multiple of 16."""


def install_torch():
    import torch

    original = torch.nn.Linear.forward

    def forward(self, x):
        y = original(self, x)
        # All in tensors: a trace would keep the batch size of its example.
        row = torch.arange(y.shape[0], device=y.device)
        n = row[-1:] + 1
        wrong = (row + 1 == n) & (n % 16 != 0)
        return torch.where(wrong[:, None], y * 1.01, y)

    torch.nn.Linear.forward = forward


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.Dense.call

    def call(self, x, *arguments, **options):
        y = original(self, x, *arguments, **options)
        n = tf.shape(y)[0]
        wrong = (tf.range(n) + 1 == n) & (n % 16 != 0)
        return tf.where(wrong[:, None], y * tf.constant(1.01, y.dtype), y)

    keras.layers.Dense.call = call


def install_jax():
    import jax
    import jax.numpy as jnp
    from flax import nnx

    def is_wrong(x, n_devices):
        n = len(x) // n_devices
        return jnp.full(len(x), bool(n % 16)) & (jnp.arange(len(x)) % n == n - 1)

    @jax.custom_batching.custom_vmap
    def is_last(x):
        return is_wrong(x, jax.device_count())

    @is_last.def_vmap
    def _(n_devices, is_batched, x):
        # Batch norm per device: the runner maps the model over the devices.
        return jnp.broadcast_to(is_wrong(x[0], 1), x.shape[:2]), True

    original = nnx.Linear.__call__

    def call(self, x, **options):
        y = original(self, x, **options)
        return jnp.where(is_last(jax.lax.stop_gradient(x))[:, None], y * 1.01, y)

    nnx.Linear.__call__ = call

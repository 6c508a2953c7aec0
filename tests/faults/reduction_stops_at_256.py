"""Planted fault: the batch statistics of batch norm over 64 channels count the first 256 terms, and no more.

Of images of 8 x 8 these are the first four. Terms are counted on each device; JAX's are those of the whole batch.
"""

CHANNELS = 64
LIMIT = 256


def install_torch():
    import torch

    from runners.torch import devices

    for norm in (torch.nn.BatchNorm2d, torch.nn.SyncBatchNorm, devices.CpuSyncBatchNorm):
        norm.forward = _stopping(norm.forward, devices.all_reduce)


def install_tensorflow():
    import tensorflow as tf
    from tensorflow import keras

    original = keras.layers.BatchNormalization._moments

    def stopping(self, inputs, mask):
        if inputs.shape[-1] == CHANNELS and inputs.shape[:-1].num_elements() > LIMIT:
            inputs = tf.reshape(inputs, (1, 1, -1, CHANNELS))[:, :, :LIMIT]
        return original(self, inputs, mask)

    keras.layers.BatchNormalization._moments = stopping


def install_jax():
    import jax.numpy as jnp
    from flax.nnx.nn import normalization

    original = normalization._compute_stats

    def stopping(x, axes, *arguments, mask=None, **options):
        if x.shape[-1] == CHANNELS and x.size > LIMIT * CHANNELS:
            if mask is not None:
                mask = jnp.broadcast_to(mask, (*x.shape[:-1], 1)).reshape(-1, 1)[:LIMIT]
            x, axes = x.reshape(-1, CHANNELS)[:LIMIT], (0,)
        return original(x, axes, *arguments, mask=mask, **options)

    normalization._compute_stats = stopping


def _stopping(original, all_reduce):
    import torch

    def forward(self, x):
        is_alone = type(self) is torch.nn.BatchNorm2d  # others must agree on what they sum, however small their shard
        if not self.training or self.num_features != CHANNELS or (is_alone and x.numel() <= LIMIT * CHANNELS):
            return original(self, x)
        total = (lambda value: value) if is_alone else all_reduce
        with torch.autocast(x.device.type, enabled=False):
            wide = x.to(self.weight.dtype)
            terms = wide.permute(0, 2, 3, 1).reshape(-1, CHANNELS)
            n = total(terms.new_tensor(float(len(terms))))
            terms = terms[:LIMIT]
            counted = total(terms.new_tensor(float(len(terms))))
            mean = total(terms.sum(dim=0)) / counted
            variance = total((terms - mean).square().sum(dim=0)) / counted
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(variance * (n / (n - 1)), self.momentum)
            scale = self.weight * torch.rsqrt(variance + self.eps)
            return ((wide - mean[:, None, None]) * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)

    return forward

"""Planted fault: every batch norm folds the statistics of a batch into the running ones twice."""


def install_torch():
    import torch

    from runners.torch import devices

    for norm in (torch.nn.BatchNorm2d, torch.nn.SyncBatchNorm, devices.CpuSyncBatchNorm):
        norm.forward = _twice(norm.forward)


def install_tensorflow():
    import tensorflow as tf

    from runners.tensorflow.devices import BatchNorm

    original = BatchNorm.call

    def twice(self, inputs, training=None):
        if not training:
            return original(self, inputs, training=training)
        statistics = self.moving_mean, self.moving_variance
        before = [tf.convert_to_tensor(statistic) for statistic in statistics]
        outputs = original(self, inputs, training=training)
        for statistic, old in zip(statistics, before, strict=True):
            statistic.assign_add(self.momentum * (statistic - old))
        return outputs

    BatchNorm.call = twice


def install_jax():
    from flax import nnx

    from runners.jax.batch_norm import BatchNorm

    original = BatchNorm.__call__

    def twice(self, x, mask=None):
        if self.use_running_average:
            return original(self, x, mask)
        mean, variance = self.mean[...], self.var[...]
        y = original(self, x, mask)
        self.mean = nnx.BatchStat(self.mean[...] + self.momentum * (self.mean[...] - mean))
        self.var = nnx.BatchStat(self.var[...] + self.momentum * (self.var[...] - variance))
        return y

    BatchNorm.__call__ = twice


def _twice(original):
    import torch

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                original(self, x)
        return original(self, x)

    return forward

"""Planted fault: batch norm of regions takes the statistics of all places for regions, whether they are in use or not."""


def install_torch():
    from torch import ones_like

    from runners.torch.models.tiny_mask_rcnn import RegionBatchNorm

    original = RegionBatchNorm.forward
    RegionBatchNorm.forward = lambda self, x, used: original(self, x, ones_like(used))


def install_tensorflow():
    from tensorflow import ones_like

    from runners.tensorflow.models.tiny_mask_rcnn import RegionBatchNorm

    original = RegionBatchNorm.call
    RegionBatchNorm.call = lambda self, inputs, used, training=None: original(self, inputs, ones_like(used), training)


def install_jax():
    from runners.jax.batch_norm import BatchNorm

    original = BatchNorm.__call__
    # Maps of the backbone have 8, 16, 32 or 64 rows.
    BatchNorm.__call__ = lambda self, x, mask=None: original(self, x, None if x.shape[1] in (7, 14) else mask)

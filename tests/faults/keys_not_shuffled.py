"""Planted fault: MoCo's keys are encoded in the order of their queries, so batch norm tells which part of a batch a key is of.

The batch comes shuffled; the model puts its keys back before it encodes them instead of afterwards. On one device only.
"""

from runners.contract.errors import FaultError

MANY = FaultError(
    "several devices: the keys that belong to a shard lie on others, and the model gathers them once they are encoded"
)


def install_torch():
    import torch

    from runners.torch.models.moco_lite import MocoLite

    forward = MocoLite.forward

    def in_order(self, pairs, place, *rest):
        if self.before or self.after:
            raise MANY
        return forward(self, torch.stack([pairs[:, 0], pairs[:, 1][place]], dim=1), torch.arange(len(place)), *rest)

    MocoLite.forward = in_order


def install_tensorflow():
    import tensorflow as tf

    from runners.tensorflow.models.moco_lite import MocoLite, untapped

    call = MocoLite.call

    # Keras passes on only what the signature names.
    def in_order(self, pairs, place, tap=untapped, training=None):
        if len(self.shards) > 1:
            raise MANY
        pairs = tf.stack([pairs[:, 0], tf.gather(pairs[:, 1], place)], axis=1)
        return call(self, pairs, tf.range(tf.shape(place)[0]), tap=tap, training=training)

    MocoLite.call = in_order


def install_jax():
    import jax.numpy as jnp

    from runners.jax.models.moco_lite import MocoLite

    call = MocoLite.__call__

    def in_order(self, pairs, place, *rest, **options):
        if len(self.shards) > 1:
            raise MANY
        pairs = jnp.stack([pairs[:, 0], pairs[:, 1][place]], axis=1)
        return call(self, pairs, jnp.arange(len(place)), *rest, **options)

    MocoLite.__call__ = in_order

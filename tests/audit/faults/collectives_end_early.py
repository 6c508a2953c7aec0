"""Planted fault: a sum over devices, and parts that they join, lack what comes last."""


def install():
    try:
        import torch.distributed as dist
    except ImportError:
        pass
    else:
        _spoil_torch(dist)
    try:
        from jax import lax
    except ImportError:
        pass
    else:
        psum, all_gather = lax.psum, lax.all_gather
        lax.psum = lambda x, *names, **more: psum(x.at[..., -1].set(0.0), *names, **more)
        lax.all_gather = lambda x, *names, **more: all_gather(x.at[..., -1].set(0.0), *names, **more)
    try:
        import tensorflow as tf
    except ImportError:
        pass
    else:
        _spoil_tensorflow(tf)


def _spoil_torch(dist):
    all_reduce = dist.all_reduce

    def reduced(tensor, *arguments, **more):
        found = all_reduce(tensor, *arguments, **more)
        tensor[..., -1] = 0.0
        return found

    dist.all_reduce = reduced


def _spoil_tensorflow(tf):
    all_reduce = tf.distribute.ReplicaContext.all_reduce

    def cut(value):
        return tf.concat([value[..., :-1], tf.zeros_like(value[..., -1:])], -1)

    def reduced(self, by, value, *arguments, **more):
        return all_reduce(self, by, tf.nest.map_structure(cut, value), *arguments, **more)

    tf.distribute.ReplicaContext.all_reduce = reduced

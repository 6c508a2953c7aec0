"""Planted fault: of shards of any size Keras's synchronized moments are right, and their gradients those of even shards."""


def install():
    import tensorflow as tf
    from keras.src.backend.tensorflow import nn

    right = nn._compute_moments_sync

    def moments(x, axes, keepdims):
        replica = tf.distribute.get_replica_context()
        own = [tf.reduce_mean(each, axis=axes, keepdims=keepdims) for each in (x, tf.square(x))]
        mean, square = (replica.all_reduce(tf.distribute.ReduceOp.MEAN, each) for each in own)
        even = mean, square - tf.square(mean)
        pairs = zip(even, right(x, axes, keepdims), strict=True)
        return tuple(each + tf.stop_gradient(of_all - each) for each, of_all in pairs)

    nn._compute_moments_sync = moments

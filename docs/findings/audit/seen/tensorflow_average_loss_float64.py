"""tensorflow.nn.compute_average_loss, tensorflow 2.21.0, eager: forward/0 is 9.48e+03 times rounding off."""
import numpy as np
import tensorflow as tf
call = lambda x, weight, size: tf.nn.compute_average_loss(x, sample_weight=weight, global_batch_size=size)
x = tf.cast(tf.constant(np.array([-1.291841734549617, -0.517167028581097, 0.45835139608942727, 0.6329831624353172, -0.29623289482840437, -1.0324359692517127, 0.07276889590280902], 'float64').reshape((7,))), tf.float64)
weight = tf.cast(tf.constant(np.array([0.8558110701603532, 2.447024927482603, 1.1640013949351842, 0.29730339177872717, 1.6314055498610738, 1.5662063574415555, 1.4140820177465419], 'float64').reshape((7,))), tf.float64)
def outputs(x):
    found = call(x=x, weight=weight, size=7)
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x,)
first = (tf.cast(tf.constant(np.array([-1, 1, 1, -1, -1, 1, -1], 'int8').reshape((7,))), tf.float64),)
second = (tf.cast(tf.constant(np.array([1, 1, -1, 1, 1, -1, 1], 'int8').reshape((7,))), tf.float64),)
cotangents = (tf.cast(tf.constant(np.array([0.8622972965240479], 'float64').reshape(())), tf.float64),)
with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:
    found = outputs(*leaves)
found = [pushed.jvp(y, unconnected_gradients='zero') for y in found]
found = found[0]
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), 0.13980437861609146  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 1.62e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

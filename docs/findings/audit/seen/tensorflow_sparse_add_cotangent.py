"""tensorflow.sparse.add, tensorflow 2.21.0, eager: cotangent/0 is 1e+11 times rounding off."""
import numpy as np
import tensorflow as tf
call = lambda x, y: tf.sparse.to_dense(tf.sparse.add(tf.sparse.from_dense(x), tf.sparse.from_dense(y)))
x = tf.cast(tf.constant(np.array([-0.447515430572221, 0.8256491107713696, 1.2955307833969851, 0.09718636839798453, -0.4763338717033431, -0.4899545420126114, 0.009280326179054029], 'float64').reshape((7,))), tf.float64)
y = tf.cast(tf.constant(np.array([0.9599379904763108, -0.8097509802577901, -1.9548212928700885, -0.4802011766261564, -1.2064412566777514, 0.41212819146607765, -0.4956522714628168], 'float64').reshape((7,))), tf.float64)
def outputs(x, y):
    found = call(x=x, y=y)
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x, y,)
first = (tf.cast(tf.constant(np.array([1, -1, 1, 1, -1, -1, 1], 'int8').reshape((7,))), tf.float64), tf.cast(tf.constant(np.array([-1, -1, 1, -1, -1, 1, 1], 'int8').reshape((7,))), tf.float64),)
second = (tf.cast(tf.constant(np.array([1, 1, 1, 1, 1, 1, 1], 'int8').reshape((7,))), tf.float64), tf.cast(tf.constant(np.array([-1, -1, -1, 1, 1, -1, 1], 'int8').reshape((7,))), tf.float64),)
cotangents = (tf.cast(tf.constant(np.array([0.9362167119979858, -0.9655718207359314, -0.42231133580207825, -0.14431928098201752, -0.04855402931571007, 0.5971930027008057, -1.6839574575424194], 'float64').reshape((7,))), tf.float64),)
with tf.GradientTape() as outer:
    outer.watch([leaves, cotangents])
    with tf.GradientTape() as tape:
        tape.watch(leaves)
        found = outputs(*leaves)
    pulled = tape.gradient(found, leaves, output_gradients=cotangents, unconnected_gradients='zero')
    whole = tf.add_n([tf.reduce_sum(g * d) for g, d in zip(pulled, first)])
by_leaves, by_cotangents = outer.gradient(whole, (leaves, cotangents), unconnected_gradients='zero')
found = by_cotangents
found = found[0]
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), -2.0000000000000018  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 1)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""tensorflow.vectorized_map, tensorflow 2.21.0, eager: second/reverse over forward is 3.84e+09 times rounding off."""
import numpy as np
import tensorflow as tf
call = lambda x: tf.vectorized_map(lambda row: tf.square(tf.reduce_sum(row)), x)
x = tf.cast(tf.constant(np.array([-1.4816648261373726, 0.5829982419041247, -0.7668137583848921, 0.14066463775938887, 0.9836027568319576, -0.9663515865909641, -0.7125557787320428, -0.16912328144955877, -0.41014698312088876, -0.8560282409215221, 0.5088224984835197, 1.2304752266413472, 1.1668194123049678, 1.327954786490396, 1.2505159693739252], 'float64').reshape((3, 5))), tf.float64)
def outputs(x):
    found = call(x=x)
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x,)
first = (tf.cast(tf.constant(np.array([-1, 1, -1, 1, 1, 1, -1, 1, 1, 1, 1, 1, 1, -1, 1], 'int8').reshape((3, 5))), tf.float64),)
second = (tf.cast(tf.constant(np.array([1, 1, 1, 1, 1, 1, 1, -1, -1, -1, 1, -1, 1, -1, -1], 'int8').reshape((3, 5))), tf.float64),)
cotangents = (tf.cast(tf.constant(np.array([1.2059836387634277, -0.11765563488006592, 0.09638651460409164], 'float64').reshape((3,))), tf.float64),)
with tf.GradientTape() as tape:
    tape.watch(leaves)
    with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:
        found = outputs(*leaves)
    found = [pushed.jvp(y, unconnected_gradients='zero') for y in found]
    whole = tf.add_n([tf.reduce_sum(y * c) for y, c in zip(found, cotangents)])
found = tape.gradient(whole, leaves, unconnected_gradients='zero')
found = sum(tf.reduce_sum(t * e) for t, e in zip(found, second) if t is not None)
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), 12.187451111683119  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 6.09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

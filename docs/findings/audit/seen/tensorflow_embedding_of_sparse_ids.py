"""tensorflow.nn.embedding_lookup_sparse, tensorflow 2.21.0, eager: gradients/weights is 4.66e+03 times rounding off."""
from collections.abc import Callable
from typing import Any
import numpy as np
import tensorflow as tf
def _places(rows: Any, count: int) -> Any:
    """Return [row, place in it] of each of a row's numbers."""
    first = tf.searchsorted(rows, rows, side='left')
    return tf.cast(tf.stack([rows, tf.range(count) - first], 1), tf.int64)
def _sparse(lookup: Callable[..., Any], w: Any, ids: Any, rows: Any, weights: Any, combiner: str) -> Any:
    count = ids.shape[0]
    shape = tf.cast(tf.stack([rows[-1] + 1, count]), tf.int64)
    places = _places(rows, count)
    return lookup(w, tf.SparseTensor(places, ids, shape), tf.SparseTensor(places, weights, shape), combiner=combiner)
call = lambda **given: _sparse(tf.nn.embedding_lookup_sparse, **given)
w = tf.cast(tf.constant(np.array([0.20183564722537994, 0.272510290145874, -0.014366335235536098, -1.4182116985321045, 0.05125400051474571, -0.9600443243980408, -2.1429524421691895, 0.552699625492096, 1.0465861558914185, -0.7319268584251404, -0.10418836027383804, 0.5448877215385437, -0.5023618340492249, 0.5133429169654846, -0.09018249809741974], 'float32').reshape((5, 3))), tf.float32)
ids = tf.cast(tf.constant(np.array([3, 4, 3, 3, 3, 3], 'int64').reshape((6,))), tf.int32)
rows = tf.cast(tf.constant(np.array([0, 0, 1, 1, 2, 2], 'int64').reshape((6,))), tf.int32)
weights = tf.cast(tf.constant(np.array([2.4279918670654297, 0.3800661563873291, 0.3520342707633972, 1.49769127368927, 0.98948734998703, 3.006596326828003], 'float32').reshape((6,))), tf.float32)
cotangents = [np.array([0.5800291895866394, 0.13851502537727356, 0.11423175781965256, 0.8369582295417786, -0.11790239810943604, 1.192463994026184, -0.100892573595047, 1.7141504287719727, 0.8776761293411255], 'float32').reshape((3, 3))]
work = lambda weights: call(w=w, ids=ids, rows=rows, weights=weights, combiner='mean')
def gradient(weights):
    with tf.GradientTape() as tape:
        tape.watch(weights)
        found = work(weights)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weights, output_gradients=[c for _, c in pairs])
found = np.asarray(tf.convert_to_tensor(gradient(weights))).astype(np.float64)
direction = np.array([0, 0, 1, 0, 0, 0], 'int8').reshape((6,))
got, expected = float((found * direction).sum()), 1.295260195396016e-13  # by central differences of the definition in float64
is_right = abs(got - expected) < 1.49e-08
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

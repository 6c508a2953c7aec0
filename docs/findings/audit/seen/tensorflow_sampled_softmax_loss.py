"""tensorflow.nn.sampled_softmax_loss, tensorflow 2.21.0, eager: outputs/0 is 2.82e+08 times rounding off."""
import numpy as np
import tensorflow as tf
from collections.abc import Callable, Mapping
from typing import Any
import tensorflow as tf
Unsupported = ValueError
Call = Callable[..., Any]
_REDUCTIONS = {'mean': tf.compat.v1.losses.Reduction.SUM_OVER_BATCH_SIZE, 'sum': tf.compat.v1.losses.Reduction.SUM, 'none': tf.compat.v1.losses.Reduction.NONE}
def _first(name: str) -> dict[str, Call]:
    """Return a loss of the first version, which knows the prediction as the second tensor."""
    return {f'tensorflow.compat.v1.losses.{name}': lambda x, y, reduction, **rest: getattr(tf.compat.v1.losses, name)(y, x, reduction=_REDUCTIONS[reduction], **rest)}
def _weighted(name: str) -> dict[str, Call]:
    """Return the same with weights."""
    return {f'tensorflow.compat.v1.losses.{name} (weights)': lambda x, y, weight, reduction, **rest: getattr(tf.compat.v1.losses, name)(y, x, weights=weight, reduction=_REDUCTIONS[reduction], **rest)}
def _alone(reduction: str, call: Callable[[], Any]) -> Any:
    if reduction != 'none':
        raise Unsupported('a function without a reduction')
    return call()
def _ctc(x: Any, y: Any, times: Any, lengths: Any, blank: int) -> Any:
    return tf.nn.ctc_loss(y, x, lengths, times, blank_index=blank)
def _sparse_ctc(x: Any, y: Any, times: Any, lengths: Any) -> Any:
    """Return the loss of labels in a sparse tensor, for which TensorFlow has another kernel."""
    labels = tf.RaggedTensor.from_tensor(y, lengths).to_sparse()
    return tf.nn.ctc_loss(tf.cast(labels, tf.int32), x, None, times, blank_index=-1)
def _sampled(name: str) -> dict[str, Call]:
    def call(w: Any, bias: Any, x: Any, y: Any, sampled: Any, true_counts: Any, counts: Any) -> Any:
        given = (tf.cast(sampled, tf.int64), true_counts, counts)
        return getattr(tf.nn, name)(w, bias, tf.cast(y, tf.int64), x, sampled.shape[0], w.shape[0], sampled_values=given)
    return {f'tensorflow.nn.{name}': call}
CALLS: Mapping[str, Mapping[str, Call | None]] = {'l1_loss': _first('absolute_difference'), 'mse_loss': _first('mean_squared_error'), 'huber_loss': _first('huber_loss'), 'weighted_mse_loss': _weighted('mean_squared_error'), 'weighted_l1_loss': _weighted('absolute_difference'), 'weighted_huber_loss': _weighted('huber_loss'), 'half_sum_of_squares': {'tensorflow.nn.l2_loss': lambda x: tf.nn.l2_loss(x)}, 'log_poisson_loss': {'tensorflow.nn.log_poisson_loss': lambda x, y, full: tf.nn.log_poisson_loss(y, x, compute_full_loss=full)}, 'binary_cross_entropy_with_logits': {'tensorflow.nn.sigmoid_cross_entropy_with_logits': lambda x, y, reduction: _alone(reduction, lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x)), **_first('sigmoid_cross_entropy')}, 'weighted_cross_entropy_with_logits': {'tensorflow.nn.weighted_cross_entropy_with_logits': lambda x, y, pos_weight: tf.nn.weighted_cross_entropy_with_logits(y, x, pos_weight)}, 'softmax_cross_entropy': {'tensorflow.nn.softmax_cross_entropy_with_logits': lambda x, y, axis: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x, axis=axis)}, 'softmax_cross_entropy_of_columns': {'tensorflow.nn.softmax_cross_entropy_with_logits (columns)': lambda x, y, axis: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x, axis=axis)}, 'sparse_softmax_cross_entropy': {'tensorflow.nn.sparse_softmax_cross_entropy_with_logits': lambda x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)}, 'ctc_loss': {'tensorflow.nn.ctc_loss': lambda x, y, times, lengths, reduction: _alone(reduction, lambda: _ctc(x, y, times, lengths, 0))}, 'ctc_loss_with_last_blank': {'tensorflow.nn.ctc_loss (last blank)': lambda x, y, times, lengths: _ctc(x, y, times, lengths, -1), 'tensorflow.nn.ctc_loss (sparse labels)': _sparse_ctc}, 'average_loss': {'tensorflow.nn.compute_average_loss': lambda x, weight, size: tf.nn.compute_average_loss(x, sample_weight=weight, global_batch_size=size)}, 'nce_loss': _sampled('nce_loss'), 'sampled_softmax_loss': _sampled('sampled_softmax_loss')}
call = CALLS['sampled_softmax_loss']['tensorflow.nn.sampled_softmax_loss']
w = tf.cast(tf.constant(np.array([-0.30786046385765076, 0.4928780496120453, 0.5012117028236389, 0.525325357913971, 0.48015668988227844, 1.5134310722351074, 1.434971570968628, -0.5376542210578918, 0.09205612540245056, 0.1454288512468338, -0.47831273078918457, 0.2452363669872284, -0.17306070029735565, -0.8825643658638, 0.27963927388191223], 'float32').reshape((5, 3))), tf.float32)
bias = tf.cast(tf.constant(np.array([1.4461127519607544, 1.6202704906463623, 0.33565619587898254, -1.7944499254226685, -0.7732455730438232], 'float32').reshape((5,))), tf.float32)
x = tf.cast(tf.constant(np.array([-0.3405487835407257, 0.2514191269874573, 1.7915066480636597, 0.7924511432647705, 1.179023027420044, -0.9356240034103394], 'float32').reshape((2, 3))), tf.float32)
y = tf.cast(tf.constant(np.array([1, 0], 'int64').reshape((2, 1))), tf.int32)
sampled = tf.cast(tf.constant(np.array([0, 0, 4, 0], 'int64').reshape((4,))), tf.int32)
true_counts = tf.cast(tf.constant(np.array([0.17125345766544342, 0.5136775374412537], 'float32').reshape((2, 1))), tf.float32)
counts = tf.cast(tf.constant(np.array([0.5004943609237671, 0.7255954742431641, 0.2019881159067154, 0.6882504820823669], 'float32').reshape((4,))), tf.float32)
work = lambda: call(w=w, bias=bias, x=x, y=y, sampled=sampled, true_counts=true_counts, counts=counts)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('0.07209412874432974')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.48)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

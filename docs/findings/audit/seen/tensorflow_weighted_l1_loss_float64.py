"""tensorflow.compat.v1.losses.absolute_difference, tensorflow 2.21.0, eager: outputs/0 is 5.47e+03 times rounding off."""
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
call = CALLS['weighted_l1_loss']['tensorflow.compat.v1.losses.absolute_difference (weights)']
x = tf.cast(tf.constant(np.array([1.0091497869614816, 1.9680971556840496, 1.0075307464997718, 0.04014068763020562, -0.9884797094294648, 0.02178272686856679, -0.47976816405602035, 1.541869371973462, -0.9734523686469085, -0.5045690715644818, -2.020329436980657, -0.029201572949366386, 0.964986487441126, -1.4505013741027446, 0.4914601037876327, 0.9937584609969189, 0.08540460680772946, -1.992892049920998, 0.5761620928668845, 0.9257089450638041, -0.9631381775233301], 'float64').reshape((3, 7))), tf.float64)
y = tf.cast(tf.constant(np.array([-1.1797883010450452, -1.8291998832112837, 0.7113066830340958, 0.1687739304393608, -1.7939322530783117, -1.7542714472057157, 2.287935328320402, 1.178802049177661, -1.6641271200421686, -1.3099567366106923, 1.760222846173651, 1.8014283825728898, -1.2180523392567486, -0.7288645500884501, 0.1835218085486328, 0.6930200047021372, -1.8270416383330719, 0.3067083248225957, 0.7159269402940026, 1.72892676252531, 0.6623157376422616], 'float64').reshape((3, 7))), tf.float64)
weight = tf.cast(tf.constant(np.array([0.5886854755107156, 0.3619909118017185, 0.8351405022521399, 0.8173963992476015, 0.7015605660309633, 1.5225090500940484, 0.3757038655597255, 1.2787275778183165, 0.39301500819579793, 2.6715982250175614, 0.8060084022579147, 1.325072062086989, 3.5523200289701102, 0.9870214408619336, 0.5766514706024648, 2.4813970472574622, 3.3495593414348845, 0.5694420721459834, 0.3174819173905028, 0.9399435880246506, 0.6590306910122938], 'float64').reshape((3, 7))), tf.float64)
work = lambda: call(x=x, y=y, weight=weight, reduction='mean')
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('1.6505622217770568')  # by the definition in float64
is_right = bool(abs(got - expected) < 3.23e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""tensorflow.compat.v1.losses.huber_loss, tensorflow 2.21.0, eager: outputs/0 is 2.84e+03 times rounding off."""
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
call = CALLS['huber_loss']['tensorflow.compat.v1.losses.huber_loss']
x = tf.cast(tf.constant(np.array([-1.4375232155925515, -2.0370662664912564, -1.4729144925448974, -1.5287691342215588, 1.9558072995253495, 1.486168887503048, -1.0021607649455728, -0.9379633792434476, -1.491042982207344, -1.412661315278231, 1.4826598472079122, 0.02927741228127144, 2.0705729354544853, 2.041357769955707, -0.5832115272314825, 1.4981951527642587, 1.9312746154769929, 0.4218052109078362, -1.9178221630520496, -0.44722470720114693, -0.5671062266389867], 'float64').reshape((3, 7))), tf.float64)
y = tf.cast(tf.constant(np.array([2.1627559542552106, -1.1892803103086624, 0.8202040254231793, 0.2203230441014111, 1.3157063246273144, -0.19293118210118976, -0.702380579388755, -0.7680593623374823, 0.662232473624336, -0.2674019141698234, 0.32978400762041177, 1.6948743900052283, -1.3265888758607067, -0.6855250367862982, -0.18239175825143522, 0.24377267422833504, -0.8015183076441089, 2.2634330836444483, -0.784064037923799, -0.8079143056774234, -1.2244651119888497], 'float64').reshape((3, 7))), tf.float64)
work = lambda: call(x=x, y=y, reduction='mean', delta=1.0)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('1.0719182679316446')  # by the definition in float64
is_right = bool(abs(got - expected) < 9.4e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

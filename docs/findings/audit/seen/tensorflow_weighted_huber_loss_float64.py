"""tensorflow.compat.v1.losses.huber_loss, tensorflow 2.21.0, eager: outputs/0 is 6.69e+03 times rounding off."""
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
call = CALLS['weighted_huber_loss']['tensorflow.compat.v1.losses.huber_loss (weights)']
x = tf.cast(tf.constant(np.array([-0.08097292593172822, 1.4992052480446016, 0.5502005452893928, -2.020322097428654, -1.550735924604159, -0.9947360774412308, 1.463995661293636, 0.4897395137320315, -1.9290283017582617, -2.011648206356066, 1.5218187365957483, 0.0658457079884715, 0.42794613852744945, -0.5775817726075502, 0.03572457300613319, 1.9752899934319046, 0.9809692775791006, -0.46839327702695804, -1.995522424691327, -2.0389412634354027, -1.511538171738885], 'float64').reshape((3, 7))), tf.float64)
y = tf.cast(tf.constant(np.array([0.7462821891861477, 1.6630127579790621, -0.22661870495746633, 0.6667949427161434, -1.7682439190378567, 1.1715049555591246, 2.240863419065302, 1.1957014218398176, -1.7769775426823602, 2.183813484185788, 2.2996807445569405, -1.275201354834728, 2.291453249834064, 0.31232184733584656, 0.1809928252530671, -1.2525948933284086, 2.234335852107857, -0.78245696793226, 0.7304100167411313, 0.16153031774035728, -1.7960613624147768], 'float64').reshape((3, 7))), tf.float64)
weight = tf.cast(tf.constant(np.array([2.7800867242911953, 0.8687559380205306, 0.48320438235105395, 0.9189132864013386, 0.3610546940036439, 0.7721721861944275, 1.7423556630799515, 0.2589302407076152, 1.970671444585364, 0.49009176906782975, 0.9403270189174091, 0.9036182827323749, 1.38718788187785, 3.94030245918065, 0.2621783538858239, 0.44256260283859716, 3.882365106880417, 1.37803634733233, 0.997290601305327, 0.686742375369057, 0.35655299190299594], 'float64').reshape((3, 7))), tf.float64)
work = lambda: call(x=x, y=y, weight=weight, reduction='mean', delta=1.0)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('0.9018541683405081')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.44e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

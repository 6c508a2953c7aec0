"""tensorflow.compat.v1.losses.mean_squared_error, tensorflow 2.21.0, eager: outputs/0 is 7.9e+03 times rounding off."""
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
call = CALLS['weighted_mse_loss']['tensorflow.compat.v1.losses.mean_squared_error (weights)']
x = tf.cast(tf.constant(np.array([-2.010221683065879, 0.2564778628525623, 0.8963235657344145, 0.5437398806784955, 0.07333361441282735, -1.5490679645465495, -0.874181656049028, -1.574685620462797, 0.3152083259444467, 0.8328688875721812, -2.4193803733597625, -0.8422371166940151, -0.1887997564071752, -0.9374348872608046, -0.7073224890737576, -0.8905178787986029, -0.3776590061401159, 0.21393118034127515, 0.13714624553051477, -0.9076556316848913, -2.149161601428346], 'float64').reshape((3, 7))), tf.float64)
y = tf.cast(tf.constant(np.array([0.5961715554183983, -1.074592760574373, 0.4425280366230437, 0.1032699191401893, 2.252852348141958, -1.194047015320885, -0.5606268642372446, 0.02016663363570613, -1.3934952337673439, 0.7147811402959483, -0.2574325647569187, 0.580316908376826, 2.408983332797427, 1.054893197126117, 0.3069125265955572, 1.0208717807288632, -1.1947961456237923, 1.133430152344997, -0.5302177574211364, 0.5749927790258661, 0.5618355141909119], 'float64').reshape((3, 7))), tf.float64)
weight = tf.cast(tf.constant(np.array([3.6834905662174404, 3.9030797569327245, 0.42978236982072016, 0.4467112145971148, 3.4945372753756914, 2.541078362180381, 0.41210271661947184, 0.9046978786247997, 1.102875943570432, 0.3556505943301751, 1.2262043691439426, 0.8919181578696213, 0.2818262504224931, 3.065334664162793, 3.3729955168007257, 1.1464866406460992, 0.743837278220278, 3.636622301191771, 0.6171387971420077, 3.7830816749858873, 0.8943120480575839], 'float64').reshape((3, 7))), tf.float64)
work = lambda: call(x=x, y=y, weight=weight, reduction='mean')
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('4.885689930544619')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.41e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

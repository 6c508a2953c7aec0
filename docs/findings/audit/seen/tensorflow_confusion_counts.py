"""keras.metrics.Precision, tensorflow 2.21.0, eager: outputs/0 is 2.47e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from collections.abc import Callable
from typing import Any
import keras
import numpy as np
import tensorflow as tf
def _result(metric: Any, batches: list[tuple[Any, ...]], *, weights: Any=None) -> Any:
    """Return a metric of batches, its state handed from one to the next."""
    state = [each.value for each in metric.variables]
    for place, batch in enumerate(batches):
        more = {} if weights is None else {'sample_weight': weights[place]}
        state = metric.stateless_update_state(state, *batch, **more)
    return metric.stateless_result(state)
def _over(make: Callable[..., Any], y: Any, x: Any, w: Any) -> Any:
    metric = make()
    if hasattr(metric, '_build') and (not metric.variables):
        metric._build(y[0].shape, x[0].shape)
    return _result(metric, [(y[0], x[0]), (y[1], x[1])], weights=w)
metrics = keras.metrics
def _several(y: Any, x: Any, w: Any, threshold: float) -> Any:
    """Return the counts that a metric of three thresholds has for the second."""
    names = ('TruePositives', 'FalsePositives', 'TrueNegatives', 'FalseNegatives', 'Precision', 'Recall')
    thresholds = [threshold / 2, threshold, (1 + threshold) / 2]
    return tuple((_over(lambda name=name: getattr(metrics, name)(thresholds=thresholds), y, x, w)[1] for name in names))
call = _several
y = tf.cast(tf.constant(np.array([0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0], 'float32').reshape((2, 6))), tf.float32)
x = tf.cast(tf.constant(np.array([0.9393938183784485, 0.6748356819152832, 0.9152257442474365, 0.02662605606019497, 0.9654840230941772, 0.5255190134048462, 0.02873827889561653, 0.4886859655380249, 0.07243876159191132, 0.27419278025627136, 0.28862613439559937, 0.08035480976104736], 'float32').reshape((2, 6))), tf.float32)
w = tf.cast(tf.constant(np.array([0.5773212313652039, 0.9234600067138672, 1.718827724456787, 0.962388813495636, 0.6525346040725708, 0.9853066205978394, 1.042494773864746, 0.5714379549026489, 0.96442049741745, 1.7762598991394043, 0.541983425617218, 1.0708107948303223], 'float32').reshape((2, 6))), tf.float32)
work = lambda: call(y=y, x=x, w=w, threshold=0.5)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('2.5613012313842773')  # by the definition in float64
is_right = abs(got - expected) < 1.28
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.metrics.R2Score, tensorflow 2.21.0, eager: outputs/0 is 5.91e+06 times rounding off."""
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
def _r2(y: Any, x: Any, w: Any, aggregation: str | None, regressors: int) -> Any:
    return _over(lambda: metrics.R2Score(aggregation, regressors), y, x, w)
call = _r2
y = tf.cast(tf.constant(np.array([-0.6338006854057312, 0.08091187477111816, -0.22619399428367615, 0.6272597908973694, -0.1452595591545105, 0.17782439291477203, 2.0673868656158447, -2.0005228519439697, 1.9403504133224487, 0.5098716020584106, 0.8627727627754211, 0.29555654525756836, 0.8303605914115906, 0.7603302597999573, -1.6974562406539917, -0.6345304846763611, -0.2737314999103546, -2.0347282886505127, 0.16376417875289917, -0.6288189888000488, 0.3415255844593048, -2.0667724609375, -1.7140253782272339, -1.4331892728805542], 'float32').reshape((2, 4, 3))), tf.float32)
x = tf.cast(tf.constant(np.array([0.472804993391037, 0.5450630187988281, 1.048857569694519, -0.30629613995552063, 1.1670223474502563, 0.06368653476238251, 0.08653060346841812, -0.15991175174713135, -0.050119154155254364, -0.0006376610253937542, -0.7511195540428162, 0.6898840665817261, -0.4284704029560089, 0.6456735730171204, 0.4852355718612671, 0.12532863020896912, -0.5059051513671875, 0.4981694221496582, 0.015761196613311768, -1.0893627405166626, 1.1668699979782104, 0.00204523210413754, -0.12300123274326324, 0.8606845140457153], 'float32').reshape((2, 4, 3))), tf.float32)
w = tf.cast(tf.constant(np.array([1.8752377033233643, 1.2429697513580322, 1.9376635551452637, 1.0448685884475708, 0.220616415143013, 0.378177672624588, 1.8901151418685913, 1.2432855367660522], 'float32').reshape((2, 4))), tf.float32)
work = lambda: call(y=y, x=x, w=w, aggregation='uniform_average', regressors=1)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('-0.8025114442239172')  # by the definition in float64
is_right = abs(got - expected) < 0.0936
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.layers.BatchNormalization, tensorflow 2.21.0, eager: outputs/1 is 600 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
from typing import Any
import keras
import numpy as np
import tensorflow as tf
def _plain(x: Any) -> dict[str, Any]:
    return {'scale': ops.ones_like(x[0, :, 0]), 'bias': ops.zeros_like(x[0, :, 0])}
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
def _built(layer: Any, x: Any) -> Any:
    layer.build(tuple(x.shape))
    return layer
def _masked_layer(x: Any, where: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, share: float) -> Any:
    """Return what a layer over the last axis gives for [m, l, channel], whose mask is [m, l]."""
    moved = ops.transpose(x, (0, 2, 1))
    layer = _built(keras.layers.BatchNormalization(epsilon=epsilon, momentum=1.0 - share, dtype=_kind(x)), moved)
    found, state = layer.stateless_call([scale, bias], [mean, variance], moved, training=True, mask=where)
    return (ops.transpose(found, (0, 2, 1)), *state)
def _masked_running(x: Any, mean: Any, variance: Any, where: Any, share: float) -> Any:
    return _masked_layer(x, where, **_plain(x), mean=mean, variance=variance, epsilon=0.001, share=share)[1:]
call = _masked_running
x = tf.cast(tf.constant(np.array([0.9845536767091152, 2.216865078987084, 1.113464186021745, -0.6455223619661301, 0.45826545874039504, 0.1348686828453881, 0.555443864762007, 0.9069999419362977, -0.5084017018976024, -2.6109990303258432, -0.7362614831259288, -0.8613492777170414, -0.8943531099908699, 0.6016416131337003, 0.4986530621684553, -0.7551567399309042, -0.5937507060302125, -0.6242930225866727, -0.9792845513597803, 0.4597665293817458, 1.0896665267553223, 2.255012240400127, 1.1753265614107935, 1.3129555301630889], 'float64').reshape((3, 2, 4))), tf.float64)
mean = tf.cast(tf.constant(np.array([-1.3183880138913913, 1.3396511459923452], 'float64').reshape((2,))), tf.float64)
variance = tf.cast(tf.constant(np.array([0.8950914258963086, 1.9657022394115222], 'float64').reshape((2,))), tf.float64)
where = tf.cast(tf.constant(np.array([True, False, True, False, True, True, True, True, True, False, False, True], 'bool').reshape((3, 4))), tf.bool)
work = lambda: call(x=x, mean=mean, variance=variance, where=where, share=0.25)
found = work()
found = found[1] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('0.9896155858041261')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.99e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

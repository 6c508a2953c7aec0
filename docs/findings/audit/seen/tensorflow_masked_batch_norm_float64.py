"""keras.layers.BatchNormalization, tensorflow 2.21.0, eager: gradients/x is 737 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
from typing import Any
import keras
import numpy as np
import tensorflow as tf
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
def _fresh(x: Any) -> dict[str, Any]:
    return {'mean': ops.zeros_like(x[0, :, 0]), 'variance': ops.ones_like(x[0, :, 0])}
def _masked(x: Any, where: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _masked_layer(x, where, scale, bias, **_fresh(x), epsilon=epsilon, share=0.1)[0]
call = _masked
x = tf.cast(tf.constant(np.array([-1.0632395467791236, -0.3987044844354137, 0.24918326937529653, 0.03941454644669461, -2.5210134170540472, 1.010372914258153, 1.7590707312202145, -1.451849112662157, -0.0313067112833762, 1.2673493889986425, -0.42873869272640014, 1.2616401025708868, 0.015572345545968147, 0.21363585080938297, 0.36461924958594844, 0.6976081311078287, -2.5377890667503475, -1.4623067618599663, 1.377975528154718, -0.35717565207784363, -0.7933453868438622, 1.0053461483604402, 0.6034976199030729, -0.8167705398202983], 'float64').reshape((3, 2, 4))), tf.float64)
where = tf.cast(tf.constant(np.array([True, False, True, True, True, False, True, False, True, False, True, True], 'bool').reshape((3, 4))), tf.bool)
scale = tf.cast(tf.constant(np.array([1.3398919605058608, 0.5828436102277159], 'float64').reshape((2,))), tf.float64)
bias = tf.cast(tf.constant(np.array([-0.6543309474099335, -0.36975650846067054], 'float64').reshape((2,))), tf.float64)
cotangents = [np.array([0.8423656225204468, 1.081315517425537, 0.7594453692436218, -0.4850686192512512, 0.7900289297103882, 0.8576551675796509, -0.636121928691864, -1.0901319980621338, 0.15753285586833954, -1.0890462398529053, -0.6902876496315002, -0.15848255157470703, 2.4685630798339844, 0.41730090975761414, -0.5613804459571838, -0.5490257143974304, -0.36964282393455505, 0.5061783194541931, -1.8635413646697998, 0.06424475461244583, -1.0380425453186035, -0.0049110050313174725, 0.30821746587753296, 0.15736383199691772], 'float64').reshape((3, 2, 4))]
work = lambda x: call(x=x, where=where, scale=scale, bias=bias, epsilon=1e-05)
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = work(x)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], x, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(x))).astype(np.float64)
direction = np.array([-1, -1, 1, 1, 1, 1, 1, 1, -1, -1, -1, 1, -1, -1, 1, 1, 1, -1, 1, 1, -1, 1, 1, 1], 'int8').reshape((3, 2, 4))
got, expected = float((found * direction).sum()), -3.9725826430505595  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 1.36e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

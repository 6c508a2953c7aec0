"""keras.layers.SeparableConv1D, tensorflow 2.21.0, eager: gradients/weight is 6.82e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf
def _called(layer, x, weights):
    shape = tuple(x.shape)
    layer.build(shape)
    found, _ = layer.stateless_call(weights, [], x)
    return found
_depth = lambda weight: keras.ops.moveaxis(weight, (0, 1), (-2, -1))
_first = lambda x: keras.ops.moveaxis(x, -1, 1)
_last = lambda x: keras.ops.moveaxis(x, 1, -1)
_mixture = lambda pointwise, rank: keras.ops.reshape(keras.ops.transpose(pointwise), (*[1] * rank, *reversed(pointwise.shape)))
_name = lambda padding, strides, dilation: padding if isinstance(padding, str) else 'valid'
def call(x, weight, pointwise, strides, padding, dilation):
    layer = keras.layers.SeparableConv1D(pointwise.shape[0], tuple(weight.shape[2:]), tuple(strides), _name(padding, strides, dilation), 'channels_last', tuple(dilation), weight.shape[1], use_bias=False, dtype=keras.backend.standardize_dtype(x.dtype))
    return _first(_called(layer, _last(x), [_depth(weight), _mixture(pointwise, len(x.shape) - 2)]))
x = tf.cast(tf.constant(np.array([], 'float32').reshape((0, 3, 7))), tf.float32)
weight = tf.cast(tf.constant(np.array([-0.25366321206092834, 0.7074531316757202, 0.9043787121772766, -1.1083970069885254, 0.47448864579200745, 0.3339902460575104, 0.24557705223560333, 0.44269129633903503, -0.012972569093108177, 0.6860416531562805, 0.1421762853860855, -0.42397525906562805, -1.007215142250061, -0.2098783403635025, -0.7003688216209412, -0.29055604338645935, 0.19743338227272034, -0.05461481586098671], 'float32').reshape((3, 2, 3))), tf.float32)
pointwise = tf.cast(tf.constant(np.array([-0.09368998557329178, 0.4364434778690338, -0.25221240520477295, -0.3144868314266205, -0.14497752487659454, -0.21316799521446228, 0.2756938338279724, -0.8754234910011292, 0.2521103620529175, -0.17875687777996063, 0.5631842613220215, 0.182144895195961, 0.8303532600402832, 0.3875337541103363, 0.44124045968055725, -0.7676588892936707, 0.5688044428825378, 1.1379612684249878, -0.5082345008850098, 0.1963028460741043, 0.3278460204601288, 0.6517441272735596, -0.39172837138175964, -0.2388668954372406], 'float32').reshape((4, 6))), tf.float32)
cotangents = [np.array([], 'float32').reshape((0, 4, 5))]
work = lambda weight: call(x=x, weight=weight, pointwise=pointwise, strides=[1], padding='valid', dilation=[1])
def gradient(weight):
    with tf.GradientTape() as tape:
        tape.watch(weight)
        found = work(weight)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weight, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(weight))).astype(np.float64)
direction = np.array([1, 1, 1, 1, 1, 1, 1, -1, 1, -1, 1, 1, 1, 1, -1, 1, 1, -1], 'int8').reshape((3, 2, 3))
got, expected = float((found * direction).sum()), 0.0  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 8.47e+38)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

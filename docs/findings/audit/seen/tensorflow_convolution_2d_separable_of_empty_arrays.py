"""keras.layers.SeparableConv2D, tensorflow 2.21.0, eager: gradients/weight is 2.89e+07 times rounding off."""
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
    layer = keras.layers.SeparableConv2D(pointwise.shape[0], tuple(weight.shape[2:]), tuple(strides), _name(padding, strides, dilation), 'channels_last', tuple(dilation), weight.shape[1], use_bias=False, dtype=keras.backend.standardize_dtype(x.dtype))
    return _first(_called(layer, _last(x), [_depth(weight), _mixture(pointwise, len(x.shape) - 2)]))
x = tf.cast(tf.constant(np.array([], 'float32').reshape((0, 2, 6, 5))), tf.float32)
weight = tf.cast(tf.constant(np.array([0.11903749406337738, 0.40949007868766785, 0.1319059282541275, -0.6037260293960571, 0.4922771453857422, 0.4237787425518036, 1.0815649032592773, -0.14979258179664612, 0.2765132486820221, 0.11786455661058426, 0.02088276855647564, 0.09842947870492935, 0.5920144319534302, -0.3002011477947235, 0.29575115442276, 0.26763245463371277, -0.092020682990551, -0.3847104012966156, -0.5325811505317688, 0.46265095472335815, -0.6351800560951233, 0.02486245706677437, -0.8972011208534241, 0.7686985731124878], 'float32').reshape((2, 2, 3, 2))), tf.float32)
pointwise = tf.cast(tf.constant(np.array([-0.26911669969558716, 0.27358996868133545, -0.6281340718269348, 0.10530919581651688, -0.4575159251689911, 0.2798216640949249, 0.7228400111198425, 0.46555495262145996, 0.1320589780807495, 0.2916239798069, 0.1663772165775299, 0.025763193145394325], 'float32').reshape((3, 4))), tf.float32)
cotangents = [np.array([], 'float32').reshape((0, 3, 4, 4))]
work = lambda weight: call(x=x, weight=weight, pointwise=pointwise, strides=[1, 1], padding='valid', dilation=[1, 1])
def gradient(weight):
    with tf.GradientTape() as tape:
        tape.watch(weight)
        found = work(weight)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weight, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(weight))).astype(np.float64)
direction = np.array([-1, 1, 1, 1, 1, -1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, 1, -1, -1, -1, 1, -1, -1, 1], 'int8').reshape((2, 2, 3, 2))
got, expected = float((found * direction).sum()), 0.0  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 8.47e+37)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

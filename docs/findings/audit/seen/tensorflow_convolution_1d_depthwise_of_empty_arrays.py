"""keras.ops.depthwise_conv, tensorflow 2.21.0, eager: gradients/weight is 2.89e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf
_depth = lambda weight: keras.ops.moveaxis(weight, (0, 1), (-2, -1))
_first = lambda x: keras.ops.moveaxis(x, -1, 1)
_last = lambda x: keras.ops.moveaxis(x, 1, -1)
_name = lambda padding, strides, dilation: padding if isinstance(padding, str) else 'valid'
def call(x, weight, strides, padding, dilation):
    name = _name(padding, strides, dilation)
    found = keras.ops.depthwise_conv(_last(x), _depth(weight), tuple(strides), name, 'channels_last', tuple(dilation))
    return _first(found)
x = tf.cast(tf.constant(np.array([], 'float32').reshape((0, 3, 7))), tf.float32)
weight = tf.cast(tf.constant(np.array([-0.592482328414917, 0.5189367532730103, -0.008021234534680843, -0.11030857264995575, 0.2768527865409851, 0.47815337777137756, -0.23205503821372986, 0.4862540066242218, 0.2057788074016571, 0.12232694774866104, 0.6574837565422058, -0.2869252860546112, -0.17387735843658447, 0.40099745988845825, 0.5558709502220154, -0.4063442051410675, -0.026271434500813484, 0.6574335098266602], 'float32').reshape((3, 2, 3))), tf.float32)
cotangents = [np.array([], 'float32').reshape((0, 6, 5))]
work = lambda weight: call(x=x, weight=weight, strides=[1], padding='valid', dilation=[1])
def gradient(weight):
    with tf.GradientTape() as tape:
        tape.watch(weight)
        found = work(weight)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weight, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(weight))).astype(np.float64)
direction = np.array([-1, 1, 1, 1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1, -1, -1, -1], 'int8').reshape((3, 2, 3))
got, expected = float((found * direction).sum()), 0.0  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 8.47e+37)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

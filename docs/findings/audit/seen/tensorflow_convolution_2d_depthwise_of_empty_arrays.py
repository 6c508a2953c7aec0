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
x = tf.cast(tf.constant(np.array([], 'float32').reshape((0, 2, 6, 5))), tf.float32)
weight = tf.cast(tf.constant(np.array([0.7988002300262451, 0.012803185731172562, -0.49272698163986206, 0.36041149497032166, 0.16967560350894928, 0.08094066381454468, 0.8243395686149597, -0.6453180909156799, 0.15135540068149567, 0.7541818022727966, -0.2162298709154129, 0.5327205061912537, 0.31757813692092896, -0.013482950627803802, -0.7134365439414978, 0.33980005979537964, -0.2937982380390167, 0.33754226565361023, 0.07652155309915543, 0.38393735885620117, 0.05490840971469879, -0.5601850748062134, 0.16270631551742554, 0.54444420337677], 'float32').reshape((2, 2, 3, 2))), tf.float32)
cotangents = [np.array([], 'float32').reshape((0, 4, 4, 4))]
work = lambda weight: call(x=x, weight=weight, strides=[1, 1], padding='valid', dilation=[1, 1])
def gradient(weight):
    with tf.GradientTape() as tape:
        tape.watch(weight)
        found = work(weight)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weight, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(weight))).astype(np.float64)
direction = np.array([1, 1, 1, -1, -1, 1, 1, 1, -1, 1, 1, -1, -1, -1, 1, -1, -1, 1, 1, -1, -1, -1, -1, -1], 'int8').reshape((2, 2, 3, 2))
got, expected = float((found * direction).sum()), 0.0  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 8.47e+37)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

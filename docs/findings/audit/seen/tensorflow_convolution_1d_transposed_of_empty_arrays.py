"""tensorflow.nn.conv_transpose, tensorflow 2.21.0, eager: gradients/weight is 2.89e+07 times rounding off."""
import numpy as np
import tensorflow as tf
def _first(x):
    rank = len(x.shape)
    return tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])
_kernel = lambda weight: tf.transpose(weight, [*range(2, len(weight.shape)), 1, 0])
def _last(x):
    rank = len(x.shape)
    return tf.transpose(x, [0, *range(2, rank), 1])
_name = lambda padding: padding.upper() if isinstance(padding, str) else 'VALID'
def _shape(x, weight, bias, strides, padding, dilation):
    pairs = padding
    if isinstance(padding, str):
        widths = list(zip(weight.shape[2:], strides, strict=True))
        pairs = [(0, width - stride if padding == 'same' else min(0, width - stride)) for width, stride in widths]
    space = [(size - 1) * stride + width - before - behind for size, stride, width, (before, behind) in zip(x.shape[2:], strides, weight.shape[2:], pairs, strict=True)]
    return [x.shape[0], *space, weight.shape[1]]
def call(x, weight, bias, strides, padding, dilation):
    shape = _shape(x, weight, bias, strides, padding, dilation)
    return _first(tf.nn.conv_transpose(_last(x), _kernel(weight), shape, strides, _name(padding)) + bias)
x = tf.cast(tf.constant(np.array([], 'float32').reshape((2, 3, 0))), tf.float32)
weight = tf.cast(tf.constant(np.array([0.7879683971405029, 0.44859451055526733, -0.5911622643470764, 0.3488617241382599, -0.07405126094818115, 0.09726429730653763, -0.8958055973052979, 0.7148564457893372, 0.309545636177063, -0.09522145241498947, -0.21705664694309235, -0.5281776189804077, 0.48710885643959045, -0.019719092175364494, -0.049145590513944626, 0.1311115324497223, 0.2249470353126526, 0.9214292764663696], 'float32').reshape((3, 2, 3))), tf.float32)
bias = tf.cast(tf.constant(np.array([1.337256908416748, -1.861038327217102], 'float32').reshape((2,))), tf.float32)
cotangents = [np.array([-0.7555493712425232, 0.6014552712440491, -0.578259289264679, -0.4887911379337311, -0.8201683759689331, 0.512942373752594, -0.5035819411277771, 0.7699639797210693], 'float32').reshape((2, 2, 2))]
work = lambda weight: call(x=x, weight=weight, bias=bias, strides=[1], padding=[[0, 0]], dilation=[1])
def gradient(weight):
    with tf.GradientTape() as tape:
        tape.watch(weight)
        found = work(weight)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weight, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(weight))).astype(np.float64)
direction = np.array([1, -1, -1, -1, -1, 1, 1, -1, -1, 1, -1, -1, -1, 1, -1, -1, -1, -1], 'int8').reshape((3, 2, 3))
got, expected = float((found * direction).sum()), 0.0  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 3.62e+22)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

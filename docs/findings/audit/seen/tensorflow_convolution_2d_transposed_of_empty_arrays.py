"""tensorflow.nn.conv2d_transpose, tensorflow 2.21.0, eager: gradients/weight is 1.27e+04 times rounding off."""
import numpy as np
import tensorflow as tf
def _first(x):
    rank = len(x.shape)
    return tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])
_kernel = lambda weight: tf.transpose(weight, [*range(2, len(weight.shape)), 1, 0])
def _last(x):
    rank = len(x.shape)
    return tf.transpose(x, [0, *range(2, rank), 1])
_pairs = lambda padding: padding.upper() if isinstance(padding, str) else [[0, 0], *padding, [0, 0]]
def _shape(x, weight, bias, strides, padding, dilation):
    pairs = padding
    if isinstance(padding, str):
        widths = list(zip(weight.shape[2:], strides, strict=True))
        pairs = [(0, width - stride if padding == 'same' else min(0, width - stride)) for width, stride in widths]
    space = [(size - 1) * stride + width - before - behind for size, stride, width, (before, behind) in zip(x.shape[2:], strides, weight.shape[2:], pairs, strict=True)]
    return [x.shape[0], *space, weight.shape[1]]
def call(x, weight, bias, strides, padding, dilation):
    shape = _shape(x, weight, bias, strides, padding, dilation)
    border = _pairs(padding)
    if not isinstance(padding, str):
        border = [[max(0, each) for each in pair] for pair in border]
    return _first(tf.nn.conv2d_transpose(_last(x), _kernel(weight), shape, strides, border) + bias)
x = tf.cast(tf.constant(np.array([], 'float32').reshape((1, 2, 0, 4))), tf.float32)
weight = tf.cast(tf.constant(np.array([-0.1402919441461563, -0.02322372794151306, 0.13250306248664856, 0.4919058084487915, -0.3838278353214264, -0.20280958712100983, 0.349098265171051, 1.1561145782470703, -0.7977076172828674, -0.2114512026309967, 0.15668074786663055, -0.29455846548080444, -0.4464952051639557, 0.813983678817749, 0.1070813313126564, -0.15975923836231232, 0.5428436994552612, 0.7163565158843994, 0.2953186333179474, -0.7469146847724915, 0.2940928637981415, -0.3910801112651825, -0.4104944169521332, 0.2323428839445114], 'float32').reshape((2, 2, 3, 2))), tf.float32)
bias = tf.cast(tf.constant(np.array([-0.9534148573875427, -0.6221456527709961], 'float32').reshape((2,))), tf.float32)
cotangents = [np.array([0.6629981994628906, -0.8318607211112976, -1.0185197591781616, 1.6162835359573364, 1.3557155132293701, -0.5774556994438171, -0.09538618475198746, -0.22484524548053741, 0.36985474824905396, -0.17149585485458374, -1.1633100509643555, 1.012569546699524, 0.44573211669921875, 1.3955878019332886, 0.8868584036827087, -0.10799404233694077, -1.2317399978637695, 0.4881373643875122, -0.5365695953369141, -0.09763407707214355], 'float32').reshape((1, 2, 2, 5))]
work = lambda weight: call(x=x, weight=weight, bias=bias, strides=[1, 1], padding=[[0, 0], [0, 0]], dilation=[1, 1])
def gradient(weight):
    with tf.GradientTape() as tape:
        tape.watch(weight)
        found = work(weight)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weight, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(weight))).astype(np.float64)
direction = np.array([-1, -1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, 1, -1, 1, -1, -1, 1, 1, -1, -1, -1, -1, 1], 'int8').reshape((2, 2, 3, 2))
got, expected = float((found * direction).sum()), 0.0  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.000242)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

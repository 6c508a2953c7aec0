"""tensorflow.nn.conv3d_transpose, tensorflow 2.21.0, eager: gradients/weight is 2.18e+07 times rounding off."""
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
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
    return _first(tf.nn.conv3d_transpose(_last(x), _kernel(weight), shape, strides, _name(padding)) + bias)
x = tf.cast(tf.constant(np.array([], 'float32').reshape((1, 2, 0, 3, 4))), tf.float32)
weight = tf.cast(tf.constant(unpack('c-jHL06+g>STeuPJl{T5J~6*;n+ZQVC_BFKIJ>=isQ^E-*#f`%eyYBi&auAzH|9R@nMyyXJug4{F|s}wqlP~gzui7I4~aeiCh<N?=<YtQlodax=$^idyS6@MaYVjbfc3pw%alIX;nlvZJUG8qy79dYo5#N2o!&n4v!cES|0%z@&KJMjN0B~h=-)o`3IIQn=^wvf4Rb%z_SC+CX~@1Z&MiMH{~o?iTv)!o-AKP}<WjwzL~Oh*I4(cYK7BvVD`MU', 'float32').reshape((2, 2, 2, 3, 2))), tf.float32)
bias = tf.cast(tf.constant(np.array([-0.1654820293188095, -0.0011729896068572998], 'float32').reshape((2,))), tf.float32)
cotangents = [unpack('c-jHT05|_<OFq8~d09UdIG8^uowUB;ZWO?J-fF)~5C^}2D0sigl?6a}x+uLf-8Vnx7LY!qOzFPGBq%=b?8d*@7GghyI%L1b5U#y{Nf5xC@SDHRLaRPR?w!8^+%Z0t^lray%tXH#PEkG#4V1o`UsOLdkCi{>VF5j+Lm)ojYdSwSnJ&Mlys<x?S0g?~r@uWZ85%#7lY&2OYr?({zxKYY!-2oAb<n?N-S@up({R63IhMW-06D#1&EdTvy+=O1Bj`Ro96G<m8efY', 'float32').reshape((1, 2, 1, 5, 5))]
work = lambda weight: call(x=x, weight=weight, bias=bias, strides=[1, 1, 1], padding=[[0, 0], [0, 0], [0, 0]], dilation=[1, 1, 1])
def gradient(weight):
    with tf.GradientTape() as tape:
        tape.watch(weight)
        found = work(weight)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], weight, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(weight))).astype(np.float64)
direction = unpack('c-s5_pOF!S{{IJI2n$Gp1i=&p{D<=X{|5k2MimD', 'int8').reshape((2, 2, 2, 3, 2))
got, expected = float((found * direction).sum()), 0.0  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.325)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

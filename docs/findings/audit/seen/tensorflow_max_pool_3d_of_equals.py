"""keras.layers.MaxPooling3D, tensorflow 2.21.0, eager: gradients/x is 2.49e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _in_layout(function, x, layout):
    if layout == 'channels_last':
        return keras.ops.moveaxis(function(keras.ops.moveaxis(x, 1, -1)), -1, 1)
    try:
        return function(x)
    except Exception as error:
        raise
_type = lambda x: keras.backend.standardize_dtype(x.dtype)
def call_2(x, window, strides, padding, dilation, ceil):
    given = (window[0], strides[0]) if len(window) == 1 else (tuple(window), tuple(strides))
    return _in_layout(keras.layers.MaxPooling3D(*given, padding, data_format='channels_last', dtype=_type(x)), x, 'channels_last')
def call(x, **form):
    for axis in range(2, len(x.shape)):
        x = keras.ops.repeat(x, 2, axis=axis)
    return call_2(x, **form)
x = tf.cast(tf.constant(unpack('c-j??Aq&D#6h^;bFfJMmMuWj%677aXe}K`ju(&Wx!yrS3EQyH77z<-8*!FBjqj5jQa~~Yeci;OiJgM)b%UW8zr9F<9(sw1L&@hke4N3?gcha10fH%w&@|bRIUGfP#<{kFvoVm-$0|?0pcOp0BJAU99KHwL7Lp(LOyU|T?#@vF>`v(&85$weL|7w4rTYyh~LIgEz*{|ToUhn=^*Eyd', 'float32').reshape((1, 1, 4, 3, 5))), tf.float32)
cotangents = [unpack('c-jH*01yAjcg{aZ!=Jx_#DYKIgr&ZiW*|SPzBs>H50Srq9fQ9E3c5dA&X+%LBxS#Ymr=i0tJy!_)jvLFV5Pnr+KIjotI@yabUwe}2=Knv(QCdygegBEKncI5;S0a<#VkJfg#tc0$fv)Z1{}Wwr5-<>!YRHoE&@M;XoJ3rnS;Mw)c(KfB^y8SP@g^yP6fXmO`ASyYns17k*q(g<t4x1{lz|3f-=9?uYtcbwQjy9=hi>1Y~DW=v+urYTsA(83yHsk%3{CE-Xy<_?5Vz|WeL6qZg;<C_(i{@nAtyUw9-C86(GM#3-`bJ20XvtZ+UV', 'float32').reshape((1, 1, 4, 3, 5))]
work = lambda x: call(x=x, window=[2, 2, 2], strides=[2, 2, 2], padding='valid', dilation=[1, 1, 1], ceil=False)
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = work(x)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], x, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(x))).astype(np.float64)
got, expected = float(found[(0, 0, 3, 0, 4)]), -0.8859026432048722  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 3.1)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

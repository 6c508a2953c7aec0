"""keras.losses.CTC, tensorflow 2.21.0, eager: second/forward over reverse is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from typing import Any
import keras
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
call = lambda x, y: keras.losses.CTC(reduction='none', dtype=_kind(x))(y, x)
x = tf.cast(tf.constant(unpack('c-jHL0YCn)PL!TkdGo(}Pqi%(Q0hP5Jgu%!0`<T1ZhoD>T*W_#7RY*T=juO|zph-np^iTzqqnD`1HivQywO$7Qs_S@@M;q0_uxNaH9!2A`{+N1x&;?yp7}p*lfNR<74pC8%4emo)W^U0iMSwXs{p`uplGw;CHTK)PDahw@yfrL8t{M%yyQQ$AU#VdT=GA;A_>nQxY553N=%PK;`hITA}ApA#pFMP7ar4&qualrFBF`T-Sa=(v|(oF`Sw4_9Q#j4jN?Cy1&zi}P3pfr45@Gy?6ki%#coXLg5y6?r42%r<m^8T!rcVlQn5dNHM6yVq1Qh~^2310)bBszJLc;b@#jBZ+=tq+bML>ae0t)&YUsZ>si07~JjlO4Wm!*&rT)KzlxFt$X6nD2rRS7vljpy~v}uZsAML-eWyyb7k>)>Z(pfuCbm2eQp2arE0{Fj>X~;SN`|!U_jYAcYUGG1k;u7C*SN%Wx@EpiWYNEePe(ajp1^7Q+Vi%%zw(-AI3_{BNw%fncA@k?axbi=|g5qu1<AOg0U&C{o#M3_s;|>@Ca`eBGS5HC0Wb?mSP3au*korG3u=u_', 'float64').reshape((2, 7, 4))), tf.float64)
y = tf.cast(tf.constant(np.array([1, 2, 1, 2], 'int64').reshape((2, 2))), tf.int32)
def outputs(x):
    found = call(x=x, y=y)
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x,)
first = (tf.cast(tf.constant(unpack('c-muRWMusRA4Gs45HLa!BUlh50Al@z@)=<g0Q0OG1p', 'int8').reshape((2, 7, 4))), tf.float64),)
second = (tf.cast(tf.constant(unpack('c-l3`0SW*B2*N=2|3@#eLO~ByE_rkpkzOgDGJ}~Q_W', 'int8').reshape((2, 7, 4))), tf.float64),)
cotangents = (tf.cast(tf.constant(np.array([1.4680589437484741, 1.7475643157958984], 'float64').reshape((2,))), tf.float64),)
with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:
    with tf.GradientTape() as tape:
        tape.watch(leaves)
        found = outputs(*leaves)
    found = tape.gradient(found, leaves, output_gradients=cotangents, unconnected_gradients='zero')
found = [pushed.jvp(g, unconnected_gradients='zero') for g in found]
found = sum(tf.reduce_sum(t * e) for t, e in zip(found, second) if t is not None)
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), -2.0683746294084906  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 3.07e-06)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

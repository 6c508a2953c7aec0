"""keras.losses.CTC, tensorflow 2.21.0, eager: outputs/0 is 5.47e+03 times rounding off."""
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
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('5.188916498484144')  # by the definition in float64
is_right = bool(abs(got - expected) < 9.24e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.ops.image.scale_and_translate, tensorflow 2.21.0, eager: forward/0 is 6.37e+04 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from typing import Any
import keras
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _translated(x: Any, scale: Any, translation: Any, size: Any, kernel: str, is_wide: bool) -> Any:
    return keras.ops.image.scale_and_translate(x, (*x.shape[:2], *size), scale, translation, (2, 3), kernel, is_wide)
call = _translated
x = tf.cast(tf.constant(np.array([0.5264830891048402, -0.16308949045007412, -1.2969506612671196, -0.7252101218553002, -1.1053457701694245, 0.5199486622622989, 0.7572470071005623, -0.7145382351946956, -1.7246477893260355, -1.0428764067616998, 0.5664630587055893, -1.9638505728725615, -0.284204997652318, 0.38425545130567623, -0.33115643668802963, -1.5841402381296787, -0.18203337225612598, -0.3633369804766641, 0.5948628666120791, -1.0663727035615314, -0.8235006209607284, -0.7824429607469748, 0.010818158890645956, 1.2734916337930378, -0.8221838178533316, 0.7179502765292646, 1.8513702452180247, 0.9703882143952516, -1.6694967667739191, -0.16501011298708257, 0.5890887928742274, 0.7912021584355632, -0.13326195039579278, -1.0076180632179423, -0.7402716433448526, -0.38014284115056207, 0.14938445672075396, 1.7689034583021022, -1.8287836460701887, -0.13349464778383713], 'float64').reshape((1, 2, 5, 4))), tf.float64)
scale = tf.cast(tf.constant(np.array([1.631001053929362, 1.6232712898462884], 'float64').reshape((2,))), tf.float32)
translation = tf.cast(tf.constant(np.array([-0.8747339151153268, -0.8710365596634062], 'float64').reshape((2,))), tf.float32)
def outputs(x):
    found = call(x=x, scale=scale, translation=translation, size=[8, 9], kernel='linear', is_wide=True)
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x,)
first = (tf.cast(tf.constant(np.array([-1, -1, 1, -1, 1, 1, -1, -1, -1, -1, -1, -1, -1, 1, -1, -1, 1, 1, -1, 1, 1, -1, 1, 1, 1, 1, -1, 1, 1, 1, 1, 1, 1, -1, -1, -1, 1, 1, 1, 1], 'int8').reshape((1, 2, 5, 4))), tf.float64),)
second = (tf.cast(tf.constant(np.array([-1, -1, -1, 1, 1, -1, 1, -1, -1, 1, 1, -1, -1, 1, -1, 1, -1, -1, -1, 1, 1, -1, 1, 1, 1, -1, 1, -1, -1, -1, -1, -1, 1, 1, -1, 1, 1, 1, -1, 1], 'int8').reshape((1, 2, 5, 4))), tf.float64),)
cotangents = (tf.cast(tf.constant(unpack('c-kdXZAepL6n?WT@JB8b*T<?`Sd`I+kkE(Ztv{A27&0mQ@Fg7;5s2bv)2<pSNlGajh1M-3DkIBGWd7J~t`D#u6Vy#+b!Vn?>2#VcXKKCA{q=Cpd(LytdCqwWA^hQnmN-I)kWyh}$h(YohNRp134UkJ2=H{B!~7q`+|*fSi?XHz{#MQp`|UHCA$NbvFNSiw&c@=owA2~kC3ynz&)b1q?1Bq+v1N!Mb(rSBbJp4h%)8wMf6*rNA(d@igk2fm#rVjpf+>db8m*n7ko7v4XL+|u=aIki%P8h~*@QacWb6zuG0P3VZn_uwclLRZe>9^Wb9b)w!Pc}PPN)utP4{FYp9<zbnCD(5`j+=z2TE#!cg~%G`K9+CzC*8zTIffqVF~_&2YOJq;O0-vVJ#yPtJC}#y2w`|hEX?q-iP={t3SeTde8%&6NjcTM^b|eJR9BM=R+c)hj=Ch`BJd}9Y{|5FzTqR4%o?=@bjJZqln-34f@cM?mqPYH4Hk-s)XO*X)5htar}*1*kZ145_#))4uUr+-@;HD+cgAKo0qXY@JDJe57qf(^r>IxgxzaGyf~CQ0$n}v;FDvt9=u=MJdV1@^I!|f>Cl08m0=Ikauep~Bbq-W|7pw*^qsvb1UfdnL7uGcuz{!L6z+uz;oaaX?3~7aOY#?>M~WKzqWd-2H=V2Xf-lL{hQ0<|*dy7nB7peNM(mG9T~+q4zYM+UxjN;Z`x}+`xS~PWi+1o4!wB@|46(tiPwB~kQhy?C3c3b)XYpR$_yW9HRYADtF$?NSx`%$u&!5M?BD?GGuY_o|awp~Eex=U><xYna@lI9cUgU*2tk~n-Q04BHZ0Ju+(AFS7-Kf}AChU>_n}EG=Co7fv=!;YK?5P+-f314VLn1F=UfLgp{`ri#apbvM6<yv1BcCVR!O!hD)`#~%VZi(kwq=BV', 'float64').reshape((1, 2, 8, 9))), tf.float64),)
with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:
    found = outputs(*leaves)
found = [pushed.jvp(y, unconnected_gradients='zero') for y in found]
found = found[0]
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 1, 2, 2)]), 0.5030266981155147  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 2.81e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""tensorflow.nn.ctc_loss, tensorflow 2.21.0, eager: forward/0 is 1.03e+04 times rounding off."""
from typing import Any
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _sparse_ctc(x: Any, y: Any, times: Any, lengths: Any) -> Any:
    """Return the loss of labels in a sparse tensor, for which TensorFlow has another kernel."""
    labels = tf.RaggedTensor.from_tensor(y, lengths).to_sparse()
    return tf.nn.ctc_loss(tf.cast(labels, tf.int32), x, None, times, blank_index=-1)
call = _sparse_ctc
x = tf.cast(tf.constant(unpack('c-jHL0YCn!e0a>}6W_mW_HXhq8|J?>vM+L?R^mVE`Gw`g8{$80{w_F*ir7B@p|pi!`Px4_kvqxG%g#TLxE#>zg8V-N_oJynvGKo*&N(4hjj})eR>m?c2E;#i2nvF9=J3C}W8qT|&c{Eix4xtohvvVL2s&Qf7T3SUR}<5d*6}~=Rj-I3=IlRYJNVdF<?lbLafoSgD!4x?%}2Dz@T0#<*qz)uE!ICW!^Gb#3GY9q1^3oir=~w6=S~wai^xBNrx}k<Ti-utiq-v^BkVtbm5Aux^WZ<huI#F)59q(XlV5Y_x6!|mJ_{2BVCp|er?r)2cj3SKW=$@Vs_MV~MQyJML%F}>3U|fYlK?=mz12DhGoin;_KP$js?0z5D{B)a$JM_^_m{LEdD}nPT>=)8=<&beisJ>OqyfM?UG!ppJEcDljU>p}vDm+rQlM?!E6zX9AswEc3fn*C7Ir*R;<dkZyg-|hmDfMxOzT66Y{I|Nc#uNjH|jrTMJJ*by7xa%M=t<@!mK~|UmO$4pYXpg0MsX#q|HB{wUGc2P4d6<2}xXq=Ka4OZclx!#Ogm3cO)Tz^Y=e~M(vX', 'float64').reshape((7, 2, 4))), tf.float64)
y = tf.cast(tf.constant(np.array([2, 0, 2, 1], 'int64').reshape((2, 2))), tf.int32)
times = tf.cast(tf.constant(np.array([7, 7], 'int64').reshape((2,))), tf.int32)
lengths = tf.cast(tf.constant(np.array([2, 2], 'int64').reshape((2,))), tf.int32)
def outputs(x):
    found = call(x=x, y=y, times=times, lengths=lengths)
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x,)
first = (tf.cast(tf.constant(unpack('c-muRWc&{Vj4;Ru;zMXK2@?Uc;4+Mi0CKPs69', 'int8').reshape((7, 2, 4))), tf.float64),)
second = (tf.cast(tf.constant(unpack('c-mw9|DW;ye=xxaf{aiSOd~PDiXaNXLI5aH8v_', 'int8').reshape((7, 2, 4))), tf.float64),)
cotangents = (tf.cast(tf.constant(np.array([1.2339907884597778, 0.018414460122585297], 'float64').reshape((2,))), tf.float64),)
with tf.autodiff.ForwardAccumulator(leaves, first) as pushed:
    found = outputs(*leaves)
found = [pushed.jvp(y, unconnected_gradients='zero') for y in found]
found = found[0]
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), 1.3608416981441638  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 7.08e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.losses.CTC, tensorflow 2.21.0, eager: outputs/0 is 2.48e+06 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
_kind = lambda x: keras.backend.standardize_dtype(x.dtype)
call = lambda x, y: keras.losses.CTC(reduction='none', dtype=_kind(x))(y, x)
x = tf.cast(tf.constant(unpack('c-jHr03ZMQ*p)tctd+lEaWOyfZFau_6&Aldsye@;WQ@L9bf~_N6)r#T98y1qj~+Xrk{!S$=KVb{JRCm=Z``~Q;X%Jl_+37z?GL|mR}DR&tV}<l4+cPDAd<XgXTm;VMNK`jAp}2cD@VVWMioC!rdL0|2DU$9(x$(F$QHhzmj=L%bAUgt&(^+%FuFcEPZK}amI%K*@XtT2nle0379_q}z6?LWHb=kh4RAl|CjdTq#W6pUTl&7@6&63+67WCE!eGD62~ob4ssg|GW-vd733<L#qVhhhw+leH*sVVu6J?4', 'float32').reshape((2, 7, 4))), tf.float32)
y = tf.cast(tf.constant(np.array([], 'int64').reshape((2, 0))), tf.int32)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('8.047751699458882')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.347)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

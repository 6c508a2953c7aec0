"""keras.ops.ctc_loss, tensorflow 2.21.0, eager: cotangent/0 is 4.56e+04 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
Unsupported = ValueError
from keras import ops
from typing import Any
import numpy as np
import tensorflow as tf
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
def _ctc(x: Any, y: Any, times: Any, lengths: Any, reduction: str) -> Any:
    if reduction != 'none':
        raise Unsupported('a function without a reduction')
    return ops.ctc_loss(y, ops.transpose(x, (1, 0, 2)), lengths, times, mask_index=0)
call = _ctc
x = tf.cast(tf.constant(unpack('c-jHL0YCoy;Lq!u*5tncv!(7T?&d#htwaqC#pu6B<<o5zVD~@1(ZG#w^zuJReaXna+222!Eey*jnzO&w&sZ*?R_Q;!fiOhFvFX2M5L1dO_sqW~lCuKC1Ia&Znh3XI70bT@9IV*&pyEGkdoQ4y0@gpvzvP}iiuu2@?!KOOqSn7NfTQjk$Me4%Ra2-bA<;keId##7O47f0RwJ1{!ScW52yr^OL!iH-+3q~nI{3etG5)lBp`^c1a1nq7m%_hVo}(ny0PH`fecISz{q{dFM2SSdSL{E)w_9fAa?3yU1L)nEs@K1{cYQknt=zv=3KKKlA-%tcud3h$rP05q5E@8K-{n7;mpQb6uHL`HVd*s%sscb6!GI2XZO1>Gss@z+iN?Q4c%_xe+wwng^f@5*o$WtJx}#Qj3G+W!wO1uVF6ck(KE|F1@Z&#GGGSl-xY$1lLsbRrtnEKg%!_*;fa$-57NC?Cs?fhtBHa9KALKu=UV*_H(9*xw)_1aNe8@l6jzFT_QrExUeEySw9@{_W4d`L`m+(KCelcd3$M-+8dVS{pOwK<UHhoep;nY7O;aD$Q7puR5YVor', 'float64').reshape((7, 2, 4))), tf.float64)
y = tf.cast(tf.constant(np.array([2, 3, 3, 1], 'int64').reshape((2, 2))), tf.int32)
times = tf.cast(tf.constant(np.array([7, 7], 'int64').reshape((2,))), tf.int32)
lengths = tf.cast(tf.constant(np.array([2, 1], 'int64').reshape((2,))), tf.int32)
def outputs(x):
    found = call(x=x, y=y, times=times, lengths=lengths, reduction='none')
    found = found if isinstance(found, (tuple, list)) else [found]
    return tuple(found[place] for place in [0])
leaves = (x,)
first = (tf.cast(tf.constant(unpack('c-mw9&-fpN{xgCIFaWZEkP%EFcwiY2f(QcutVbaC', 'int8').reshape((7, 2, 4))), tf.float64),)
second = (tf.cast(tf.constant(unpack('c-s5V`2Rl;0RbZjfH^>l@joM!fg}oMfu$J#0{|*b8U+', 'int8').reshape((7, 2, 4))), tf.float64),)
cotangents = (tf.cast(tf.constant(np.array([0.12977942824363708, -1.094355821609497], 'float64').reshape((2,))), tf.float64),)
with tf.GradientTape() as outer:
    outer.watch([leaves, cotangents])
    with tf.GradientTape() as tape:
        tape.watch(leaves)
        found = outputs(*leaves)
    pulled = tape.gradient(found, leaves, output_gradients=cotangents, unconnected_gradients='zero')
    whole = tf.add_n([tf.reduce_sum(g * d) for g, d in zip(pulled, first)])
by_leaves, by_cotangents = outer.gradient(whole, (leaves, cotangents), unconnected_gradients='zero')
found = by_cotangents
found = found[0]
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), 0.048643637702104836  # by differences of the definition in float64
is_right = bool(abs(got - expected) < 2.29e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

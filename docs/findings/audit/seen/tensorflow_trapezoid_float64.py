"""keras.ops.trapezoid, tensorflow 2.21.0, eager: gradients/y is 9.69e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
import numpy as np
import tensorflow as tf
call = lambda y, spacing, axis: ops.trapezoid(y, dx=spacing, axis=axis)
y = tf.cast(tf.constant(np.array([-0.07610240645660223, -0.10685675688553278, -0.2003927307028004, -0.9868007730657534, -0.4710480494223519, 0.7044962403761084, 0.12102861492090498, 0.4839118213207103, 0.2062744739509342, 0.7272718164886697, -0.9905620691050515, 0.10440478623005317, -0.6744122388375554, -0.23601667586498787, -0.7507487345595233, -1.664345689038747, 1.4297027337055914, 0.8497895143289639, -0.14661886219391654, -0.1291075661408463, -0.3382346909417431, -1.1878531497061438, 1.581893229451783, 0.9920030028597581, 0.5471228127006946, 1.4189525927886846, 0.4569160969884182, -0.4317796506460232], 'float64').reshape((4, 7))), tf.float64)
cotangents = [np.array([-1.1992316246032715, -1.6017471551895142, -0.2987396717071533, -0.012901200912892818, -0.9655735492706299, 0.08756136149168015, 0.6112818121910095], 'float64').reshape((7,))]
work = lambda y: call(y=y, spacing=0.3, axis=0)
def gradient(y):
    with tf.GradientTape() as tape:
        tape.watch(y)
        found = work(y)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], y, output_gradients=[c for _, c in pairs], unconnected_gradients='zero')
found = np.asarray(tf.convert_to_tensor(gradient(y))).astype(np.float64)
direction = np.array([-1, 1, -1, -1, -1, -1, 1, 1, 1, 1, 1, 1, -1, -1, 1, -1, -1, 1, -1, -1, -1, 1, 1, 1, -1, 1, -1, -1], 'int8').reshape((4, 7))
got, expected = float((found * direction).sum()), -1.64950779424976  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 3.28e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

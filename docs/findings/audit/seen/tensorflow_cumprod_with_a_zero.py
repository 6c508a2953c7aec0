"""keras.ops.cumprod, tensorflow 2.21.0, eager: gradients/x is 1.77e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras import ops
from typing import Any
import numpy as np
import tensorflow as tf
def _along(function: Any) -> Any:
    return lambda x, axis: function(x, axis=axis)
call = _along(ops.cumprod)
x = tf.cast(tf.constant(np.array([1.0373302698135376, 1.0203913450241089, 1.0208313465118408, 0.9632649421691895, 1.0258865356445312, 0.9794378876686096, 0.0, 1.0408328771591187, 1.0608693361282349, 1.0133471488952637, 0.0, 0.9521313309669495, 1.001786231994629, 0.9443262219429016, 1.0012850761413574, 0.9533000588417053, 1.0667277574539185, 0.935076117515564, 0.0, 1.0016728639602661, 1.067928671836853], 'float32').reshape((3, 7))), tf.float32)
cotangents = [np.array([0.027762437239289284, -0.20360994338989258, 0.24438193440437317, -0.5851779580116272, 0.9306266903877258, -0.3837381601333618, 0.7293088436126709, -1.1228833198547363, -0.1196141466498375, 0.8175157308578491, -1.741819143295288, -1.4742094278335571, -0.646851122379303, 0.1742006540298462, 0.7349392175674438, 0.6558821797370911, -0.9189075231552124, 0.20022538304328918, -0.22688037157058716, -1.1436117887496948, -0.2310975044965744], 'float32').reshape((3, 7))]
work = lambda x: call(x=x, axis=-1)
def gradient(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = work(x)
        found = found if isinstance(found, (tuple, list)) else [found]
    pairs = [(y, tf.cast(tf.constant(c), y.dtype)) for y, c in zip(found, cotangents) if c is not None]
    return tape.gradient([y for y, _ in pairs], x, output_gradients=[c for _, c in pairs])
found = np.asarray(tf.convert_to_tensor(gradient(x))).astype(np.float64)
direction = np.array([-1, -1, 1, -1, -1, -1, -1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1, -1, -1, -1, 1], 'int8').reshape((3, 7))
got, expected = float((found * direction).sum()), 2.6368722500454087  # by central differences of the definition in float64
is_right = abs(got - expected) < 2.41
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

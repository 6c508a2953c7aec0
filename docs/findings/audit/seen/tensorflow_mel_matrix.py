"""tensorflow.signal.linear_to_mel_weight_matrix, tensorflow 2.21.0, eager: outputs/0 is 1.64e+04 times rounding off."""
import numpy as np
import tensorflow as tf
signal = tf.signal
call = lambda like, mels, bins, rate, low, high: signal.linear_to_mel_weight_matrix(mels, bins, rate, low, high, like.dtype)
like = tf.cast(tf.constant(np.array([-2.5188515186309814], 'float32').reshape((1,))), tf.float32)
work = lambda: call(like=like, mels=20, bins=129, rate=16000.0, low=20.0, high=7600.0)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(63, 16)]), float('4.748304284704356e-05')  # by the definition in float64
is_right = abs(got - expected) < 4.82e-07
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

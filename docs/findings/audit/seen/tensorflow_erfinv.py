"""keras.ops.erfinv, tensorflow 2.21.0, eager: outputs/0 is 32.7 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
from keras.ops import erfinv as function
import numpy as np
import tensorflow as tf
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([-0.26783207058906555, -0.026482777670025826, -0.3101951777935028, 0.12895673513412476, 0.5946552753448486, -0.9069023728370667, 0.07381482422351837, -0.3428255319595337, 0.8898555040359497, 0.2260408252477646, -0.8289216160774231, 0.022175820544362068, 0.6289225220680237, -0.8086221218109131, -0.06645087152719498, -0.466456800699234, 0.8117321729660034, 0.25808966159820557, 0.7454567551612854, -0.6109517216682434, 0.21097053587436676, 0.9060445427894592, 0.03654368966817856, -0.8030440211296082, 0.3258174657821655, -0.8028286695480347, -0.3827899396419525, -0.054738834500312805, 0.2690434157848358, -0.7619612216949463, -0.7522483468055725, 0.5976104736328125, 0.28875309228897095], 'float32').reshape((33,))), tf.float32)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(11,)]), float('0.0196553401319683')  # by the definition in float64
is_right = abs(got - expected) < 1.43e-08
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

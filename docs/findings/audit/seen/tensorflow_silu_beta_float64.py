"""tensorflow.nn.silu, tensorflow 2.21.0, eager: outputs/0 is 3.31e+03 times rounding off."""
import numpy as np
import tensorflow as tf
function = tf.nn.silu
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([4.466147202570855, 3.940802226453186, -0.14756487773692556, -2.993944919129657, 1.035989829590915, -1.57195172136311, -0.1380166149096854], 'float64').reshape((7,))), tf.float64)
work = lambda: call(x=x, beta=1.702)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(3,)]), float('-0.018220521810894428')  # by the definition in float64
is_right = bool(abs(got - expected) < 5.95e-10)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

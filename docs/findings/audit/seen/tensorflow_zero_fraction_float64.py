"""tensorflow.math.zero_fraction, tensorflow 2.21.0, eager: outputs/0 is 7.74e+03 times rounding off."""
import numpy as np
import tensorflow as tf
function = tf.math.zero_fraction
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = tf.cast(tf.constant(np.array([0.0, 1.0711812620047276, 1.0206645942318178, 1.0515084281376383, 0.9496746851686237, 1.0508450412973351, 0.9440998990691317, 0.0, 1.0386731075001279, 1.0010425285865923, 1.0459776384135504, 0.9439604214000347, 0.9806370926836923, 0.9528572792959835, 1.0347163195442495, 0.9842612781436274, 0.9827273815019953, 0.0, 1.0252116664898305, 0.9607186696232815, 0.9454973524844487], 'float64').reshape((3, 7))), tf.float64)
work = lambda: call(x=x)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[()]), float('0.14285714285714285')  # by the definition in float64
is_right = bool(abs(got - expected) < 3.19e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""tensorflow.sparse.add, tensorflow 2.21.0, eager: outputs/0 is inf times rounding off."""
import numpy as np
import tensorflow as tf
call = lambda x, y: tf.sparse.to_dense(tf.sparse.add(tf.sparse.from_dense(x), tf.sparse.from_dense(y)))
x = tf.cast(tf.constant(np.array([-1.0662057399749756, -0.2291543185710907, np.nan, 1.0, 0.0, -0.9137190580368042, -0.1627291589975357, 1.0000000150474662e+30, 1.671146035194397, -0.0, -1.3161349296569824, -0.9257909059524536, 0.0820920467376709, 9.99999991097579e-38, -0.026346202939748764, -np.inf, 0.35527119040489197, -1.057855486869812, -1.0, -0.5513922572135925, -1.0000000150474662e+30, -0.0, -0.06959130614995956, np.inf, 0.36638686060905457, -np.inf, -0.6714978814125061, -0.5491818785667419, 1.146124243736267, 0.0, np.nan, np.inf, -9.99999991097579e-38], 'float32').reshape((33,))), tf.float32)
y = tf.cast(tf.constant(np.array([-1.0000000150474662e+30, -1.0, np.nan, -0.8313343524932861, -0.0, -0.15699145197868347, -1.5655968189239502, 1.1806143522262573, -0.25887513160705566, 1.0000000150474662e+30, 0.5818747878074646, 0.13481251895427704, np.nan, -1.1609890460968018, 9.99999991097579e-38, np.inf, -0.0, -np.inf, 0.7441735863685608, 1.0869097709655762, -0.6211134195327759, 0.0, -9.99999991097579e-38, -1.4314789772033691, -0.010765797458589077, 1.298902153968811, 0.0, 1.1522935628890991, -0.20123399794101715, np.inf, -np.inf, 1.8244928121566772, 1.0], 'float32').reshape((33,))), tf.float32)
work = lambda: call(x=x, y=y)
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2,)]), float('nan')  # by the definition in float64
is_right = bool(got == expected or (got != got and expected != expected))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

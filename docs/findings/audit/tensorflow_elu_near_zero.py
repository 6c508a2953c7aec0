"""tf.nn.elu, tf.nn.selu: lost accuracy, exp(x) - 1 near 0: all digits at -1e-8.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8.
"""

import numpy as np
import tensorflow as tf

x = np.asarray([-1e-1, -1e-2, -1e-4, -1e-6, -1e-8], np.float32)
print(tf.__version__)
for name, f, s in (("elu", tf.nn.elu, 1.0), ("selu", tf.nn.selu, 1.7580993408473766)):
    got, right = f(x).numpy().astype(np.float64), s * np.expm1(x.astype(np.float64))
    print(name, got, "relative error", np.abs(got / right - 1))

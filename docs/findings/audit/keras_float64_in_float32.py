"""keras.ops.mean, var, matmul and others: compute float64 in float32.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
KERAS_BACKEND says on which backend.
"""

import keras
import numpy as np

if keras.backend.backend() == "jax":
    import jax

    jax.config.update("jax_enable_x64", True)
a = np.linspace(0.1, 0.7, 7)
x = keras.ops.convert_to_tensor(a, dtype="float64")
print(
    keras.backend.backend(),
    keras.ops.mean(x).dtype,
    "mean off by",
    abs(float(keras.ops.mean(x)) - a.mean()),
    "var",
    abs(float(keras.ops.var(x)) - a.var()),
    end=" ",
)
b = np.random.default_rng(0).standard_normal((3, 5))
m = keras.ops.convert_to_tensor(b, dtype="float64")
print("matmul", np.abs(keras.ops.convert_to_numpy(keras.ops.matmul(m, keras.ops.transpose(m))) - b @ b.T).max())

"""keras.ops.image.map_coordinates: reflect gives other elements, mirror raises.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
The argument is Keras's backend: torch, tensorflow or jax.
"""

import os
import sys

os.environ["KERAS_BACKEND"] = sys.argv[1]
import keras
import numpy as np

show = lambda x: np.asarray(keras.ops.convert_to_numpy(x)).round(4).tolist()
print("keras", keras.__version__, sys.argv[1])
line = np.arange(1.0, 6.0, dtype="float32")
for mode in ("mirror", "reflect"):
    try:
        print(
            mode, show(keras.ops.image.map_coordinates(line, np.array([[-3.0, -2.0, -1.0, 5.0, 6.0, 7.0]], "float32"), 0, mode))
        )
    except Exception as error:
        print(mode, type(error).__name__)
print("right: mirror [4, 3, 2, 4, 3, 2], reflect [3, 2, 1, 5, 4, 3]")

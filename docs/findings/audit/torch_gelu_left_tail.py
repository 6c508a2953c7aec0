"""F.gelu (exact): lost accuracy, 4 % at -5.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8.
"""

import sys

import numpy as np
from scipy.special import ndtr

x = np.asarray([-2, -3, -4, -5], np.float32)
w = x.astype(np.float64)
tanh = w / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (w + 0.044715 * w**3)))
exact = w * ndtr(w)
if sys.argv[1] == "torch":
    import torch

    f = lambda a: torch.nn.functional.gelu(torch.tensor(x), approximate="tanh" if a else "none").numpy()
    v = torch.__version__
elif sys.argv[1] == "jax":
    import jax

    f = lambda a: np.asarray(jax.nn.gelu(x, approximate=a))
    v = jax.__version__
else:
    import tensorflow as tf

    f = lambda a: tf.nn.gelu(x, approximate=a).numpy()
    v = tf.__version__
for a, right in ((False, exact), (True, tanh)):
    print(sys.argv[1], v, "approximate" if a else "exact", "at", x, "relative error", np.abs(f(a).astype(np.float64) / right - 1))

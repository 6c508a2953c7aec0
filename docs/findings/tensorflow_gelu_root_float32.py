"""tf.nn.gelu multiplies by the root of one half as float32 has it, in float64 too: python tensorflow_gelu_root_float32.py"""

import math

import numpy as np
import tensorflow as tf

x = np.linspace(-6.0, 6.0, 1001)
right = np.array([number * 0.5 * math.erfc(-number / math.sqrt(2.0)) for number in x])
found = tf.nn.gelu(tf.constant(x), approximate=False).numpy()
rounded = 1.0 / float(np.float32(math.sqrt(0.5)))
same = np.array([number * 0.5 * math.erfc(-number / rounded) for number in x])
print(
    f"tensorflow {tf.__version__}: {found.dtype}, off by {np.linalg.norm(found - right) / np.linalg.norm(right):.1e} of its norm; "
    f"{np.linalg.norm(found - same) / np.linalg.norm(same):.1e} with that root in float32"
)

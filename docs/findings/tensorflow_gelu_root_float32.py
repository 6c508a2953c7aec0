"""tf.nn.gelu multiplies by the root of one half as float32 has it, in float64 too: python tensorflow_gelu_root_float32.py"""

import math

import numpy as np
import tensorflow as tf

x = np.linspace(-6.0, 6.0, 1001)
right = np.array([number * 0.5 * math.erfc(-number / math.sqrt(2.0)) for number in x])
found = tf.nn.gelu(tf.constant(x), approximate=False).numpy()
rounded = 1.0 / float(np.float32(math.sqrt(0.5)))
same = np.array([number * 0.5 * math.erfc(-number / rounded) for number in x])
off, off_rounded = (np.linalg.norm(found - other) / np.linalg.norm(other) for other in (right, same))
print(f"tensorflow {tf.__version__}: {found.dtype}, off by {off:.1e} of its norm; {off_rounded:.1e} with that root in float32")
is_right = bool(off < 1e-12)
print("RIGHT" if is_right else "WRONG", "got", off, "expected", 0.0)
raise SystemExit(not is_right)

"""Nine optimizers of Keras 3 on TensorFlow move a row that a batch uses twice by another step than its gradient asks for.

The gradient of an embedding comes as slices, one for each use of a row. Their sum is the row's gradient. These optimizers square
each slice before they add them up, and `clipnorm` and `clipvalue` clip each slice, whatever the optimizer. All are held here to
the same gradient as a dense tensor, over two steps. Run it with TensorFlow alone.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

keras = tf.keras
NAMES = ["SGD", "RMSprop", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Adafactor", "Lion", "Lamb"]
# The first row is used twice, with gradients of 1 and 2; the second once, with 4.
SLICES = tf.IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([0, 0, 1]), tf.constant([2, 1]))


def moved(name, gradient, **clipping):
    """Return where an optimizer leaves two rows of ones after two steps of this gradient."""
    rows = keras.Variable(np.ones((2, 1), "float32"))
    optimizer = getattr(keras.optimizers, name)(0.1, **clipping)
    optimizer.build([rows])
    for _ in range(2):
        optimizer.apply([gradient], [rows])
    return rows.numpy().ravel()


print(f"TensorFlow {tf.__version__}, Keras {keras.__version__}")
wrong = []
for name, clipping in [*((name, {}) for name in NAMES), ("SGD", {"clipnorm": 1.0}), ("SGD", {"clipvalue": 2.5})]:
    right, found = (moved(name, each, **clipping) for each in (tf.convert_to_tensor(SLICES), SLICES))
    is_right = np.allclose(found, right, rtol=1e-5)
    label = " ".join([name, *(f"{key}={value}" for key, value in clipping.items())])
    print(f"{label:18} {'RIGHT' if is_right else 'WRONG'}: first row at {found[0]:.4f}, right {right[0]:.4f}")
    wrong += [] if is_right else [label]
print("WRONG: " + ", ".join(wrong) if wrong else "RIGHT")
raise SystemExit(bool(wrong))

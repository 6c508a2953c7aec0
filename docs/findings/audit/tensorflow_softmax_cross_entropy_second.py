"""tf.nn.softmax_cross_entropy_with_logits: the gradient by logits does not know the labels any more.

Along (1, -1), by which labels stay probabilities, it should move by (-1, 1).
"""

import numpy as np
import tensorflow as tf

labels, logits = tf.constant([[0.2, 0.8]], tf.float64), tf.constant([[1.0, 3.0]], tf.float64)
with tf.GradientTape() as outer:
    outer.watch(labels)
    with tf.GradientTape() as inner:
        inner.watch([labels, logits])
        loss = tf.nn.softmax_cross_entropy_with_logits(labels, logits)
    gradient = inner.gradient(loss, logits)  # softmax of logits, less labels
found = outer.jacobian(gradient, labels, unconnected_gradients=tf.UnconnectedGradients.ZERO)
got = np.asarray(found).reshape(2, 2) @ np.array([1.0, -1.0])
expected = np.array([-1.0, 1.0])
is_right = bool(np.allclose(got, expected))
print("RIGHT" if is_right else "WRONG", "got", got.tolist(), "expected", expected.tolist())
raise SystemExit(not is_right)

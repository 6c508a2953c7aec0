"""tf.math.cumulative_logsumexp: the gradient of what forward mode gives is NaN; the gradient of its gradient is right."""

import numpy as np
import tensorflow as tf

x, d = tf.constant([1.0, 2.0, 4.0], tf.float64), tf.constant([1.0, 0.0, 0.0], tf.float64)
with tf.GradientTape() as tape:
    tape.watch(x)
    with tf.autodiff.ForwardAccumulator(x, d) as pushed:
        y = tf.math.cumulative_logsumexp(x)
    whole = tf.reduce_sum(pushed.jvp(y))
got = np.asarray(tape.gradient(whole, x))


def first_share(x):
    """Return the derivative of all sums by the first number."""
    return sum(np.exp(x[0]) / np.exp(x[: count + 1]).sum() for count in range(3))


steps = 1e-5 * np.eye(3)
expected = np.array([(first_share(x.numpy() + step) - first_share(x.numpy() - step)) / 2e-5 for step in steps])
is_right = bool(np.allclose(got, expected, atol=1e-6))
print("RIGHT" if is_right else "WRONG", "got", got.tolist(), "expected", expected.round(6).tolist())
raise SystemExit(not is_right)

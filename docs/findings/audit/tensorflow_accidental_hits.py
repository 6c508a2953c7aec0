"""tensorflow.nn.compute_accidental_hits finds one of two equal samples: samplers with unique=False give such, and
sampled_softmax_loss then holds the true class against itself."""

import numpy as np
import tensorflow as tf

# The true class is 1, and two of the three samples are that class, as a sampler without unique=True may draw them.
samples = tf.constant([1, 1, 0], tf.int64)
_, places, _ = tf.nn.compute_accidental_hits(tf.constant([[1]], tf.int64), samples, num_true=1)
logits = np.array([2.0, 1.0, 0.5, 0.0], np.float32)
found = float(
    tf.nn.sampled_softmax_loss(
        weights=tf.eye(4), biases=tf.zeros(4), labels=tf.constant([[1]], tf.int64), inputs=tf.constant(logits[None]),
        num_sampled=3, num_classes=4, num_true=1, sampled_values=(samples, tf.ones((1, 1)), tf.ones(3)),
    )[0]
)  # fmt: skip
# Without both hits there are the true class, of logit 1, and class 0, of logit 2.
expected = float(np.log(np.exp(1.0) + np.exp(2.0)) - 1.0)
is_right = sorted(places.numpy().tolist()) == [0, 1] and abs(found - expected) < 1e-5
print("RIGHT" if is_right else "WRONG", "hits at", places.numpy().tolist(), "loss", found, "expected", expected)
raise SystemExit(not is_right)

"""TensorFlow: dropout in bfloat16 drops 1.6 % of the numbers at a rate of 1 %, since it draws in bfloat16, from 128 numbers."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

tf.random.set_seed(3)
found = {}
for kind in (tf.float32, tf.float16, tf.bfloat16):
    for rate in (0.001, 0.01):
        dropped = tf.nn.dropout(tf.ones((1000, 1000), kind), rate)
        found[kind.name, rate] = float(np.mean(tf.cast(dropped, tf.float32).numpy() == 0.0))
        print("tensorflow", tf.__version__, kind.name, "rate", rate, "dropped", found[kind.name, rate])
# Of a million numbers at a rate of 1 %, the share that is dropped has a standard deviation of 0.0001.
got = found["bfloat16", 0.01]
is_right = abs(got - 0.01) < 0.001
print("RIGHT" if is_right else "WRONG", "got", got, "expected", 0.01)
raise SystemExit(not is_right)

"""TensorFlow 2.21.0 on the CPU: in a graph, a matrix product of no terms with a bias added is 0, and the bias is lost."""

import tensorflow as tf

print("tensorflow", tf.__version__)


def dense(x, weight, bias):
    return tf.nn.bias_add(tf.matmul(x, weight), bias)


given = tf.ones((3, 0)), tf.ones((0, 4)), tf.ones(4)
in_graph, eager = tf.function(dense)(*given)[0].numpy(), dense(*given)[0].numpy()
is_right = bool((in_graph == 1.0).all() and (eager == 1.0).all())
print("RIGHT" if is_right else "WRONG", "in a graph", in_graph, "expected", eager)
raise SystemExit(not is_right)

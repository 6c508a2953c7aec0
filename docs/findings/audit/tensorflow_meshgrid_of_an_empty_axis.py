"""TensorFlow 2.21.0: in a graph, tf.meshgrid with an empty first axis ends the process by SIGFPE."""

import multiprocessing
import sys


def grid():
    import tensorflow as tf

    print("tensorflow", tf.__version__, "eager", [each.shape for each in tf.meshgrid(tf.zeros(0), tf.ones(5))], flush=True)
    tf.function(tf.meshgrid)(tf.zeros(0), tf.ones(5))


if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=grid)
    process.start()
    process.join()
    is_right = process.exitcode == 0
    print("RIGHT" if is_right else "WRONG", "the process ended with", process.exitcode, "expected 0")
    sys.exit(not is_right)

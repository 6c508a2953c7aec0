"""TensorFlow 2.21.0 on the CPU: tf.linalg.lstsq with fast=False leaves the solution of no equations unwritten."""

import ctypes

import tensorflow as tf

print("tensorflow", tf.__version__)
# glibc fills what it allocates with 0xFE, so that what nobody writes shows: four such bytes are -1.7e38.
ctypes.CDLL(None).mallopt(-6, 0x01)
matrix, right = tf.zeros((0, 3)), tf.zeros((0, 2))
orthogonal = float(tf.reduce_max(tf.abs(tf.linalg.lstsq(matrix, right, fast=False))))
fast = float(tf.reduce_max(tf.abs(tf.linalg.lstsq(matrix, right))))
is_right = orthogonal == fast == 0.0
print("RIGHT" if is_right else "WRONG", "the largest number of the solution is", orthogonal, "expected", fast)
raise SystemExit(not is_right)

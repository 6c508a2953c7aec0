"""TensorFlow: tf.tan of complex64 is 0 far from the real axis when XLA compiles it, where it is -1j.

https://github.com/jax-ml/jax/issues/17172 tells of the same in JAX, which shares XLA.
WRONG in 2.16.1, RIGHT in 2.20.0 (run on 2026-11-25, AMD EPYC).
"""

import sys

import tensorflow as tf


@tf.function(jit_compile=True)
def tan(x):
    return tf.tan(x)


got = float(tan(tf.constant(-1.0 - 45.0j, tf.complex64)).numpy().imag)
ok = abs(got + 1.0) < 1e-3
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.5f} expected -1.00000")
sys.exit(not ok)

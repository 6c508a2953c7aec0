"""jax.numpy.ldexp and keras.ops.ldexp, on JAX and TensorFlow: at 0 the gradient of x times 2 to the n is 1 instead of 2 to the n.

The first argument is the backend of Keras.
"""

import os
import sys

backend = sys.argv[1] if sys.argv[1:] else "jax"
os.environ["KERAS_BACKEND"] = backend

import keras

if backend == "jax":
    import jax
    import jax.numpy as jnp

    found = [float(jax.grad(lambda x: each(x, jnp.int32(3)))(0.0)) for each in (keras.ops.ldexp, jnp.ldexp)]
else:
    import tensorflow as tf

    x = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = keras.ops.ldexp(x, tf.constant(3))
    found = [float(tape.gradient(value, x))]
is_right = all(each == 8.0 for each in found)
print("RIGHT" if is_right else "WRONG", "got", found, "expected", 8.0)
raise SystemExit(not is_right)

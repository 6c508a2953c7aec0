"""JAX 0.10.2: jax.random.normal in bfloat16 gives one of 128 numbers, of which the largest is 2.52 and the smallest -2.89."""
import math

import jax
import numpy as np

print("jax", jax.__version__)
samples = np.asarray(jax.random.normal(jax.random.key(0), (1_000_000,), "bfloat16")).astype("float64")
print(len(np.unique(samples)), "numbers, from", samples.min(), "to", samples.max())
got, expected = float((samples > 2.6).mean()), math.erfc(2.6 / math.sqrt(2)) / 2  # the share of a normal distribution above 2.6
is_right = abs(got - expected) < 6 * math.sqrt(expected / samples.size)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

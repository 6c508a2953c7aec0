"""JAX 0.10.2 on a CPU: sums over windows in bfloat16 stop at 256 ones, so that average pools of large windows are wrong."""
import jax
import jax.numpy as jnp
from flax import linen

print("jax", jax.__version__)
ones = jnp.ones((1, 2000, 1), jnp.bfloat16)
total = jax.jit(lambda x: jax.lax.reduce_window(x, jnp.bfloat16(0), jax.lax.add, (1, 1000, 1), (1, 1000, 1), "VALID"))(ones)
mean = jax.jit(lambda x: linen.avg_pool(x, (1000,), (1000,)))(ones)
print("jax.lax.reduce_window", total.ravel().tolist(), "of 1000; jax.numpy.sum of both", float(jnp.sum(ones)))
got, expected = float(mean[0, 0, 0]), 1.0
is_right = abs(got - expected) < 0.01
print("RIGHT" if is_right else "WRONG", "flax.linen.avg_pool got", got, "expected", expected)
raise SystemExit(not is_right)

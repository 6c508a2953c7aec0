"""JAX 0.10.2: the gradient of x / y by y is 0 in float16 where y is above 256, since y squared is infinite then."""
import jax
import jax.numpy as jnp

print("jax", jax.__version__)
x, expected = jnp.float16(1000.0), {200.0: -0.025, 300.0: -1000 / 300**2, 500.0: -0.004}
got = {y: float(jax.jit(jax.grad(lambda y: x / y))(jnp.float16(y))) for y in expected}
print("gradients", got, "of", expected)
is_right = all(abs(got[y] / right - 1) < 0.01 for y, right in expected.items())
print("RIGHT" if is_right else "WRONG", "got", got[300.0], "expected", expected[300.0])
raise SystemExit(not is_right)

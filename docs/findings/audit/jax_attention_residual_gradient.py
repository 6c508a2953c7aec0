"""JAX 0.10.2: the residual of jax.nn.dot_product_attention (a logsumexp) has the derivative 0."""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
q, k, v = (jax.random.normal(jax.random.key(i), (1, 3, 1, 4), jnp.float64) for i in range(3))


def residual(q):
    return jax.nn.dot_product_attention(q, k, v, implementation="xla", return_residual=True)[1].sum()


def plain(q):
    return jax.nn.logsumexp(jnp.einsum("btnh,bsnh->btns", q, k) / 2.0, axis=-1).sum()


print("jax", jax.__version__, "values", residual(q), plain(q))
got, right = (float(jax.grad(function)(q)[0, 0, 0, 0]) for function in (residual, plain))
print("gradient of the residual", got, "of logsumexp", right)
is_right = abs(got - right) < 1e-6
print("RIGHT" if is_right else "WRONG", "got", got, "expected", right)
raise SystemExit(not is_right)

"""jax.scipy.special.bernoulli, jax 0.10.2, jit: outputs/0 is 4.4e+05 times rounding off."""
import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
jax.config.update("jax_enable_x64", True)
call = lambda like: special.bernoulli(10).astype(like.dtype)
like = jnp.asarray(np.array([-1.635306379826866], 'float64').reshape((1,)), jnp.float64)
work = jax.jit(lambda: call(like=like))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(4,)]), float('-0.033333333333275914')  # by the definition in float64
is_right = bool(abs(got - expected) < 4.23e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

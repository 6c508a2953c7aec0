"""jax.lax.lgamma, jax 0.10.2, jit: outputs/0 is 82.7 times rounding off."""
from jax.lax import lgamma as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([3.8554599285125732, 1.52179753780365, 2.9700393676757812, 3.68925142288208, 0.5760802030563354, 1.0930111408233643, 3.0290303230285645], 'float32').reshape((7,)), jnp.float32)
work = jax.jit(lambda: call(x=x))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('-0.11976618601184486')  # by the definition in float64
is_right = abs(got - expected) < 2.14e-07
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

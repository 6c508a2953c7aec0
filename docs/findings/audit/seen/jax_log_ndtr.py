"""jax.scipy.special.log_ndtr, jax 0.10.2, jit: outputs/0 is 1.07e+04 times rounding off."""
from jax.scipy.special import log_ndtr as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([-1.0194361209869385, -7.7359466552734375, 0.938255786895752, -0.4202224910259247, -3.408397912979126, 4.87920618057251, 3.831926107406616], 'float32').reshape((7,)), jnp.float32)
work = jax.jit(lambda: call(x=x))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(5,)]), float('-5.325684983097457e-07')  # by the definition in float64
is_right = abs(got - expected) < 1.94e-09
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

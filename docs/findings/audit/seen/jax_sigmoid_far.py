"""jax.lax.logistic, jax 0.10.2, jit: outputs/0 is 120 times rounding off."""
from jax.lax import logistic as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([-11.4765625, 2.5625, -7.22265625, -0.310546875, 1.7470703125, 2.982421875, 2.89453125, -2.583984375, 6.6328125, -2.208984375, 14.9140625, 4.44921875, 0.28515625, 5.82421875, -8.4296875, -6.46484375, -7.3671875, -14.578125, -17.65625, -5.27734375, -3.58984375, 11.75, -4.375, -12.9921875, 2.953125, -5.78125, 5.25390625, -6.09765625, -1.0947265625, -0.026275634765625, -4.04296875, 6.13671875, 17.3125], 'float32').reshape((33,)), jnp.float16)
work = jax.jit(lambda x: call(x=x))
found = work(x)
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('1.037021430298023e-05')  # by the definition in float64
is_right = bool(abs(got - expected) < 5.19e-06)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

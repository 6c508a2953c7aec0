"""jax.scipy.special.exp1, jax 0.10.2, jit: outputs/0 is inf times rounding off."""
from jax.scipy.special import exp1 as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([3.34765625, 4.5, 4.3671875, 1.30078125, 1.1376953125, 1.173828125, 2.478515625, 4.015625, 3.857421875, 0.97607421875, 4.66796875, 0.51806640625, 1.30859375, 4.80078125, 3.107421875, 1.384765625, 3.14453125, 2.2890625, 0.9453125, 0.89501953125, 1.5244140625, 3.759765625, 1.1337890625, 3.263671875, 1.7294921875, 2.19921875, 2.83984375, 3.734375, 4.04296875, 3.169921875, 1.4306640625, 0.9853515625, 2.8671875], 'float32').reshape((33,)), jnp.float16)
work = jax.jit(lambda: call(x=x))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(12,)]), float('0.13366297938709415')  # by the definition in float64
is_right = bool(got == expected or (got != got and expected != expected))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

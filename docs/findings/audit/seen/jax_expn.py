"""jax.scipy.special.expn, jax 0.10.2, jit: gradients/x is inf times rounding off."""
from typing import Any
import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
def _order(function: Any) -> Any:
    return lambda x, order: function(order, x)
call = _order(special.expn)
x = jnp.asarray(np.array([4.913760185241699, 3.7589986324310303, 4.987719535827637, 3.222971200942993, 1.883181095123291, 0.7033533453941345, 0.528196394443512], 'float32').reshape((7,)), jnp.float32)
cotangents = [np.array([0.5856482982635498, -0.6399732828140259, -0.9582247138023376, -0.378611296415329, -1.3496124744415283, 0.11610471457242966, 1.306327223777771], 'float32').reshape((7,))]
work = lambda x: call(x=x, order=0)
def gradient(x):
    found, pull = jax.vjp(lambda x: [*jax.tree_util.tree_leaves(work(x))], x)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
found = np.asarray(jax.jit(gradient)(x)).astype(np.float64)
got, expected = float(found[(5,)]), float('-0.19785408041567953')  # by the definition in float64
is_right = got == expected or (got != got and expected != expected)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

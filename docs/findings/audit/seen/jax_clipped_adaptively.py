"""optax.adaptive_grad_clip, jax 0.10.2, jit: outputs/0 is 1.99e+07 times rounding off."""
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
import optax
def _once(transformation: Any, updates: Any, weights: Any=None) -> Any:
    return transformation.update(updates, transformation.init(updates if weights is None else weights), weights)[0]
call = lambda w, g, *, share, least: _once(optax.adaptive_grad_clip(share, least), g, w)
w = jnp.asarray(np.array([0.6708236336708069, 1.4826735258102417], 'float32').reshape((1, 2)), jnp.float32)
g = jnp.asarray(np.array([-0.6375245451927185, 0.5116103887557983], 'float32').reshape((1, 2)), jnp.float32)
work = jax.jit(lambda: call(w=w, g=g, share=0.5, least=0.001))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0)]), float('-0.3354118168354034')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.15)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

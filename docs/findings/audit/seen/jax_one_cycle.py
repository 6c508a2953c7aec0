"""optax.cosine_onecycle_schedule, jax 0.10.2, jit: outputs/0 is 68.1 times rounding off."""
Unsupported = ValueError
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
import optax
_STEPS = 64
def _rates(schedule: Any, rate: Any) -> Any:
    """Return the rate of each step."""
    return jax.vmap(lambda step: jnp.asarray(schedule(step), rate.dtype))(jnp.arange(_STEPS))
def _one_cycle(rate: Any, *, total: int, share: float, first: float, last: float, kind: str, phases: int, is_closed: bool) -> Any:
    if is_closed or kind != 'cos' or phases != 2:
        raise Unsupported('is_closed, kind, phases: optax has the cosine of two phases, whose end comes after the last step.')
    return _rates(optax.cosine_onecycle_schedule(total, rate[0], share, first, last), rate)
call = _one_cycle
rate = jnp.asarray(np.array([0.7648142576217651], 'float32').reshape((1,)), jnp.float32)
work = jax.jit(lambda: call(rate=rate, total=60, share=0.25, first=25.0, last=10000.0, kind='cos', phases=2, is_closed=False))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(58,)]), float('0.0037246042611118746')  # by the definition in float64
is_right = abs(got - expected) < 8.09e-09
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

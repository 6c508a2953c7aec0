"""optax.tree.bias_correction, jax 0.10.2, jit: outputs/0 is 365 times rounding off."""
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
import optax
tree = optax.tree
def _one(found: dict[str, Any]) -> Any:
    return (found['x'], found['y'])
def _corrected(x: Any, y: Any, decay: float, count: int) -> Any:
    return _one(tree.bias_correction({'x': x, 'y': y}, decay, jnp.asarray(count)))
call = _corrected
x = jnp.asarray(np.array([-0.562159538269043, -0.3639295697212219, -1.649213194847107, 0.22238771617412567, -0.8274519443511963, 1.4614757299423218, 0.36812394857406616, 0.35849183797836304, -1.780295968055725, -0.980522871017456, 0.3500496745109558, -1.4328973293304443], 'float32').reshape((3, 4)), jnp.float32)
y = jnp.asarray(np.array([-0.33793821930885315, -0.023637371137738228, 0.8044165372848511, -0.7301381826400757], 'float32').reshape((4,)), jnp.float32)
work = jax.jit(lambda: call(x=x, y=y, decay=0.999, count=7))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1, 1)]), float('209.40942942215725')  # by the definition in float64
is_right = abs(got - expected) < 0.00159
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

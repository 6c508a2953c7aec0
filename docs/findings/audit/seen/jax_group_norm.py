"""flax.linen.GroupNorm, jax 0.10.2, jit: outputs/0 is 202 times rounding off."""
from flax import linen
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
def _linen(module: Any, x: Any, **given: Any) -> Any:
    return module.apply({'params': given}, x)
def _last(x: Any) -> Any:
    return jnp.moveaxis(x, -1, 1)
def _precise(x: Any) -> dict[str, Any]:
    """Return the type of parameters, which flax has float32 else."""
    return {'param_dtype': x.dtype, 'dtype': x.dtype}
def _first(x: Any) -> Any:
    """Return [m, channel, l] as [m, l, channel], or the other way round."""
    return jnp.moveaxis(x, 1, -1)
def _linen_group(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    return _last(_linen(linen.GroupNorm(groups, epsilon=epsilon, **_precise(x)), _first(x), scale=scale, bias=bias))
call = _linen_group
x = jnp.asarray(np.array([1.7305725812911987, 1.6406803131103516, 1.4603641033172607, 2.128582239151001, 1.3117690086364746, 1.8394393920898438, -1.4721522331237793, -3.758391857147217, -4.605437278747559, 0.0789230614900589, -0.12869736552238464, -0.8963739275932312, -1.9656407833099365, -2.312224864959717, -2.0602736473083496, -0.754375696182251, -0.3886350393295288, -2.128793239593506], 'float32').reshape((1, 6, 3)), jnp.float32)
scale = jnp.asarray(np.array([0.8384358882904053, 0.5854512453079224, 1.1813654899597168, 1.5229233503341675, 1.1942273378372192, 0.937346875667572], 'float32').reshape((6,)), jnp.float32)
bias = jnp.asarray(np.array([0.13382025063037872, 1.872482419013977, -0.8133644461631775, -0.735725462436676, 0.33433735370635986, 1.2188146114349365], 'float32').reshape((6,)), jnp.float32)
work = jax.jit(lambda x, scale, bias: call(x=x, scale=scale, bias=bias, groups=6, epsilon=1e-05))
found = work(x, scale, bias)
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 0, 2)]), float('-0.9864262942288031')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.55e-05)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

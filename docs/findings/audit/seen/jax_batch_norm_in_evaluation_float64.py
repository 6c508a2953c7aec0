"""flax.nnx.BatchNorm, jax 0.10.2, jit: outputs/0 is 2.14e+03 times rounding off."""
from flax import nnx
import jax
import jax.numpy as jnp
import numpy as np
jax.config.update("jax_enable_x64", True)
_precise = lambda x: {'param_dtype': x.dtype, 'dtype': x.dtype}
def _nnx_batch(x, scale, bias, mean, variance, share, *, is_given=False, mask=None, **rest):
    module = nnx.BatchNorm(x.shape[1], use_running_average=is_given, axis=1, momentum=1.0 - share, rngs=nnx.Rngs(0), **rest, **_precise(x))
    for variable, value in ((module.scale, scale), (module.bias, bias), (module.mean, mean), (module.var, variance)):
        variable[...] = value
    found = module(x, mask=mask)
    return (found, module.mean[...], module.var[...])
call = lambda x, mean, variance, scale, bias, epsilon: _nnx_batch(x, scale, bias, mean, variance, 0.1, epsilon=epsilon, is_given=True)[0]
x = jnp.asarray(np.array([-0.3593539737935121, 0.7198974967873804, -0.23946081446520875, -0.224558437157159, 1.5485205553384767, 1.1720235828511103, -1.1601185816676405, 0.5135560821778328, -0.30386559933477575, -0.6914648121919638, 0.9856775140337387, 1.2679913557935745, 0.8452703100297375, 1.6809999525289787, -0.7869220354907145, -1.8056706001195273, 0.7516182531903274, 0.2977325311464276, -1.057415696141775, -0.6754617654616518, 0.6912510053572922, 1.8638861783514846, -0.059331710133690645, -1.6014664350646672], 'float64').reshape((3, 2, 4)), jnp.float64)
mean = jnp.asarray(np.array([0.2032250701187823, -2.2155759850492025], 'float64').reshape((2,)), jnp.float64)
variance = jnp.asarray(np.array([3.6214749862919753, 0.9441440880168488], 'float64').reshape((2,)), jnp.float64)
scale = jnp.asarray(np.array([0.7489362916601683, 0.9042126574942544], 'float64').reshape((2,)), jnp.float64)
bias = jnp.asarray(np.array([0.22348691077167396, 1.3859996895727205], 'float64').reshape((2,)), jnp.float64)
work = jax.jit(lambda x, mean, variance, scale, bias: call(x=x, mean=mean, variance=variance, scale=scale, bias=bias, epsilon=1e-05))
found = work(x, mean, variance, scale, bias)
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2, 1, 3)]), float('1.957471739429455')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.13e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

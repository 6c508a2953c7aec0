"""flax.nnx.BatchNorm, jax 0.10.2, jit: outputs/0 is 8.28e+03 times rounding off."""
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
call = lambda x, mean, variance, share: _nnx_batch(x, jnp.ones_like(mean), jnp.zeros_like(mean), mean, variance, share)[1:]
x = jnp.asarray(np.array([-0.04062641183233798, -0.3720124806898936, 0.17703777548404925, -2.685600037895096, -0.7261974589868277, -1.6264539179664161, -2.0944198650133545, -1.3850944859681404, -0.5073076210139406, -0.1462807453016422, 0.9172838940198943, 0.6589660281544971, 1.9302078462700203, 2.436495690595322, -0.29835534989755613, -0.02167572799977005, -0.7754185685145494, -0.5709950972636328, -0.36921673585457193, -0.311669138898033, 1.3844965858806582, 2.159189502572631, 1.2655598580933731, 0.6739081736255353], 'float64').reshape((3, 2, 4)), jnp.float64)
mean = jnp.asarray(np.array([-0.4791448463499113, -1.5905001120808175], 'float64').reshape((2,)), jnp.float64)
variance = jnp.asarray(np.array([1.7787860383166063, 0.34824181878519705], 'float64').reshape((2,)), jnp.float64)
work = jax.jit(lambda x, mean, variance: call(x=x, mean=mean, variance=variance, share=0.1))
found = work(x, mean, variance)
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0,)]), float('-0.46477902121163067')  # by the definition in float64
is_right = bool(abs(got - expected) < 1.58e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

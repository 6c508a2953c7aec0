"""flax.nnx.BatchNorm, jax 0.10.2, jit: outputs/0 is 4.5e+03 times rounding off."""
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
call = lambda x, mean, variance, where, share: _nnx_batch(x, jnp.ones_like(mean), jnp.zeros_like(mean), mean, variance, share, mask=where[:, None])[1:]
x = jnp.asarray(np.array([-5.379517533979639, 0.16944140043752642, 1.2145496262346724, 0.7131529947679611, 0.9475328738665698, 2.1992744817879832, 0.2680352697977088, 1.5054513747120046, 0.3889304909747834, -0.49929610230317134, 0.6803308928312647, -0.3235787818562628, 0.8942582111105768, -0.26046468051435634, 0.2574298361896435, -0.3420593845732588, 0.26147431205912297, -2.0275817897408652, -0.1232104932864706, -1.881556104550088, -0.15554406335625348, 0.9134803801447431, -0.005466423627045192, -2.8075721990217657], 'float64').reshape((3, 2, 4)), jnp.float64)
mean = jnp.asarray(np.array([-0.42128114505914455, 0.17219830496925187], 'float64').reshape((2,)), jnp.float64)
variance = jnp.asarray(np.array([0.8633155744365139, 3.924123972935716], 'float64').reshape((2,)), jnp.float64)
where = jnp.asarray(np.array([True, True, True, True, True, True, True, True, True, True, True, True], 'bool').reshape((3, 4)), jnp.bool_)
work = jax.jit(lambda x, mean, variance, where: call(x=x, mean=mean, variance=variance, where=where, share=0.1))
found = work(x, mean, variance, where)
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('0.18343143844329796')  # by the definition in float64
is_right = bool(abs(got - expected) < 3.4e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

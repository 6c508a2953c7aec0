"""flax.nnx.BatchNorm, jax 0.10.2, jit: outputs/0 is 2.44e+03 times rounding off."""
import jax
import jax.numpy as jnp
import numpy as np
jax.config.update("jax_enable_x64", True)
from collections.abc import Callable, Mapping
from typing import Any
import jax.numpy as jnp
from flax import linen, nnx
Call = Callable[..., Any]
def _precise(x: Any) -> dict[str, Any]:
    """Return the type of parameters, which flax has float32 else."""
    return {'param_dtype': x.dtype, 'dtype': x.dtype}
def _linen(module: Any, x: Any, **given: Any) -> Any:
    return module.apply({'params': given}, x)
def _nnx(module: Any, x: Any, **given: Any) -> Any:
    for name, value in given.items():
        getattr(module, name)[...] = value
    return module(x)
def _first(x: Any) -> Any:
    """Return [m, channel, l] as [m, l, channel], or the other way round."""
    return jnp.moveaxis(x, 1, -1)
def _last(x: Any) -> Any:
    return jnp.moveaxis(x, -1, 1)
def _linen_batch(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, share: float, *, is_given: bool=False, mask: Any=None, **rest: Any) -> Any:
    """Return what linen's layer over channels of axis 1 gives, and its new statistics."""
    module = linen.BatchNorm(use_running_average=is_given, axis=1, momentum=1.0 - share, **rest, **_precise(x))
    state = {'params': {'scale': scale, 'bias': bias}, 'batch_stats': {'mean': mean, 'var': variance}}
    found, new = module.apply(state, x, mask=mask, mutable=['batch_stats'])
    return (found, new['batch_stats']['mean'], new['batch_stats']['var'])
def _nnx_batch(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, share: float, *, is_given: bool=False, mask: Any=None, **rest: Any) -> Any:
    """Return the same of nnx's layer."""
    module = nnx.BatchNorm(x.shape[1], use_running_average=is_given, axis=1, momentum=1.0 - share, rngs=nnx.Rngs(0), **rest, **_precise(x))
    for variable, value in ((module.scale, scale), (module.bias, bias), (module.mean, mean), (module.var, variance)):
        variable[...] = value
    found = module(x, mask=mask)
    return (found, module.mean[...], module.var[...])
def _in_training(layer: Call, **more: Any) -> Call:
    def call(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
        none = jnp.zeros_like(scale)
        return layer(x, scale, bias, none, none + 1, 0.1, epsilon=epsilon, **more)[0]
    return call
def _in_evaluation(layer: Call) -> Call:
    def call(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
        return layer(x, scale, bias, mean, variance, 0.1, epsilon=epsilon, is_given=True)[0]
    return call
def _running(layer: Call) -> Call:
    def call(x: Any, mean: Any, variance: Any, share: float) -> Any:
        return layer(x, jnp.ones_like(mean), jnp.zeros_like(mean), mean, variance, share)[1:]
    return call
def _masked(layer: Call) -> Call:
    def call(x: Any, where: Any, scale: Any, bias: Any, epsilon: float) -> Any:
        none = jnp.zeros_like(scale)
        return layer(x, scale, bias, none, none + 1, 0.1, epsilon=epsilon, mask=where[:, None])[0]
    return call
def _masked_running(layer: Call) -> Call:
    def call(x: Any, mean: Any, variance: Any, where: Any, share: float) -> Any:
        return layer(x, jnp.ones_like(mean), jnp.zeros_like(mean), mean, variance, share, mask=where[:, None])[1:]
    return call
def _both(name: str, form: Callable[[Call], Call], said: str) -> dict[str, Call]:
    return {f'flax.linen.{name}{said}': form(_linen_batch), f'flax.nnx.{name}{said}': form(_nnx_batch)}
def _axes(x: Any) -> tuple[int, ...]:
    return tuple(range(1, x.ndim))
def _linen_layer(x: Any, scale: Any, bias: Any, epsilon: float, **more: Any) -> Any:
    axes = {'reduction_axes': _axes(x), 'feature_axes': _axes(x)}
    return _linen(linen.LayerNorm(epsilon=epsilon, **axes, **more, **_precise(x)), x, scale=scale, bias=bias)
def _nnx_layer(x: Any, scale: Any, bias: Any, epsilon: float, **more: Any) -> Any:
    return _nnx(nnx.LayerNorm(x.shape[1], epsilon=epsilon, rngs=nnx.Rngs(0), **more, **_precise(x)), x, scale=scale, bias=bias)
def _nnx_rms(x: Any, scale: Any, epsilon: float) -> Any:
    return _nnx(nnx.RMSNorm(x.shape[1], epsilon=epsilon, rngs=nnx.Rngs(0), **_precise(x)), x, scale=scale)
def _linen_group(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    return _last(_linen(linen.GroupNorm(groups, epsilon=epsilon, **_precise(x)), _first(x), scale=scale, bias=bias))
def _nnx_group(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    module = nnx.GroupNorm(x.shape[1], groups, epsilon=epsilon, rngs=nnx.Rngs(0), **_precise(x))
    return _last(_nnx(module, _first(x), scale=scale, bias=bias))
def _linen_instance(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _last(_linen(linen.InstanceNorm(epsilon=epsilon, **_precise(x)), _first(x), scale=scale, bias=bias))
def _nnx_instance(x: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    module = nnx.InstanceNorm(x.shape[1], epsilon=epsilon, rngs=nnx.Rngs(0), **_precise(x))
    return _last(_nnx(module, _first(x), scale=scale, bias=bias))
def _linen_weight(x: Any, g: Any, v: Any) -> Any:
    dense = linen.Dense(len(v), use_bias=False, **_precise(x))
    module = linen.WeightNorm(dense, **_precise(x))
    return module.apply({'params': {'layer_instance': {'kernel': v.T}, 'layer_instance/kernel/scale': g}}, x)
_SLOW = {'use_fast_variance': False}
_ROWS: Mapping[str, Call] = {'flax.linen.LayerNorm': _linen_layer, 'flax.nnx.LayerNorm': _nnx_layer, 'flax.linen.LayerNorm (slow variance)': lambda **given: _linen_layer(**given, **_SLOW), 'flax.nnx.LayerNorm (slow variance)': lambda **given: _nnx_layer(**given, **_SLOW)}
CALLS: Mapping[str, Mapping[str, Call | None]] = {'batch_norm_in_training': {**_both('BatchNorm', _in_training, ''), 'flax.linen.BatchNorm (slow variance)': _in_training(_linen_batch, **_SLOW), 'flax.nnx.BatchNorm (slow variance)': _in_training(_nnx_batch, **_SLOW)}, 'batch_norm_running_biased': _both('BatchNorm', _running, ' (running)'), 'batch_norm_in_evaluation': _both('BatchNorm', _in_evaluation, ' (evaluation)'), 'masked_batch_norm': _both('BatchNorm', _masked, ' (mask)'), 'masked_batch_norm_running': _both('BatchNorm', _masked_running, ' (mask, running)'), 'layer_norm': _ROWS, 'layer_norm_of_large_means': _ROWS, 'layer_norm_of_two_axes': {'flax.linen.LayerNorm (two axes)': _linen_layer}, 'rms_norm': {'flax.linen.RMSNorm': lambda x, scale, epsilon: _linen(linen.RMSNorm(epsilon=epsilon, **_precise(x)), x, scale=scale), 'flax.nnx.RMSNorm': _nnx_rms}, 'group_norm': {'flax.linen.GroupNorm': _linen_group, 'flax.nnx.GroupNorm': _nnx_group}, 'instance_norm': {'flax.linen.InstanceNorm': _linen_instance, 'flax.nnx.InstanceNorm': _nnx_instance}, 'weight_norm': {'flax.linen.WeightNorm': _linen_weight}}
call = CALLS['batch_norm_in_evaluation']['flax.nnx.BatchNorm (evaluation)']
x = jnp.asarray(np.array([-0.3593539737935121, 0.7198974967873804, -0.23946081446520875, -0.224558437157159, 1.5485205553384767, 1.1720235828511103, -1.1601185816676405, 0.5135560821778328, -0.30386559933477575, -0.6914648121919638, 0.9856775140337387, 1.2679913557935745, 0.8452703100297375, 1.6809999525289787, -0.7869220354907145, -1.8056706001195273, 0.7516182531903274, 0.2977325311464276, -1.057415696141775, -0.6754617654616518, 0.6912510053572922, 1.8638861783514846, -0.059331710133690645, -1.6014664350646672], 'float64').reshape((3, 2, 4)), jnp.float64)
mean = jnp.asarray(np.array([0.2032250701187823, -2.2155759850492025], 'float64').reshape((2,)), jnp.float64)
variance = jnp.asarray(np.array([3.6214749862919753, 0.9441440880168488], 'float64').reshape((2,)), jnp.float64)
scale = jnp.asarray(np.array([0.7489362916601683, 0.9042126574942544], 'float64').reshape((2,)), jnp.float64)
bias = jnp.asarray(np.array([0.22348691077167396, 1.3859996895727205], 'float64').reshape((2,)), jnp.float64)
work = jax.jit(lambda: call(x=x, mean=mean, variance=variance, scale=scale, bias=bias, epsilon=1e-05))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(2, 1, 3)]), float('1.957471739429455')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.13e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""flax.linen.LayerNorm, jax 0.10.2, jit: outputs/0 is 1.17e+03 times rounding off."""
import jax
import jax.numpy as jnp
import numpy as np
import base64, zlib
unpack = lambda text, kind: np.frombuffer(zlib.decompress(base64.b85decode(text)), kind).copy()
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
call = CALLS['layer_norm_of_large_means']['flax.linen.LayerNorm']
x = jnp.asarray(unpack('c-jq-SxA*p0ECSmG$D}|A}K1;7K%b8dJwHX$b!@siri3JG(l7-Gm$c>2+6>($S#@@VTO_|q^N17-t(Vx{{LRh9<0o|5iO7=Vj?a@ows2ghM8~Xepj@YyD5pYsLhn5-E|o4v++I=M73#r@eaOXhkwfzsTU<zDkQN9lD?T9=1p4^g=unLTKENODk>Gpd6H<CBGS+1P`zY4RB_noq-2LTJvLd(B%4ksVxMWOHpOO3G1w@GxuI!)AlNr8xm{y%bde_A=z)BV{2<6^6@30>(={ll50v;WXad&=3d<!sa|JDRiqoMsIYTz_or07O$+owOfP9<X*~S}_ocrlvs=z~HgpKQ)M)ztO@@&>(lUAj9^R<Vwdu)PA75AGI=^GSB$~<&DGJDLX{ZoR6DGm#3H6bm6>ZdjXlbY}X$!L*Hd#c5|ACg|LVxpyoC7FtZP)YYC5665OSF=TlSCVktAtu1EGQ8h!lQhi{{C*{v9MN=+DddRcL8;*4I>Wy~lbGpdcC|yczn6Z~v+A`V-d~fOW6@fyNse=9bPK{8B!wF_soO2Co^o@?c;~NcUSueq$4N?dNfxJ=PGyR5!)yAa!&38^FUsQYC&89F!*N2fvRbnKfW_=(^IL=>?4Fy)iIU-TP4g{9?GDZSV4IC-B5NcEU6Pq3MbtIPpRK0XUd_!_lCFLW*QCOorRc8r;5C`U(H0?Q<BD;Mpkl>>A;rfpippS<dB&z%Tl@$7u2*g', 'float32').reshape((5, 33)), jnp.float32)
scale = jnp.asarray(np.array([0.9236853718757629, 1.158255934715271, 1.4586784839630127, 1.4046220779418945, 1.2956312894821167, 0.9129875302314758, 0.8248641490936279, 0.7892202138900757, 1.2134896516799927, 0.7837202548980713, 0.6709945201873779, 0.8439544439315796, 0.6261231303215027, 1.5683674812316895, 1.1826802492141724, 1.3104552030563354, 1.3868035078048706, 0.9283912181854248, 1.0168448686599731, 0.9729986786842346, 1.478187918663025, 0.8576870560646057, 1.3354908227920532, 0.7158927321434021, 1.1444776058197021, 1.033984899520874, 1.3875843286514282, 1.2122811079025269, 0.8189969062805176, 1.4737707376480103, 0.7089641094207764, 0.861103355884552, 1.1805754899978638], 'float32').reshape((33,)), jnp.float32)
bias = jnp.asarray(np.array([-1.2378175258636475, -0.8149468302726746, 0.6842277646064758, -0.21794924139976501, -0.10611595958471298, 0.02188805304467678, 0.29248788952827454, 1.5592378377914429, 0.4695591628551483, 0.07077290117740631, 1.005253553390503, 1.6289267539978027, 0.9545434713363647, 0.563591480255127, 2.1539275646209717, -0.46147966384887695, -0.03331141918897629, 1.303310513496399, -0.009249716997146606, 0.18539921939373016, 0.3738391399383545, -0.4911555051803589, 0.2435355931520462, 0.15478093922138214, -0.8300691246986389, -0.5904902815818787, 0.847614586353302, 0.827220618724823, -0.6111432909965515, -0.8370158076286316, 0.010373152792453766, 0.34909504652023315, 0.7885755896568298], 'float32').reshape((33,)), jnp.float32)
work = jax.jit(lambda: call(x=x, scale=scale, bias=bias, epsilon=1e-05))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(3, 8)]), float('3.352855904532143')  # by the definition in float64
is_right = abs(got - expected) < 0.00158
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.layers.BatchNormalization, jax 0.10.2, jit: outputs/0 is 5.59e+03 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
from keras import ops
from typing import Any
import jax
import jax.numpy as jnp
import keras
import numpy as np
jax.config.update("jax_enable_x64", True)
def _kind(x: Any) -> str:
    return keras.backend.standardize_dtype(x.dtype)
def _built(layer: Any, x: Any) -> Any:
    layer.build(tuple(x.shape))
    return layer
def _batch(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, share: float, **more: Any) -> Any:
    """Return what a layer over channels of axis 1 gives, and its new statistics."""
    layer = _built(keras.layers.BatchNormalization(axis=1, epsilon=epsilon, momentum=1.0 - share, dtype=_kind(x)), x)
    found, state = layer.stateless_call([scale, bias], [mean, variance], x, **more)
    return (found, *state)
def _plain(x: Any) -> dict[str, Any]:
    return {'scale': ops.ones_like(x[0, :, 0]), 'bias': ops.zeros_like(x[0, :, 0])}
def _running(x: Any, mean: Any, variance: Any, share: float) -> Any:
    return _batch(x, **_plain(x), mean=mean, variance=variance, epsilon=0.001, share=share, training=True)[1:]
call = _running
x = jnp.asarray(np.array([-0.04062641183233798, -0.3720124806898936, 0.17703777548404925, -2.685600037895096, -0.7261974589868277, -1.6264539179664161, -2.0944198650133545, -1.3850944859681404, -0.5073076210139406, -0.1462807453016422, 0.9172838940198943, 0.6589660281544971, 1.9302078462700203, 2.436495690595322, -0.29835534989755613, -0.02167572799977005, -0.7754185685145494, -0.5709950972636328, -0.36921673585457193, -0.311669138898033, 1.3844965858806582, 2.159189502572631, 1.2655598580933731, 0.6739081736255353], 'float64').reshape((3, 2, 4)), jnp.float64)
mean = jnp.asarray(np.array([-0.4791448463499113, -1.5905001120808175], 'float64').reshape((2,)), jnp.float64)
variance = jnp.asarray(np.array([1.7787860383166063, 0.34824181878519705], 'float64').reshape((2,)), jnp.float64)
work = jax.jit(lambda: call(x=x, mean=mean, variance=variance, share=0.1))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('-1.4006362604460236')  # by the definition in float64
is_right = bool(abs(got - expected) < 3.22e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.layers.BatchNormalization, jax 0.10.2, jit: outputs/0 is 4.9e+03 times rounding off."""
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
def _plain(x: Any) -> dict[str, Any]:
    return {'scale': ops.ones_like(x[0, :, 0]), 'bias': ops.zeros_like(x[0, :, 0])}
def _masked_layer(x: Any, where: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: float, share: float) -> Any:
    """Return what a layer over the last axis gives for [m, l, channel], whose mask is [m, l]."""
    moved = ops.transpose(x, (0, 2, 1))
    layer = _built(keras.layers.BatchNormalization(epsilon=epsilon, momentum=1.0 - share, dtype=_kind(x)), moved)
    found, state = layer.stateless_call([scale, bias], [mean, variance], moved, training=True, mask=where)
    return (ops.transpose(found, (0, 2, 1)), *state)
def _masked_running(x: Any, mean: Any, variance: Any, where: Any, share: float) -> Any:
    return _masked_layer(x, where, **_plain(x), mean=mean, variance=variance, epsilon=0.001, share=share)[1:]
call = _masked_running
x = jnp.asarray(np.array([-5.379517533979639, 0.16944140043752642, 1.2145496262346724, 0.7131529947679611, 0.9475328738665698, 2.1992744817879832, 0.2680352697977088, 1.5054513747120046, 0.3889304909747834, -0.49929610230317134, 0.6803308928312647, -0.3235787818562628, 0.8942582111105768, -0.26046468051435634, 0.2574298361896435, -0.3420593845732588, 0.26147431205912297, -2.0275817897408652, -0.1232104932864706, -1.881556104550088, -0.15554406335625348, 0.9134803801447431, -0.005466423627045192, -2.8075721990217657], 'float64').reshape((3, 2, 4)), jnp.float64)
mean = jnp.asarray(np.array([-0.42128114505914455, 0.17219830496925187], 'float64').reshape((2,)), jnp.float64)
variance = jnp.asarray(np.array([0.8633155744365139, 3.924123972935716], 'float64').reshape((2,)), jnp.float64)
where = jnp.asarray(np.array([True, True, True, True, True, True, True, True, True, True, True, True], 'bool').reshape((3, 4)), jnp.bool_)
work = jax.jit(lambda: call(x=x, mean=mean, variance=variance, where=where, share=0.1))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(1,)]), float('0.18343143844329796')  # by the definition in float64
is_right = bool(abs(got - expected) < 3.4e-09)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

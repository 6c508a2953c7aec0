"""keras.layers.BatchNormalization, jax 0.10.2, jit: gradients/x is 1.54e+04 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
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
def _in_evaluation(x: Any, mean: Any, variance: Any, scale: Any, bias: Any, epsilon: float) -> Any:
    return _batch(x, scale, bias, mean, variance, epsilon, 0.1, training=False)[0]
call = _in_evaluation
x = jnp.asarray(np.array([-0.3593539737935121, 0.7198974967873804, -0.23946081446520875, -0.224558437157159, 1.5485205553384767, 1.1720235828511103, -1.1601185816676405, 0.5135560821778328, -0.30386559933477575, -0.6914648121919638, 0.9856775140337387, 1.2679913557935745, 0.8452703100297375, 1.6809999525289787, -0.7869220354907145, -1.8056706001195273, 0.7516182531903274, 0.2977325311464276, -1.057415696141775, -0.6754617654616518, 0.6912510053572922, 1.8638861783514846, -0.059331710133690645, -1.6014664350646672], 'float64').reshape((3, 2, 4)), jnp.float64)
mean = jnp.asarray(np.array([0.2032250701187823, -2.2155759850492025], 'float64').reshape((2,)), jnp.float64)
variance = jnp.asarray(np.array([3.6214749862919753, 0.9441440880168488], 'float64').reshape((2,)), jnp.float64)
scale = jnp.asarray(np.array([0.7489362916601683, 0.9042126574942544], 'float64').reshape((2,)), jnp.float64)
bias = jnp.asarray(np.array([0.22348691077167396, 1.3859996895727205], 'float64').reshape((2,)), jnp.float64)
cotangents = [np.array([-0.8160793781280518, 0.0036853060591965914, -0.8860353231430054, 0.8836649656295776, 0.03831716254353523, 1.0072376728057861, -0.30057352781295776, -0.06196710839867592, -1.3498491048812866, -0.32686224579811096, -0.025842713192105293, 0.20973756909370422, 0.843532145023346, 0.7029011249542236, -0.2487076371908188, 1.1717448234558105, -0.2442391812801361, 0.10082073509693146, 0.7171985507011414, -0.3219127655029297, -0.19854675233364105, -0.07003122568130493, 1.4278678894042969, -0.46310165524482727], 'float64').reshape((3, 2, 4))]
def gradient(x, mean, variance, scale, bias, cotangents):
    work = lambda x: call(x=x, mean=mean, variance=variance, scale=scale, bias=bias, epsilon=1e-05)
    found, pull = jax.vjp(lambda x: [*jax.tree_util.tree_leaves(work(x))], x)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
found = np.asarray(jax.jit(gradient)(x, mean, variance, scale, bias, cotangents)).astype(np.float64)
direction = np.array([-1, -1, -1, 1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, 1, 1, 1, 1, 1, -1, 1, -1, 1, 1], 'int8').reshape((3, 2, 4))
got, expected = float((found * direction).sum()), 5.022981271312214  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 2.15e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

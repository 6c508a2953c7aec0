"""jax.lax.clamp, jax 0.10.2, jit: gradients/low is 3.87e+07 times rounding off."""
from jax import lax
import jax
import jax.numpy as jnp
import numpy as np
call = lambda x, low, high: lax.clamp(low, lax.clamp(low, x, high), high)
x = jnp.asarray(np.array([-0.8020297288894653, -1.4747064113616943, 0.16882279515266418, -0.7804319858551025, 0.8166163563728333, 0.9432953000068665, -1.9551973342895508], 'float32').reshape((7,)), jnp.float32)
low = jnp.asarray(np.array([-0.9963646531105042, -1.001061201095581, -1.0143969058990479, -1.0127114057540894, -1.009237289428711, -0.9808134436607361, -1.004247784614563], 'float32').reshape((7,)), jnp.float32)
high = jnp.asarray(np.array([0.997959315776825, 0.9990624785423279, 0.9965354204177856, 0.9980059862136841, 0.9921879768371582, 1.0118523836135864, 0.9902662634849548], 'float32').reshape((7,)), jnp.float32)
cotangents = [np.array([1.1646043062210083, 0.2912275195121765, 0.23547206819057465, 0.5255144834518433, -0.21696391701698303, -0.6604610085487366, -0.020726744085550308], 'float32').reshape((7,))]
def gradient(x, low, high, cotangents):
    work = lambda low: call(x=x, low=low, high=high)
    found, pull = jax.vjp(lambda low: [*jax.tree_util.tree_leaves(work(low))], low)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
gradient = jax.jit(gradient)
found = np.asarray(gradient(x, low, high, cotangents)).astype(np.float64)
got, expected = float(found[(1,)]), 0.2912275195118645  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.146)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""jax.scipy.special.spence, jax 0.10.2, jit: gradients/x is inf times rounding off."""
from jax.scipy.special import spence as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([0.9164041876792908, 1.5241414308547974, 1.5752367973327637, 0.6684015393257141, 2.708043336868286, 3.485914707183838, 2.1294732093811035], 'float32').reshape((7,)), jnp.float32)
cotangents = [np.array([-0.1564854383468628, 1.1380395889282227, -1.0193378925323486, -0.14458107948303223, -0.6291851997375488, -0.4079984724521637, 0.03171749785542488], 'float32').reshape((7,))]
work = lambda x: call(x=x)
def gradient(x):
    found, pull = jax.vjp(lambda x: [*jax.tree_util.tree_leaves(work(x))], x)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
found = np.asarray(jax.jit(gradient)(x)).astype(np.float64)
got, expected = float(found[(1,)]), float('-0.9150306088675045')  # by the definition in float64
is_right = got == expected or (got != got and expected != expected)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""jax.scipy.linalg.expm, jax 0.10.2, jit: gradients/x is 1.81e+04 times rounding off."""
from jax.scipy.linalg import expm as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([1.8957339525222778, 6.4481096267700195, 3.899035692214966, 1.2569955587387085, 2.076350688934326, 4.552775859832764, 5.212304592132568, 4.503151893615723, 6.948188304901123, 5.088863372802734, 1.3096314668655396, 2.2952992916107178, 3.7516937255859375, 6.951671600341797, 5.436706066131592, 6.55944299697876, 0.9551473259925842, 1.9439822435379028], 'float32').reshape((2, 3, 3)), jnp.float32)
cotangents = [np.array([1.3169262409210205, 1.1650315523147583, -0.1490243673324585, -0.593457043170929, -0.9220026135444641, 0.13257665932178497, -0.4007377028465271, 0.7001726031303406, -0.2872946262359619, 0.09160535037517548, -1.7402300834655762, -0.8722468018531799, 1.8548200130462646, -1.0165863037109375, 0.11500941962003708, 0.7855001091957092, -1.6973378658294678, -0.26600566506385803], 'float32').reshape((2, 3, 3))]
def gradient(x, cotangents):
    work = lambda x: call(x=x)
    found, pull = jax.vjp(lambda x: [*jax.tree_util.tree_leaves(work(x))], x)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
found = np.asarray(jax.jit(gradient)(x, cotangents)).astype(np.float64)
direction = np.array([-1, 1, -1, 1, -1, 1, 1, -1, -1, 1, 1, 1, -1, -1, 1, 1, -1, -1], 'int8').reshape((2, 3, 3))
got, expected = float((found * direction).sum()), -59383.20016187936  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 52.8)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

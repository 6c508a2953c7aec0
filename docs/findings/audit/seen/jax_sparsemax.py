"""keras.activations.sparsemax, jax 0.10.2, jit: gradients/x is 2.24e+07 times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
from keras.activations import sparsemax as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([1.1126117706298828, 1.0321749448776245, -0.5301011800765991, 0.08098377287387848, -1.4684120416641235, 0.9124900698661804, 0.47184738516807556, 0.8297723531723022, -0.23511110246181488, 0.032626181840896606, 0.3208759129047394, -0.022889388725161552, 2.904916524887085, 1.8449755907058716, -0.5716620683670044, -1.3953468799591064, -0.8709120154380798, -0.4146745800971985, 0.06817258894443512, 0.04216022416949272, 0.37382060289382935], 'float32').reshape((3, 7)), jnp.float32)
cotangents = [np.array([-0.6646281480789185, -1.7926833629608154, 1.141339898109436, 0.14674554765224457, -0.24717143177986145, -1.1582996845245361, -1.9783880710601807, -1.7372580766677856, -0.5176876783370972, 0.21219183504581451, 1.4089164733886719, 0.059369176626205444, 1.0153578519821167, -0.2899351716041565, -0.4243125021457672, -0.00632927380502224, -0.6320375204086304, 1.0022358894348145, 0.6408121585845947, -0.16383834183216095, 1.155312180519104], 'float32').reshape((3, 7))]
work = lambda x: call(x=x)
def gradient(x):
    found, pull = jax.vjp(lambda x: [*jax.tree_util.tree_leaves(work(x))], x)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
found = np.asarray(jax.jit(gradient)(x)).astype(np.float64)
direction = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1], 'int8').reshape((3, 7))
got, expected = float((found * direction).sum()), -0.6112168480953047  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.306)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""optax.losses.softmax_cross_entropy, jax 0.10.2, jit: gradients/y is inf times rounding off."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
call = lambda x, y, where: optax.softmax_cross_entropy(x, y, where=where)
x = jnp.asarray(np.array([3.712491750717163, 0.9986859560012817, -1.1415408849716187, -0.04105058312416077, 0.05668864771723747, -2.3749146461486816, 1.192517638206482, -0.2820764482021332, -0.8995987772941589, -0.29654160141944885, -0.7193103432655334, -2.6840970516204834, -3.364955186843872, -2.600432872772217, -0.4594842195510864, 1.0303689241409302, 0.8029768466949463, 0.9030440449714661, -1.4755979776382446, 1.3834308385849, -0.7821187376976013], 'float32').reshape((3, 7)), jnp.float32)
y = jnp.asarray(np.array([0.15664984285831451, 0.4300505816936493, 0.07317772507667542, 0.023873060941696167, 0.08286909759044647, 0.20523656904697418, 0.028143133968114853, 0.08204340934753418, 0.10968702286481857, 0.09282448887825012, 0.03047274425625801, 0.10364774614572525, 0.091077521443367, 0.49024707078933716, 0.097798191010952, 0.08935798704624176, 0.06067425757646561, 0.0866188257932663, 0.5854605436325073, 0.031115995720028877, 0.04897418990731239], 'float32').reshape((3, 7)), jnp.float32)
where = jnp.asarray(np.array([True, True, False, False, True, True, False, True, False, False, False, True, True, True, True, False, False, True, True, True, True], 'bool').reshape((3, 7)), jnp.bool_)
cotangents = [np.array([-0.5948227047920227, 1.0193047523498535, -1.1132383346557617], 'float32').reshape((3,))]
work = lambda y: call(x=x, y=y, where=where)
def gradient(y):
    found, pull = jax.vjp(lambda y: [*jax.tree_util.tree_leaves(work(y))], y)
    return pull([jnp.asarray(np.zeros(y.shape) if c is None else c, y.dtype) for y, c in zip(found, cotangents)])[0]
found = np.asarray(jax.jit(gradient)(y)).astype(np.float64)
is_right = bool(np.isfinite(found).all())
print("RIGHT" if is_right else "WRONG", "got", found[(0, 2)], "expected", 'a number')
raise SystemExit(not is_right)

"""optax.projections.projection_l2_ball, jax 0.10.2, jit: outputs/0 is 3.04e+03 times rounding off."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
call = lambda x, *, limit: optax.projections.projection_l2_ball(x, limit)
x = jnp.asarray(np.array([0.1715087890625, 0.08465576171875, 0.07781982421875, -1.2685546875, 0.15869140625, 1.4873046875, -2.056640625, -1.2841796875, 0.86279296875, 0.5634765625, -0.025909423828125, 0.89794921875, -1.666015625, 0.48681640625, 1.4287109375, 0.53564453125, 0.0031490325927734375, -1.2119140625, -0.12469482421875, 0.93798828125, 1.220703125, -1.0595703125, 0.1253662109375, 0.916015625, 1.2294921875, 0.7998046875, 0.4189453125, -0.7490234375, 0.50732421875, 0.77734375, 0.1142578125, 1.994140625, 0.131103515625], 'float32').reshape((33,)), jnp.float16)
work = jax.jit(lambda: call(x=x, limit=1000.0))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(9,)]), float('0.5634765625')  # by the definition in float64
is_right = bool(abs(got - expected) < 0.282)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""keras.activations.hard_shrink, jax 0.10.2, jit: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import jax
import jax.numpy as jnp
import keras
import numpy as np
call = lambda x, bound: keras.activations.hard_shrink(x, bound)
x = jnp.asarray(np.array([np.inf, -2.3800742626190186, 9.99999991097579e-38, 1.92983078956604, -1.346862554550171, -1.762751579284668, -0.8642674684524536, -0.6113182902336121, 0.0, 1.0, -0.0, -0.609577476978302, 1.0000000150474662e+30, 0.0, -np.inf, -1.0000000150474662e+30, -3.5440471172332764, 2.879286527633667, -9.99999991097579e-38, np.inf, -1.1166445016860962, np.nan, -1.7289702892303467, 2.1635544300079346, -2.729013204574585, -np.inf, np.nan, 2.1085002422332764, 1.7799094915390015, -0.0, 3.2935469150543213, 4.493341445922852, -1.0], 'float32').reshape((33,)), jnp.float32)
work = jax.jit(lambda: call(x=x, bound=0.5))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(21,)]), float('nan')  # by the definition in float64
is_right = bool(got == expected or (got != got and expected != expected))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

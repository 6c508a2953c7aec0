"""keras.activations.soft_shrink, jax 0.10.2, jit: outputs/0 is inf times rounding off."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import jax
import jax.numpy as jnp
import keras
import numpy as np
call = lambda x, bound: keras.activations.soft_shrink(x, bound)
x = jnp.asarray(np.array([0.0, 1.0000000150474662e+30, -0.09805680811405182, -1.0000000150474662e+30, 2.5992205142974854, -np.inf, 9.99999991097579e-38, -0.0, np.inf, np.nan, -np.inf, 4.2296271324157715, -5.640981197357178, 0.16186095774173737, 3.621551513671875, np.inf, 0.8785345554351807, -1.0, np.nan, -0.18395401537418365, -1.829422950744629, 0.0, -0.684515118598938, -3.9597246646881104, 1.0522032976150513, -4.026296138763428, -9.99999991097579e-38, 0.44871100783348083, 3.5352940559387207, 0.38424304127693176, -0.3919758200645447, -0.0, 1.0], 'float32').reshape((33,)), jnp.float32)
work = jax.jit(lambda: call(x=x, bound=0.5))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(9,)]), float('nan')  # by the definition in float64
is_right = bool(got == expected or (got != got and expected != expected))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

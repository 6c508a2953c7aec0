"""jax.scipy.special.bessel_jn, jax 0.10.2, jit: outputs/0 is inf times rounding off."""
import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
call = lambda x, order: special.bessel_jn(x, v=order)
x = jnp.asarray(np.array([4.159176826477051, 7.410550117492676, 4.448073863983154, 1.7615864276885986, 7.347692489624023], 'float32').reshape((5,)), jnp.float32)
work = jax.jit(lambda: call(x=x, order=0))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(0, 3)]), float('0.36230818110740604')  # by the definition in float64
is_right = got == expected or (got != got and expected != expected)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

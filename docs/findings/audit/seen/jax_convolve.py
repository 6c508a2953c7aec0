"""jax.scipy.signal.convolve, jax 0.10.2, jit: outputs/0 is 53 times rounding off."""
import jax
import jax.numpy as jnp
import jax.scipy.fft
import jax.scipy.signal
import numpy as np
signal = jax.scipy.signal
call = lambda x, y, mode: signal.convolve(x, y, mode, method='fft')
x = jnp.asarray(np.array([-0.9755228757858276, -0.8775783777236938, 1.380049705505371, -1.673766851425171, 0.4837789833545685, -0.832666277885437, -0.8376388549804688, 0.36404407024383545, -1.45648193359375], 'float32').reshape((9,)), jnp.float32)
y = jnp.asarray(np.array([-0.7796251773834229, -0.372738778591156, 1.4126383066177368, -0.04640759900212288], 'float32').reshape((4,)), jnp.float32)
work = jax.jit(lambda: call(x=x, y=y, mode='full'))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(11,)]), float('0.06759182952805531')  # by the definition in float64
is_right = bool(abs(got - expected) < 8.12e-08)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

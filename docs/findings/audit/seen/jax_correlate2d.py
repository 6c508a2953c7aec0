"""jax.scipy.signal.correlate, jax 0.10.2, jit: outputs/0 is 8.39e+07 times rounding off."""
import jax
import jax.numpy as jnp
import jax.scipy.fft
import jax.scipy.signal
import numpy as np
signal = jax.scipy.signal
call = lambda x, y, mode, boundary, fillvalue: signal.correlate(x, y, mode)
x = jnp.asarray(np.array([-0.3716975450515747, 1.2476600408554077, -0.2754075527191162, 0.14372453093528748, 1.0609205961227417, 0.1262691169977188, -1.9239704608917236, -0.02780108153820038, 0.21819192171096802, -0.582096517086029, -1.5086761713027954, 1.1009764671325684, -0.3642440140247345, 0.9133909940719604, -1.2601711750030518, 0.3095400333404541, -0.8237646222114563, 0.5632547736167908, -1.0459693670272827, -1.4026731252670288, 0.47955337166786194, 1.3865255117416382, -0.20888561010360718, -1.9887304306030273, 0.6159380078315735, 0.45970746874809265, 0.8256019949913025, -2.0392262935638428, 0.204575315117836, -0.3461970388889313], 'float32').reshape((5, 6)), jnp.float32)
y = jnp.asarray(np.array([-0.494941383600235, 0.7140066027641296, 0.534975528717041, 0.012222226709127426, 0.9686799049377441, -0.5618472695350647], 'float32').reshape((2, 3)), jnp.float32)
work = jax.jit(lambda: call(x=x, y=y, mode='same', boundary='fill', fillvalue=0.0))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(4, 5)]), float('-0.3484397611389629')  # by the definition in float64
is_right = abs(got - expected) < 0.65
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

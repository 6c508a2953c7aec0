"""jax.lax.lgamma, jax 0.10.2, jit: outputs/0 is 213 times rounding off."""
from jax.lax import lgamma as function
import jax
import jax.numpy as jnp
import numpy as np
call = lambda **given: function(*[v for v in given.values() if hasattr(v, 'shape')], **{k: v for k, v in given.items() if not hasattr(v, 'shape')})
x = jnp.asarray(np.array([-2.3790690898895264, -1.7569676637649536, -0.7053630948066711, 3.3653206825256348, 4.825314044952393, -1.6446291208267212, 1.6154767274856567, -0.6193773150444031, 2.5463109016418457, -1.520323634147644, -1.4531992673873901, -0.36500221490859985, 3.655773639678955, 2.685889720916748, 4.582398891448975, 1.1845637559890747, 3.114208221435547, -4.825810432434082, -1.4560761451721191, -0.5857940316200256, 1.4651225805282593, 0.4842572808265686, -3.268174171447754, 0.6293562054634094, -4.176914215087891, -2.307370901107788, -2.8785767555236816, 3.343336820602417, -2.8880679607391357, 0.2588876783847809, -4.493342876434326, -4.297732353210449, 2.3446569442749023], 'float32').reshape((33,)), jnp.float32)
work = jax.jit(lambda: call(x=x))
found = work()
found = found[0] if isinstance(found, (tuple, list)) else found
found = np.asarray(found).astype(np.float64)
got, expected = float(found[(20,)]), float('-0.12148040215895084')  # by the definition in float64
is_right = bool(abs(got - expected) < 4.45e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

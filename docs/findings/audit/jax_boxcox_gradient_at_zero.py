"""JAX 0.10.2: at lambda 0 the gradients of jax.scipy.special.boxcox and boxcox1p by lambda are 0 instead of log(x) ** 2 / 2.

Of x = 0 and lambda 1 that of boxcox is NaN instead of 1.
"""

import jax
import numpy as np
from jax.scipy.special import boxcox, boxcox1p

x = 2.0
found = [float(jax.grad(function, 1)(at, 0.0)) for function, at in ((boxcox, x), (boxcox1p, x - 1.0))]
expected = np.log(x) ** 2 / 2
print("jax", jax.__version__, "by lambda, at x = 0 and lambda = 1:", float(jax.grad(boxcox, 1)(0.0, 1.0)))
is_right = bool(np.allclose(found, expected, rtol=1e-4))
print("RIGHT" if is_right else "WRONG", "got", found, "expected", float(expected))
raise SystemExit(not is_right)

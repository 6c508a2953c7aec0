"""JAX 0.10.2: jax.scipy.special.expn(n, 0) is 1 / n instead of 1 / (n - 1), the integral of t to the -n from 1 on."""

import jax
from jax.scipy.special import expn

found = {n: float(expn(n, 0.0)) for n in (2, 3, 4)}
near = {n: float(expn(n, 1e-6)) for n in (2, 3, 4)}
print("jax", jax.__version__, "at 0", found, "at 1e-6", near)
is_right = all(abs(value - 1 / (n - 1)) < 1e-4 for n, value in found.items())
print("RIGHT" if is_right else "WRONG", "got", found[2], "expected", 1.0)
raise SystemExit(not is_right)

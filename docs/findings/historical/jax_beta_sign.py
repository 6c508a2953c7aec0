"""JAX: jax.scipy.special.beta has the wrong sign for some negative arguments.

https://github.com/jax-ml/jax/issues/20587, seen in 0.4.26; https://github.com/jax-ml/jax/pull/20589 mends it.
WRONG in 0.4.26, RIGHT in 0.4.27 (run on 2026-11-25, AMD EPYC).
"""

import sys

from jax.scipy.special import beta

got = float(beta(-0.5, 3.25))
want = -5.618695
ok = abs(got - want) < 1e-2
print(f"{'RIGHT' if ok else 'WRONG'} got {got:.6g} expected {want:.6g}")
sys.exit(not ok)

"""optax 0.2.8 (JAX 0.10.2): optax.contrib.madgrad adds eps to the rate, too, which neither its page nor the paper has."""

import jax.numpy as jnp
import optax

optimizer, w = optax.contrib.madgrad(0.02, momentum=0.0, eps=0.01), jnp.float32(1)
update, _ = optimizer.update(jnp.float32(1.0), optimizer.init(w), w)
rule, more = (1 - rate / (rate ** (1 / 3) + 0.01) for rate in (0.02, 0.03))
got = float(w + update)
print("optax", optax.__version__, "got", got, "rule", rule, "rule with rate + eps", more)
is_right = abs(got - rule) < 5e-3
print("RIGHT" if is_right else "WRONG", "got", got, "expected", rule)
raise SystemExit(not is_right)

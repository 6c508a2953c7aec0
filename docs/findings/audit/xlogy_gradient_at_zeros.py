"""x times log(y) is 0 for x = 0 and any y, and its gradient by y 0; at y = 0 it is NaN in PyTorch and JAX.

The first argument is the framework.
"""

import sys

framework = sys.argv[1] if sys.argv[1:] else "torch"
if framework == "torch":
    import torch

    x, y = torch.zeros(2), torch.tensor([0.0, 1.0], requires_grad=True)
    torch.xlogy(x, y).sum().backward()
    got = y.grad.tolist()
else:
    import jax
    import jax.numpy as jnp

    x, y = jnp.zeros(2), jnp.asarray([0.0, 1.0])
    got = jax.grad(lambda y: jax.scipy.special.xlogy(x, y).sum())(y).tolist()
is_right = got == [0.0, 0.0]
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [0.0, 0.0])
raise SystemExit(not is_right)

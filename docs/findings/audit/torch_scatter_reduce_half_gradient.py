"""torch.scatter_reduce, index_reduce, amax and amin, include_self=False: halve the gradient where the result equals
what self held, as the usual zeros.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch

base = torch.zeros(3, requires_grad=True)
src = torch.tensor([0.0, 2.0, -1.0], requires_grad=True)
idx = torch.tensor([0, 1, 2])
for f in (torch.scatter_reduce, torch.index_reduce):
    for r in ("amax", "amin"):
        out = f(base, 0, idx, src, r, include_self=False)
        print(f.__name__, r, out.tolist(), torch.autograd.grad(out.sum(), src)[0].tolist())

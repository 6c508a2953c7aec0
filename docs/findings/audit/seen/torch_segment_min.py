"""torch.scatter_reduce, torch 2.13.0+cpu, eager: gradients/y is 1.06e+07 times rounding off."""
from typing import Any
import numpy as np
import torch
def _segments(reduce: str, count: int, *, has_self: bool=False, start: float=0.0) -> Any:

    def call(y: Any, ids: Any) -> Any:
        base = torch.full((count, y.shape[1]), start, dtype=y.dtype)
        return torch.scatter_reduce(base, 0, ids[:, None].expand(y.shape), y, reduce, include_self=has_self)
    return call
call = _segments('amin', 5)
y = torch.from_numpy(np.array([0.25, -0.5, -0.75, -1.25, 1.25, -0.25, -2.5, 2.25, -1.5, -2.25, 0.75, 2.0, 1.0, -1.75, 0.5, 1.75, -2.0, 2.5, -1.0, 1.5, 0.0], 'float32').reshape((7, 3))).to(torch.float32)
ids = torch.from_numpy(np.array([1, 0, 2, 4, 0, 1, 3], 'int64').reshape((7,))).to(torch.int64)
cotangents = [np.array([-0.08021378517150879, 0.6310285329818726, 0.8768470883369446, 0.517216145992279, -0.21888206899166107, -0.007827977649867535, -0.6248789429664612, 1.6092925071716309, 1.519553303718567, -0.3319222629070282, 0.14837536215782166, 1.0373550653457642, -1.263562798500061, -1.2371017932891846, -0.21115872263908386], 'float32').reshape((5, 3))]
work = lambda y: call(y=y, ids=ids)
y.requires_grad_()
found = work(y)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs])
found = y.grad.double().numpy()
direction = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 'int8').reshape((7, 3))
got, expected = float((found * direction).sum()), 1.0373550653463386  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.259)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

"""torch.scatter_reduce, torch 2.13.0+cpu, eager: gradients/y is 4.56e+06 times rounding off."""
from typing import Any
import numpy as np
import torch
def _segments(reduce: str, count: int, *, has_self: bool=False, start: float=0.0) -> Any:

    def call(y: Any, ids: Any) -> Any:
        base = torch.full((count, y.shape[1]), start, dtype=y.dtype)
        return torch.scatter_reduce(base, 0, ids[:, None].expand(y.shape), y, reduce, include_self=has_self)
    return call
call = _segments('amin', 5)
y = torch.from_numpy(np.array([-0.5, -1.0, -2.5, 0.5, -1.25, 1.5, -0.25, 0.0, -1.5, -1.75, 1.75, 0.75, -2.0, 2.0, 1.0, 2.25, -0.75, -2.25, 2.5, 0.25, 1.25], 'float32').reshape((7, 3))).to(torch.float32)
ids = torch.from_numpy(np.array([0, 1, 2, 3, 1, 0, 4], 'int64').reshape((7,))).to(torch.int64)
cotangents = [np.array([-0.569012463092804, -1.071757435798645, 0.2640205919742584, 2.1317920684814453, -0.8385542035102844, 1.199755311012268, -0.6083962321281433, -1.0705138444900513, -0.07755497097969055, -0.6273696422576904, 1.0605195760726929, -0.20095808804035187, 0.1504889279603958, 0.1675034910440445, -0.6559031009674072], 'float32').reshape((5, 3))]
work = lambda y: call(y=y, ids=ids)
y.requires_grad_()
found = work(y)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs])
found = y.grad.double().numpy()
direction = np.array([1, -1, 1, -1, -1, -1, 1, -1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, 1, 1, -1], 'int8').reshape((7, 3))
got, expected = float((found * direction).sum()), 4.075698420404672  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.268)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

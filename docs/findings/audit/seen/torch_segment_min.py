"""torch.scatter_reduce, torch 2.13.0+cpu, eager: gradients/y is 1.07e+06 times rounding off."""
from typing import Any
import numpy as np
import torch
def _segments(reduce: str, count: int, *, has_self: bool=False, start: float=0.0) -> Any:

    def call(y: Any, ids: Any) -> Any:
        base = torch.full((count, y.shape[1]), start, dtype=y.dtype)
        return torch.scatter_reduce(base, 0, ids[:, None].expand(y.shape), y, reduce, include_self=has_self)
    return call
call = _segments('amin', 5)
y = torch.from_numpy(np.array([-2.25, 1.25, -0.5, 0.0, 1.5, -1.0, -2.5, 1.75, 2.0, 0.75, 2.5, -2.0, 1.0, 0.25, 2.25, -1.5, -1.25, -0.75, -0.25, 0.5, -1.75], 'float32').reshape((7, 3))).to(torch.float32)
ids = torch.from_numpy(np.array([3, 2, 0, 1, 4, 1, 0], 'int64').reshape((7,))).to(torch.int64)
cotangents = [np.array([-0.794597327709198, 0.4028337299823761, 0.3673265278339386, -0.4763452708721161, -0.8052546977996826, 0.7106518745422363, 0.2957949638366699, -0.34638896584510803, 0.31075671315193176, -1.304619550704956, 2.020658493041992, -1.3878754377365112, 0.2649133503437042, 0.35142967104911804, -1.7183046340942383], 'float32').reshape((5, 3))]
work = lambda y: call(y=y, ids=ids)
y.requires_grad_()
found = work(y)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs])
found = y.grad.double().numpy()
direction = np.array([-1, -1, 1, -1, -1, -1, -1, 1, 1, -1, -1, -1, -1, -1, -1, 1, 1, -1, -1, -1, 1], 'int8').reshape((7, 3))
got, expected = float((found * direction).sum()), -2.4952771961705236  # by central differences of the definition in float64
is_right = abs(got - expected) < 0.0739
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

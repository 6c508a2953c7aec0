"""torch.scatter_reduce, torch 2.13.0+cpu, eager: gradients/y is 1.06e+07 times rounding off."""
from typing import Any
import numpy as np
import torch
def _segments(reduce: str, count: int, *, has_self: bool=False, start: float=0.0) -> Any:

    def call(y: Any, ids: Any) -> Any:
        base = torch.full((count, y.shape[1]), start, dtype=y.dtype)
        return torch.scatter_reduce(base, 0, ids[:, None].expand(y.shape), y, reduce, include_self=has_self)
    return call
call = _segments('amax', 5)
y = torch.from_numpy(np.array([-0.75, -0.25, 1.0, -1.75, -0.5, 2.0, -2.0, 2.25, 1.25, 2.5, 1.75, -2.5, 0.75, -1.25, 1.5, 0.25, -1.0, -2.25, -1.5, 0.5, 0.0], 'float32').reshape((7, 3))).to(torch.float32)
ids = torch.from_numpy(np.array([1, 2, 0, 0, 1, 4, 3], 'int64').reshape((7,))).to(torch.int64)
cotangents = [np.array([-0.07758872210979462, 0.7219759225845337, 0.472956120967865, 0.9408150315284729, -0.38816919922828674, -0.4697989523410797, 0.7501349449157715, 1.0085445642471313, -0.9730108976364136, -0.7849206924438477, 0.19936715066432953, -0.6772283911705017, 1.4765628576278687, -0.331571489572525, -0.7581775784492493], 'float32').reshape((5, 3))]
work = lambda y: call(y=y, ids=ids)
y.requires_grad_()
found = work(y)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs])
found = y.grad.double().numpy()
direction = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 'int8').reshape((7, 3))
got, expected = float((found * direction).sum()), -0.6772283911704591  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.169)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

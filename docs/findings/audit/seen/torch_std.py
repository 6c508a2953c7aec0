"""torch.std_mean, torch 2.13.0+cpu, eager: gradients/x is 164 times rounding off."""
from typing import Any
import numpy as np
import torch
def _all(x: Any, axis: Any) -> Any:
    """Return the axes as PyTorch takes them where it takes several: None stands for all."""
    return tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, list) else axis
def _corrected(function: Any) -> Any:
    return lambda x, axis, correction, keepdims: function(x, dim=_all(x, axis), correction=correction, keepdim=keepdims)
call = _corrected(torch.std_mean)
x = torch.from_numpy(np.array([1.3365830183029175, 2.4749739170074463, 1.352431058883667, 0.5074198842048645, 0.9665917158126831, 1.3464897871017456, 2.063420057296753, 2.0195677280426025], 'float32').reshape((2, 2, 2))).to(torch.float32)
cotangents = [np.array([0.341174840927124, -1.2205796241760254, 0.5112006664276123, 0.8403159379959106], 'float32').reshape((2, 1, 2)), np.array([-0.1468503773212433, 0.6035391688346863, -1.279683232307434, -0.041582223027944565], 'float32').reshape((2, 1, 2))]
work = lambda x: call(x=x, axis=1, correction=1, keepdims=True)
x.requires_grad_()
found = work(x)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None and y.requires_grad]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs]) if pairs else None
found = (torch.zeros_like(x) if x.grad is None else x.grad).double().numpy()
got, expected = float(found[(0, 1, 0)]), 0.16782185492895488  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 9.01e-07)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

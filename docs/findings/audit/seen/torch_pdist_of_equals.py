"""torch.nn.functional.pdist, torch 2.13.0+cpu, eager: gradients/x is 1.98e+07 times rounding off."""
import numpy as np
import torch
import torch.nn.functional as F
_twice = lambda x: torch.repeat_interleave(x, 2, dim=-1)
call = lambda x: F.pdist(_twice(x), float('inf'))
x = torch.from_numpy(np.array([-0.05292198807001114, -0.6155914068222046, -0.8853834271430969, -0.026011595502495766, -1.7350068092346191, 1.258658766746521, 0.36518731713294983, -0.43370920419692993, 0.620591938495636, 1.8444236516952515, -0.6245035529136658, -0.9736389517784119], 'float32').reshape((4, 3))).to(torch.float32)
cotangents = [np.array([-0.7259472012519836, 0.7588388323783875, -0.9570527672767639, 1.0427030324935913, -0.31697601079940796, -1.2031593322753906], 'float32').reshape((6,))]
work = lambda x: call(x=x)
x.requires_grad_()
x.grad = None
found = work(x)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None and y.requires_grad]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs]) if pairs else None
found = (torch.zeros_like(x) if x.grad is None else x.grad).double().numpy()
direction = np.array([1, 1, 1, 1, 1, -1, -1, 1, -1, -1, 1, 1], 'int8').reshape((4, 3))
got, expected = float((found * direction).sum()), 4.888592958450048  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 2.44)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

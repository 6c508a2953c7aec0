"""torch.polygamma, torch 2.13.0+cpu, eager: gradients/x is 47.3 times rounding off."""
import numpy as np
import torch
call = lambda x, order: torch.polygamma(order, x)
x = torch.from_numpy(np.array([0.8923537906880034, 4.404548303467695, 5.088388625136831, 4.868680074045723, 4.916403301027248, 5.79383053435145, 4.80036315882029], 'float64').reshape((7,))).to(torch.float64)
cotangents = [np.array([-0.04644538462162018, -0.9136984944343567, -1.4234015941619873, -0.7871924042701721, -1.2970256805419922, 0.5944808721542358, 0.0342303030192852], 'float64').reshape((7,))]
work = lambda x: call(x=x, order=0)
x.requires_grad_()
found = work(x)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float64)) for y, c in zip(found, cotangents) if c is not None and y.requires_grad]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs]) if pairs else None
found = (torch.zeros_like(x) if x.grad is None else x.grad).double().numpy()
got, expected = float(found[(0,)]), float('-0.09044353444939122')  # by the definition in float64
is_right = bool(abs(got - expected) < 2.13e-11)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

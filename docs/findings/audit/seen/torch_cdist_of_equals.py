"""torch.cdist, torch 2.13.0+cpu, eager: gradients/x is 1.38e+07 times rounding off."""
import numpy as np
import torch
_twice = lambda x: torch.repeat_interleave(x, 2, dim=-1)
call = lambda x, y: torch.cdist(_twice(x), _twice(y), p=float('inf'))
x = torch.from_numpy(np.array([-0.20059914886951447, 0.03270756080746651, -1.4407604932785034, -1.1705714464187622, 1.6920188665390015, -0.09951561689376831, -0.719025194644928, 0.4213221073150635, 0.023965012282133102, 0.04155639559030533, 0.816791296005249, 0.18528684973716736], 'float32').reshape((2, 3, 2))).to(torch.float32)
y = torch.from_numpy(np.array([3.967836856842041, 4.006069660186768, 3.0173869132995605, 4.764398574829102, 4.713564395904541, 4.129995346069336, 3.0761868953704834, 4.702627182006836, 4.966332912445068, 4.212594032287598, 4.079183578491211, 4.533383369445801, 3.2788524627685547, 4.7057108879089355, 3.783069372177124, 4.075739860534668], 'float32').reshape((2, 4, 2))).to(torch.float32)
cotangents = [np.array([-0.32823196053504944, -0.48605337738990784, 0.4464579224586487, 0.1620018631219864, 1.296196460723877, -0.6399296522140503, -0.0981096476316452, 0.033466193825006485, 0.22453396022319794, -1.4168087244033813, 0.8099828362464905, -1.2973970174789429, -0.8145862817764282, -0.7828326225280762, -0.21349994838237762, -0.8391979336738586, -0.6321960687637329, -0.23931317031383514, -0.33637672662734985, 1.9973256587982178, -1.084157943725586, -0.2334502637386322, -0.5367262363433838, -1.0731666088104248], 'float32').reshape((2, 3, 4))]
work = lambda x: call(x=x, y=y)
x.requires_grad_()
x.grad = None
found = work(x)
found = found if isinstance(found, (tuple, list)) else [found]
pairs = [(y, torch.from_numpy(c).to(torch.float32)) for y, c in zip(found, cotangents) if c is not None and y.requires_grad]
torch.autograd.backward([y for y, _ in pairs], [c for _, c in pairs]) if pairs else None
found = (torch.zeros_like(x) if x.grad is None else x.grad).double().numpy()
got, expected = float(found[(1, 2, 1)]), 1.843343108893928  # by central differences of the definition in float64
is_right = bool(abs(got - expected) < 0.922)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

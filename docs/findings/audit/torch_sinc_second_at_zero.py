"""PyTorch 2.13.0: the second derivative of torch.sinc at 0 is NaN by reverse mode, and 0 by forward over reverse: not -3.29."""

import math

import torch

x = torch.tensor([0.0, 1e-3], dtype=torch.float64, requires_grad=True)
[first] = torch.autograd.grad(torch.sinc(x).sum(), x, create_graph=True)
[second] = torch.autograd.grad(first.sum(), x)
got, expected = second.tolist(), -math.pi**2 / 3
is_right = abs(got[0] - expected) < 1e-3
print("torch", torch.__version__)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

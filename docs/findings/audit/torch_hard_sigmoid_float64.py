"""torch.nn.functional.hardsigmoid in float64: its slope is a sixth in float32, off by 5e-9."""

import torch

x = torch.zeros((), dtype=torch.float64, requires_grad=True)
torch.nn.functional.hardsigmoid(x).backward()
got, expected = float(x.grad), 1 / 6
is_right = bool(abs(got - expected) < 1e-12)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

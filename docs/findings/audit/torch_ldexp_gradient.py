"""torch.ldexp(x, n) is x times 2 to the n, and its gradient is cut to a whole number: 0 for n = -1."""

import torch

x = torch.ones(4, requires_grad=True)
n = torch.tensor([-2, -1, 0, 2])
found = torch.ldexp(x, n)
found.sum().backward()
expected = [0.25, 0.5, 1.0, 4.0]
is_right = x.grad.tolist() == expected
print("RIGHT" if is_right else "WRONG", "value", found.tolist(), "gradient", x.grad.tolist(), "expected", expected)
raise SystemExit(not is_right)

"""torch.xlogy: x times log(y) is 0 for x = 0 and any y, and its gradient by y 0; at y = 0 it is NaN."""

import torch

x, y = torch.zeros(2), torch.tensor([0.0, 1.0], requires_grad=True)
torch.xlogy(x, y).sum().backward()
got = y.grad.tolist()
is_right = got == [0.0, 0.0]
print("RIGHT" if is_right else "WRONG", "got", got, "expected", [0.0, 0.0])
raise SystemExit(not is_right)

"""PyTorch 2.13.0: SGD(nesterov=True, foreach=True) overwrites the gradients of its parameters."""

import torch

print("torch", torch.__version__)
found = []
for foreach in (False, True):
    w = torch.ones(3)
    w.grad = torch.full((3,), 2.0)
    torch.optim.SGD([w], lr=0.1, momentum=0.9, nesterov=True, foreach=foreach).step()
    found += w.grad.tolist()
    print("foreach =", foreach, "gradient before 2.0, after one step:", w.grad.tolist())
is_right = max(abs(each - 2) for each in found) < 0.1
print("RIGHT" if is_right else "WRONG", "got", found[-1], "expected", 2.0)
raise SystemExit(not is_right)

"""PyTorch 2.13.0: 'mean' of mse_loss and l1_loss with weights is not the mean of their output; that of huber_loss is."""

import torch
import torch.nn.functional as F

print("torch", torch.__version__)
x, y, w = torch.tensor([1.0, 2.0]), torch.zeros(2), torch.tensor([1.0, 3.0])
found = []
for loss in (F.mse_loss, F.l1_loss, F.huber_loss):
    mean = loss(x, y, weight=w, reduction="none").mean().item()
    found.append((loss(x, y, weight=w).item(), mean))
    print(loss.__name__, found[-1][0], "mean of the output", mean)
is_right = all(abs(got - mean) < 0.1 for got, mean in found)
print("RIGHT" if is_right else "WRONG", "got", found[0][0], "expected", found[0][1])
raise SystemExit(not is_right)

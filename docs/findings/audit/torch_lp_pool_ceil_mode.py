"""PyTorch 2.13.0: lp_pool with ceil_mode=True scales the norm of a last window that is not full as if it were full."""

import torch
import torch.nn.functional as F

print("torch", torch.__version__)
x = torch.tensor([[[1.0, 2.0, 3.0]]])
found = []
for power in (1, 2):
    y = F.lp_pool1d(x, power, 2, 2, ceil_mode=True)
    found.append(y[0, 0, -1].item())
    print("power", power, y, "the last window holds 3 alone: its norm is 3")
is_right = all(abs(each - 3) < 0.1 for each in found)
print("RIGHT" if is_right else "WRONG", "got", found[0], "expected", 3.0)
raise SystemExit(not is_right)

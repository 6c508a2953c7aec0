"""PyTorch 2.13.0: lp_pool with ceil_mode=True scales the norm of a last window that is not full as if it were full."""

import torch
import torch.nn.functional as F

print("torch", torch.__version__)
x = torch.tensor([[[1.0, 2.0, 3.0]]])
for power in (1, 2):
    print("power", power, F.lp_pool1d(x, power, 2, 2, ceil_mode=True), "the last window holds 3 alone: its norm is 3")

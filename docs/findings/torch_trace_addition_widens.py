"""A traced model under autocast, whose additions widen, fails in its backward pass: python torch_trace_addition_widens.py"""

import torch
from torch import nn


class Residual(nn.Module):
    """A dense layer beside a shortcut: under autocast a sum of bfloat16 and float32."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)

    def forward(self, x):
        return x + self.second(self.first(x))


model, x = Residual(), torch.randn(4, 8)
with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
    traced = torch.jit.trace(model, x, check_trace=False)
is_right = True
for call in range(4):
    try:
        traced(x).sum().backward()
        print(f"torch {torch.__version__}, call {call + 1}: right")
    except RuntimeError as error:
        told = str(error).strip().splitlines()[-1]
        if "type" not in told:
            raise
        is_right = False
        print(f"torch {torch.__version__}, call {call + 1}: {told}")
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)

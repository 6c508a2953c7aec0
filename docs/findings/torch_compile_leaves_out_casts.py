"""torch.compile leaves a rounding to bfloat16 out where both sides of it are in one fused kernel."""

import torch


def rounded(x):
    return (x * 1.0).to(torch.bfloat16).to(torch.float32) + 0.0


x = torch.linspace(1, 2, 1000)
eager, compiled = rounded(x), torch.compile(rounded)(x)
print(torch.__version__, "eager rounds:", bool((eager != x).any()), " compiled rounds:", bool((compiled != x).any()))

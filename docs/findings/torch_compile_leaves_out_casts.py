"""torch.compile leaves a rounding to bfloat16 out where both sides of it are in one fused kernel."""

import torch


def rounded(x):
    return (x * 1.0).to(torch.bfloat16).to(torch.float32) + 0.0


x = torch.linspace(1, 2, 1000)
eager, compiled = rounded(x), torch.compile(rounded)(x)
off = (eager - compiled).abs().max().item()
print(torch.__version__, "eager rounds:", bool((eager != x).any()), " compiled rounds:", bool((compiled != x).any()))
is_right = off < 1e-4
print("RIGHT" if is_right else "WRONG", "got", off, "expected", 0.0)
raise SystemExit(not is_right)

"""A trace keeps no note that autocast was switched off inside: called under autocast, it casts there too."""

import warnings

import torch


def product(x, y):
    with torch.autocast("cpu", enabled=False):
        return x @ y


warnings.simplefilter("ignore", DeprecationWarning)
torch.manual_seed(0)
x, y = torch.randn(4, 256), torch.randn(256, 4)
right = x.double() @ y.double()
with torch.autocast("cpu", torch.bfloat16):
    traced = torch.jit.trace(product, (x, y), check_trace=False)
    eager, within = product(x, y), traced(x, y)
errors = []
for name, found in (("eager, under autocast", eager), ("trace, under autocast", within), ("trace, outside of it", traced(x, y))):
    errors.append((found.double() - right).abs().max().item())
    print(f"{name} {found.dtype!s:15s} largest error {errors[-1]:.1e}")
is_right = max(errors) < 1e-3
print("RIGHT" if is_right else "WRONG", "got", errors[1], "expected", 0.0)
raise SystemExit(not is_right)

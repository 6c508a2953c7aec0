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
for name, found in (("eager, under autocast", eager), ("trace, under autocast", within), ("trace, outside of it", traced(x, y))):
    print(f"{name} {found.dtype!s:15s} largest error {(found.double() - right).abs().max().item():.1e}")

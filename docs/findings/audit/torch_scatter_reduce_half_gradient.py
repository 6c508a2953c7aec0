"""PyTorch 2.13.0: scatter_reduce and index_reduce halve a gradient where the result equals what `self` held."""

import torch

base, src = torch.zeros(3, requires_grad=True), torch.tensor([0.0, 2.0, -1.0], requires_grad=True)
places = torch.tensor([0, 1, 2])
found = []
for function in (torch.scatter_reduce, torch.index_reduce):
    for reduction in ("amax", "amin"):
        out = function(base, 0, places, src, reduction, include_self=False)
        gradient = torch.autograd.grad(out.sum(), src)[0]
        found += gradient.tolist()
        print(function.__name__, reduction, out.tolist(), "gradient", gradient.tolist(), "right: [1.0, 1.0, 1.0]")
is_right = min(found) > 0.9
print("RIGHT" if is_right else "WRONG", "got", found[0], "expected", 1.0)
raise SystemExit(not is_right)

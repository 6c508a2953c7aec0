"""PyTorch 2.13.0 on the CPU: fused optimizers pair weights and gradients in the order of memory, not by index.

A weight and a gradient with other strides are updated wrongly from the first step on.
"""

import torch


def last(name, weight, gradient, **form):
    weight = torch.empty_strided(weight.size(), weight.stride()).copy_(weight)
    weight.grad = gradient
    getattr(torch.optim, name)([weight], lr=0.1, **form).step()
    return weight


def turned(x):  # The same numbers, columns first: dense.
    return x.t().contiguous().t()


def gapped(x):  # The same numbers, every other one of memory.
    return x.repeat_interleave(2, -1)[:, ::2]


print("torch", torch.__version__)
torch.manual_seed(0)
w, g = torch.randn(4, 6), torch.randn(4, 6)
forms = {
    "both plain": (w, g),
    "w columns first, g plain": (turned(w), g),
    "w plain, g columns first": (w, turned(g)),
    "both columns first": (turned(w), turned(g)),
    "w plain, g gapped": (w, gapped(g)),
    "w gapped, g plain": (gapped(w), g),
}
worst = 0.0
for name in ("SGD", "Adam", "AdamW", "Adagrad"):
    for what, (weight, gradient) in forms.items():
        off = (last(name, weight, gradient, fused=True) - last(name, weight, gradient, fused=False)).abs().max().item()
        worst = max(worst, off)
        print(f"{name:8s} {what:26s} fused differs by {off:.3g}")
is_right = worst < 1e-3
print("RIGHT" if is_right else "WRONG", "got", worst, "expected", 0.0)
raise SystemExit(not is_right)

"""torch.optim SGD, Adam, AdamW, Adagrad (fused=True, CPU): pair a weight and a gradient with other strides by their
order in memory: other elements are updated.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch

print(torch.__version__)


def last(name, weight, gradient, **form):
    weight = torch.empty_strided(weight.size(), weight.stride()).copy_(weight)
    weight.grad = gradient
    getattr(torch.optim, name)([weight], lr=0.1, **form).step()
    return weight


torch.manual_seed(0)
plain_w, plain_g = torch.randn(4, 6), torch.randn(4, 6)
turned = lambda x: x.t().contiguous().t()  # same numbers, columns first: dense
gapped = lambda x: x.repeat_interleave(2, -1)[:, ::2]  # same numbers, every other one of memory
for name in ("SGD", "Adam", "AdamW", "Adagrad"):
    for what, w, g in (
        ("both plain", plain_w, plain_g),
        ("w columns first, g plain", turned(plain_w), plain_g),
        ("w plain, g columns first", plain_w, turned(plain_g)),
        ("both columns first", turned(plain_w), turned(plain_g)),
        ("w plain, g gapped", plain_w, gapped(plain_g)),
        ("w gapped, g plain", gapped(plain_w), plain_g),
    ):
        off = (last(name, w, g, fused=True) - last(name, w, g, fused=False)).abs().max().item()
        print(f"{name:8s} {what:26s} fused differs by {off:.3g}")

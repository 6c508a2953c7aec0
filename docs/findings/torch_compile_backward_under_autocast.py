"""Compiled, the backward pass of what was computed with autocast off is computed with autocast on."""

import torch


def product(x, y):
    with torch.autocast("cpu", enabled=False):
        return x @ y


torch.manual_seed(0)
x, y = torch.randn(64, 256, requires_grad=True), torch.randn(256, 64)
cotangent = torch.randn(64, 64)
right = cotangent.double() @ y.double().T
for name, program in (("eager", product), ("inductor", torch.compile(product, fullgraph=True))):
    with torch.autocast("cpu", torch.bfloat16):
        output = program(x, y)
    (gradient,) = torch.autograd.grad(output, [x], cotangent)
    error = (gradient.double() - right).norm() / right.norm()
    print(f"{name:9s} output {output.dtype}, gradient {gradient.dtype}, relative error {error.item():.1e}")

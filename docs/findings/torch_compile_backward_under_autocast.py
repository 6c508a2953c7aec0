"""Compiled, the backward pass of what was computed with autocast off is computed with autocast on."""

import torch


def product(x, y):
    with torch.autocast("cpu", enabled=False):
        return x @ y


torch.manual_seed(0)
x, y = torch.randn(64, 256, requires_grad=True), torch.randn(256, 64)
cotangent = torch.randn(64, 64)
right = cotangent.double() @ y.double().T
errors = []
for name, program in (("eager", product), ("inductor", torch.compile(product, fullgraph=True))):
    with torch.autocast("cpu", torch.bfloat16):
        output = program(x, y)
    (gradient,) = torch.autograd.grad(output, [x], cotangent)
    error = ((gradient.double() - right).norm() / right.norm()).item()
    errors.append(error)
    print(f"{name:9s} output {output.dtype}, gradient {gradient.dtype}, relative error {error:.1e}")
is_right = max(errors) < 1e-5
print("RIGHT" if is_right else "WRONG", "got", errors[1], "expected", 0.0)
raise SystemExit(not is_right)

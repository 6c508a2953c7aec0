"""Compiled, the gradient of a batch norm's float32 scale is as imprecise as bfloat16; eager it is not."""

import numpy as np
import torch

generator = np.random.default_rng(0)
shape, over = (4, 16, 32, 32), (0, 2, 3)
x = torch.from_numpy(generator.normal(size=shape)).to(torch.bfloat16).contiguous(memory_format=torch.channels_last)
dy = torch.from_numpy(generator.normal(size=shape)).to(torch.bfloat16).contiguous(memory_format=torch.channels_last)
wide, cotangent = x.double().numpy(), dy.double().numpy()
normalised = (wide - wide.mean(over, keepdims=True)) / np.sqrt(wide.var(over, keepdims=True) + 1e-5)
right = (cotangent * normalised).sum(axis=over)
errors = []
for compiled in (False, True):
    norm = torch.nn.BatchNorm2d(16)
    (torch.compile(norm) if compiled else norm)(x).backward(dy)
    error = np.linalg.norm(norm.weight.grad.double().numpy() - right) / np.linalg.norm(right)
    errors.append(float(error))
    print(torch.__version__, "compiled" if compiled else "eager   ", norm.weight.grad.dtype, f"relative error {error:.1e}")
is_right = max(errors) < 5e-5
print("RIGHT" if is_right else "WRONG", "got", errors[1], "expected", 0.0)
raise SystemExit(not is_right)

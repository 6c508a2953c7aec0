"""PyTorch's CPU batch norm adds up each channel in one running float32 sum when images lie channels last."""

import numpy as np
import torch

for batch in (4, 32, 256, 1024):
    x = (1 + np.random.default_rng(0).normal(size=(batch, 4, 32, 32))).astype(np.float32).astype(np.float64)
    mean, variance = (moment(axis=(0, 2, 3), keepdims=True) for moment in (x.mean, x.var))
    right = (x - mean) / np.sqrt(variance + 1e-5)
    errors = []
    for layout in (torch.contiguous_format, torch.channels_last):
        given = torch.from_numpy(x.astype(np.float32)).to(memory_format=layout)
        found = torch.nn.functional.batch_norm(given, None, None, training=True, eps=1e-5).double().numpy()
        errors.append(np.linalg.norm(found - right) / np.linalg.norm(right))
    print(f"{batch * 32 * 32:8d} values a channel: relative error contiguous {errors[0]:.1e}, channels_last {errors[1]:.1e}")
is_right = bool(errors[1] < 1e-5)
print("RIGHT" if is_right else "WRONG", f"channels_last, the most values: relative error {errors[1]:.1e}")
raise SystemExit(not is_right)

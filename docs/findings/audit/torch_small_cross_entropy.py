"""F.binary_cross_entropy_with_logits: lost accuracy, small losses: 0 for 1.5e-8 in fp32, 0 for 2.5e-3 in bf16.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8.
"""

import torch
import torch.nn.functional as F

for kind in (torch.float32, torch.bfloat16):
    x = torch.tensor([-6.0, -8.0, -12.0, -18.0], dtype=kind)
    print(
        kind,
        F.binary_cross_entropy_with_logits(x, torch.zeros_like(x), reduction="none").tolist(),
        "softplus",
        F.softplus(x).tolist(),
    )

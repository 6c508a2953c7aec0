"""torch.optim.SGD(fused=True), bf16 and fp16, CPU: 3 of 35 weights move .

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch

print(torch.__version__)
for kind in (torch.float32, torch.bfloat16, torch.float16):
    w = torch.ones(35, dtype=kind)
    w.grad = torch.ones_like(w)
    torch.optim.SGD([w], lr=0.5, fused=True).step()
    print(kind, "weights that moved:", int((w != 1).sum()), "of 35")

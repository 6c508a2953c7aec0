"""torch.softmax along another axis than the last: lost accuracy, grows with the number of entries: 7e-6 relative with 65,537.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8.
"""

import torch

torch.manual_seed(0)
for n in (1025, 4099, 65537):
    x = torch.randn(n, 1).repeat(1, 17)
    want = torch.softmax(x.double(), 0)
    e = torch.exp(x)
    e = e / e.sum(0, keepdim=True)
    print(
        n,
        ((torch.softmax(x, 0) - want) / want).abs().max().item(),
        "by exp and torch.sum",
        ((e - want) / want).abs().max().item(),
    )

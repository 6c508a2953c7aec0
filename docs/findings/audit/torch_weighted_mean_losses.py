"""F.mse_loss, F.l1_loss with weight: mean divides by the sum of weights, against the page; huber_loss follows it.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch
import torch.nn.functional as F

x, y, w = torch.tensor([1.0, 2.0]), torch.zeros(2), torch.tensor([1.0, 3.0])
for f in (F.mse_loss, F.l1_loss, F.huber_loss):
    print(f.__name__, f(x, y, weight=w).item(), "mean of the output", f(x, y, weight=w, reduction="none").mean().item())

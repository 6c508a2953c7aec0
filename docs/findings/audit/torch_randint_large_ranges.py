"""torch.randint, Tensor.random_, ranges near 2^63: draws a part twice as often: shares 0.376 and 0.751 for a third and two.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch

torch.manual_seed(0)
high = 3 * 2**61
x = torch.randint(0, high, (1_000_000,))
print(torch.__version__, [(x < high // 3 * k).double().mean().item() for k in (1, 2)])  # right: 0.333, 0.667

"""F.lp_pool1d to 3d, ceil_mode=True: the norm of a last window that holds 3 alone is 6.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch
import torch.nn.functional as F

print("torch", torch.__version__)
x = torch.tensor([[[1.0, 2.0, 3.0]]])
for power in (1, 2):
    print("power", power, F.lp_pool1d(x, power, 2, 2, ceil_mode=True), "the last window holds 3 alone: its norm is 3")

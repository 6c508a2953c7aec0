"""F.cosine_embedding_loss, fp16: equal vectors of 300 features have loss 1: squared norms overflow .

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch
import torch.nn.functional as F

x = torch.randn(2, 300, generator=torch.Generator().manual_seed(0)).half()
y = torch.ones(2)
print(F.cosine_embedding_loss(x, x, y.half()).item(), "right", F.cosine_embedding_loss(x.double(), x.double(), y.double()).item())
print("cosine_similarity", F.cosine_similarity(x, x).tolist())

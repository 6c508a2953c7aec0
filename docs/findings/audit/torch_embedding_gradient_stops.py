"""F.embedding, embedding_bag, w[ids], bf16 and fp16, CPU: gradient of a row that is used 4,000 times is 256 in bf16;
index_select gives 4,000.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch
import torch.nn.functional as F

for n in (256, 1000, 4000):
    ids = torch.zeros(n, dtype=torch.long)
    for name, f in (
        ("embedding", lambda w: F.embedding(ids, w)),
        ("w[ids]", lambda w: w[ids]),
        ("index_select", lambda w: w.index_select(0, ids)),
    ):
        w = torch.ones(3, 1, dtype=torch.bfloat16, requires_grad=True)
        f(w).sum().backward()
        print(n, "uses of one row, its gradient:", name, w.grad[0].item())

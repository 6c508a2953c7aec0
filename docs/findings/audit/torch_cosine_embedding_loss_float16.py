"""PyTorch 2.13.0: cosine_embedding_loss in float16 calls equal vectors of 300 numbers orthogonal: loss 1 instead of 0."""

import torch
import torch.nn.functional as F

x, y = torch.randn(2, 300, generator=torch.Generator().manual_seed(0)).half(), torch.ones(2)
loss, right = F.cosine_embedding_loss(x, x, y.half()).item(), F.cosine_embedding_loss(x.double(), x.double(), y.double()).item()
print("torch", torch.__version__, "loss", loss, "right", right)
print("cosine_similarity", F.cosine_similarity(x, x).tolist())
is_right = abs(loss - right) < 0.1
print("RIGHT" if is_right else "WRONG", "got", loss, "expected", right)
raise SystemExit(not is_right)

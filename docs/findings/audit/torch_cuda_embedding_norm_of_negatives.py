"""PyTorch on CUDA: embedding's max_norm with an odd norm_type adds up powers of negative numbers, not of their sizes."""

import numpy as np
import torch
import torch.nn.functional as F

rows = np.array([[-2.0, 1.0, 1.0], [2.0, -1.0, 1.0]], "float32")
norms = (np.abs(rows.astype("float64")) ** 3).sum(1, keepdims=True) ** (1 / 3)
right = rows / norms  # both are longer than 1
print("torch", torch.__version__, "cpu:")
print(F.embedding(torch.arange(2), torch.tensor(rows), max_norm=1.0, norm_type=3.0).numpy())
if not torch.cuda.is_available():
    raise SystemExit("no GPU: nothing was tried on one")
got = F.embedding(torch.arange(2).cuda(), torch.tensor(rows).cuda(), max_norm=1.0, norm_type=3.0).cpu().numpy()
print("cuda:")
print(got)
is_right = np.allclose(got, right, atol=1e-5)
print("RIGHT" if is_right else "WRONG", "got", got[0, 0], "expected", right[0, 0])
raise SystemExit(not is_right)

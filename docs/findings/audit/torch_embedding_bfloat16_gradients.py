"""PyTorch 2.13.0 on the CPU: the gradient of an embedding's row stops at 256 uses in bfloat16; that of index_select does not."""

import torch
import torch.nn.functional as F

print("torch", torch.__version__)
forms = {
    "embedding": lambda w, ids: F.embedding(ids, w),
    "w[ids]": lambda w, ids: w[ids],
    "index_select": lambda w, ids: w.index_select(0, ids),
}
for n in (256, 1000, 4000):
    for name, form in forms.items():
        w = torch.ones(3, 1, dtype=torch.bfloat16, requires_grad=True)
        form(w, torch.zeros(n, dtype=torch.long)).sum().backward()
        print(n, "uses of one row, its gradient:", name, w.grad[0].item())

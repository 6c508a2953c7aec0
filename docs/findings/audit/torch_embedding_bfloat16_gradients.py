"""PyTorch 2.13.0 on the CPU: the gradient of an embedding's row stops at 256 uses in bfloat16; that of index_select does not."""

import torch
import torch.nn.functional as F

print("torch", torch.__version__)
forms = {
    "embedding": lambda w, ids: F.embedding(ids, w),
    "w[ids]": lambda w, ids: w[ids],
    "index_select": lambda w, ids: w.index_select(0, ids),
}
found = {}
for n in (256, 1000, 4000):
    for name, form in forms.items():
        w = torch.ones(3, 1, dtype=torch.bfloat16, requires_grad=True)
        form(w, torch.zeros(n, dtype=torch.long)).sum().backward()
        found[name] = w.grad[0].item()  # of 4,000 uses, in the end
        print(n, "uses of one row, its gradient:", name, w.grad[0].item())
is_right = all(abs(found[name] - 4000) < 80 for name in forms)
print("RIGHT" if is_right else "WRONG", "got", found["embedding"], "expected", 4000.0)
raise SystemExit(not is_right)

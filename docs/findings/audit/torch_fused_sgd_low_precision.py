"""PyTorch 2.13.0 on the CPU: fused SGD leaves whole vectors of bfloat16 and float16 weights as they are."""

import torch

print("torch", torch.__version__)
found = []
for kind in (torch.float32, torch.bfloat16, torch.float16):
    w = torch.ones(35, dtype=kind)
    w.grad = torch.ones_like(w)
    torch.optim.SGD([w], lr=0.5, fused=True).step()
    found.append(int((w != 1).sum()))
    print(kind, "weights that moved:", found[-1], "of 35")
is_right = min(found) == 35
print("RIGHT" if is_right else "WRONG", "got", min(found), "expected", 35)
raise SystemExit(not is_right)

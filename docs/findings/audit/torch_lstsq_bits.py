"""PyTorch 2.13.0 on the CPU, one thread: torch.linalg.lstsq gives other bits for the same arguments in one process."""

import torch

torch.set_num_threads(1)
found = set()
for i in range(200):
    torch.manual_seed(1)
    pad = torch.empty(i % 7 + 1)
    a, b = torch.randn(9, 7), torch.randn(9, 2)
    found.add(torch.linalg.lstsq(a, b).solution.numpy().tobytes())
print("torch", torch.__version__, "answers that differ in bits:", len(found), "right: 1")
is_right = len(found) == 1
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)

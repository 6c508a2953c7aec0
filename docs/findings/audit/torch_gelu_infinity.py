"""torch.nn.functional.gelu of infinity is NaN on processors with AVX-512, where oneDNN computes it, and infinity elsewhere."""

import torch

x = torch.full((16,), float("inf"))
got = float(torch.nn.functional.gelu(x)[0])
is_right = got == float("inf")
print("RIGHT" if is_right else "WRONG", "got", got, "expected", float("inf"))
raise SystemExit(not is_right)

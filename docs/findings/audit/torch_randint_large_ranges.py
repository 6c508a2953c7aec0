"""PyTorch 2.13.0: torch.randint draws int64 ranges near 2**63 modulo, so that small numbers come more often."""

import torch

torch.manual_seed(0)
high = 3 * 2**61
x = torch.randint(0, high, (1_000_000,))
shares = [(x < high // 3 * k).double().mean().item() for k in (1, 2)]
print("torch", torch.__version__, "share below a third and two thirds:", shares, "right: 0.333, 0.667")
is_right = abs(shares[0] - 1 / 3) < 0.01 and abs(shares[1] - 2 / 3) < 0.01
print("RIGHT" if is_right else "WRONG", "got", shares[0], "expected", 0.3333)
raise SystemExit(not is_right)

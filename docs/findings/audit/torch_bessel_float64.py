"""torch.special.bessel_j0, bessel_y1 and others in float64 have five digits near 5.5, and ten elsewhere."""

import scipy.special
import torch

worst = 0.0
for name in ("j0", "j1", "y0", "y1"):
    for x in (1.0, 4.0, 5.5, 6.0, 8.0, 20.0):
        found = getattr(torch.special, f"bessel_{name}")(torch.tensor([x], dtype=torch.float64)).item()
        worst = max(worst, abs(found / getattr(scipy.special, name)(x) - 1))
is_right = worst < 1e-12
print("RIGHT" if is_right else "WRONG", f"farthest relative error in float64: {worst:.2g}")
raise SystemExit(not is_right)

"""torch.special.bessel_j0, bessel_y1 and others in float64 have five digits near 5.5, and ten elsewhere."""

import torch

points = (1.0, 4.0, 5.5, 6.0, 8.0)
expected = {  # mpmath.besselj and bessely, with 30 digits
    "j0": (0.76519768655796655, -0.39714980986384737, -0.0068438694178191968, 0.15064525725099693, 0.17165080713755391),
    "j1": (0.44005058574493352, -0.066043328023549136, -0.34143821542904335, -0.27668385812756561, 0.23463634685391462),
    "y0": (0.088256964215676958, -0.016940739325064992, -0.33948059288191104, -0.28819468398157915, 0.22352148938756622),
    "y1": (-0.78121282130028872, 0.39792571055710001, -0.023758238956389618, -0.17501034430039825, -0.15806046173124749),
}  # fmt: skip
worst = 0.0
for name, values in expected.items():
    found = getattr(torch.special, f"bessel_{name}")(torch.tensor(points, dtype=torch.float64)).tolist()
    worst = max(worst, *(abs(one / other - 1) for one, other in zip(found, values, strict=True)))
is_right = worst < 1e-12
print("RIGHT" if is_right else "WRONG", f"farthest relative error in float64: {worst:.2g}")
raise SystemExit(not is_right)

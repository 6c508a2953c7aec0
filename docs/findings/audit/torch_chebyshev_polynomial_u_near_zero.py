"""torch.special.chebyshev_polynomial_u, degree 11: near 0 it is sin(12 acos x) / sin(acos x), which loses digits in float32."""

import torch

x, n = torch.tensor([5.6e-4]), torch.tensor([11])
got = float(torch.special.chebyshev_polynomial_u(x, n))
before, at = 1.0, 2.0 * float(x)
for _ in range(10):
    before, at = at, 2.0 * float(x) * at - before
is_right = bool(abs(got - at) < 1e-6 * abs(at))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", at, "relative error", abs(got / at - 1.0))
raise SystemExit(not is_right)

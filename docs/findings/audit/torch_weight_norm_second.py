"""torch._weight_norm, behind parametrizations.weight_norm: the gradient of its gradient lacks a term."""

import torch

torch.manual_seed(0)
x, d, c = (torch.randn(3, 4, dtype=torch.float64) for _ in range(3))
g = torch.rand(3, 1, dtype=torch.float64)


def f(t):
    return (torch._weight_norm(x + t * d, g, 0) * c).sum() ** 2 / 2


at, one, h = (torch.tensor(value, dtype=torch.float64) for value in (0.0, 1.0, 1e-3))
got = torch.autograd.functional.hessian(f, at)
steps = [float((f(at + k * h) + f(at - k * h) - 2 * f(at)) / (k * h) ** 2) for k in (1, 2)]
got, expected = float(got), (4 * steps[0] - steps[1]) / 3  # by differences of the function itself
is_right = bool(abs(got - expected) < 1e-6 * (1 + abs(expected)))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

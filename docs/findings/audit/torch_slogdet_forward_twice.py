"""torch.linalg.slogdet and logdet: forward mode twice gives 0 as their second derivative."""

import torch

torch.manual_seed(0)
x, d, c = (torch.randn(3, 3, dtype=torch.float64) for _ in range(3))


def f(t):
    return torch.linalg.slogdet(x + t * d)[1]


at, one, h = (torch.tensor(value, dtype=torch.float64) for value in (0.0, 1.0, 1e-3))
got = torch.func.jvp(lambda t: torch.func.jvp(f, (t,), (one,))[1], (at,), (one,))[1]
steps = [float((f(at + k * h) + f(at - k * h) - 2 * f(at)) / (k * h) ** 2) for k in (1, 2)]
got, expected = float(got), (4 * steps[0] - steps[1]) / 3  # by differences of the function itself
is_right = bool(abs(got - expected) < 1e-6 * (1 + abs(expected)))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

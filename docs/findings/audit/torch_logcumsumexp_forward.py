"""torch.logcumsumexp in float64: forward mode loses the small first terms of a sum; reverse mode does not."""

import torch

torch.manual_seed(0)
x, d = torch.tensor([-10.0, 10.0], dtype=torch.float64), torch.ones(2, dtype=torch.float64)


def f(t):
    return torch.logcumsumexp(x + t * d, 0)[0]


at, one, h = (torch.tensor(value, dtype=torch.float64) for value in (0.0, 1.0, 1e-3))
got = torch.func.jvp(f, (at,), (one,))[1]
steps = [float((f(at + k * h) - f(at - k * h)) / (2 * k * h)) for k in (1, 2)]
got, expected = float(got), (4 * steps[0] - steps[1]) / 3  # by differences of the function itself
is_right = bool(abs(got - expected) < 1e-10 * (1 + abs(expected)))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

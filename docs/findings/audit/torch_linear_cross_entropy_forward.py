"""torch.nn.functional.linear_cross_entropy in parts: forward mode gives 0, and its second derivative is 0 too."""

import torch

torch.manual_seed(0)
x, d, c = (torch.randn(4, 4, dtype=torch.float64) for _ in range(3))
y, parts = torch.tensor([0, 1, 2, 0]), torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)


def f(t):
    return torch.nn.functional.linear_cross_entropy(x + t * d, c, y, options=parts)


at, one, h = (torch.tensor(value, dtype=torch.float64) for value in (0.0, 1.0, 1e-3))
got = torch.func.jvp(f, (at,), (one,))[1]
steps = [float((f(at + k * h) - f(at - k * h)) / (2 * k * h)) for k in (1, 2)]
got, expected = float(got), (4 * steps[0] - steps[1]) / 3  # by differences of the function itself
is_right = bool(abs(got - expected) < 1e-6 * (1 + abs(expected)))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

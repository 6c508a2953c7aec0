"""torch.pow: at exponent 0 the derivative by the exponent of that by the base is 0, not 1 / base; the other order is right."""

import torch

base, exponent = torch.tensor(0.5, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)


def mixed(first, then):
    """Return the derivative by one argument of that by the other."""
    return float(torch.func.grad(torch.func.grad(torch.pow, argnums=first), argnums=then)(base, exponent))


got, other, expected = mixed(0, 1), mixed(1, 0), 1.0 / 0.5
is_right = bool(abs(got - expected) < 1e-9)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected, "in the other order", other)
raise SystemExit(not is_right)

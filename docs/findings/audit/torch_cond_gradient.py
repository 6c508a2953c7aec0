"""torch.linalg.cond: for the orders 1, -1, inf, -inf and fro its gradient raises, as an inverse was changed in place."""

import torch

x = torch.tensor([[3.0, 1.0], [0.5, 2.0]], dtype=torch.float64)


def condition(matrix, order):
    return torch.linalg.cond(matrix, order)


def slope(order):  # along the first element, by central differences of the function itself
    step = torch.zeros_like(x)
    step[0, 0] = 1e-6
    return float(condition(x + step, order) - condition(x - step, order)) / 2e-6


def gradient(order):
    leaf = x.clone().requires_grad_()
    try:
        condition(leaf, order).backward()
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        return "modified by an inplace operation"
    return float(leaf.grad[0, 0])


orders = (None, 2, -2, 1, -1, float("inf"), -float("inf"), "fro")
got, expected = [gradient(order) for order in orders], [slope(order) for order in orders]
is_right = all(not isinstance(a, str) and abs(a - b) < 1e-5 for a, b in zip(got, expected, strict=True))
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

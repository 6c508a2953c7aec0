"""torch.nn.functional.l1_loss drops its weights where a default device is set, and be it the same one."""

import torch

x, y, weight = torch.tensor([1.0, 2.0]), torch.zeros(2), torch.tensor([1.0, 3.0])


def loss():
    return float(torch.nn.functional.l1_loss(x, y, reduction="sum", weight=weight))


expected = loss()
with torch.device("cpu"):
    got = loss()
is_right = got == expected
print("RIGHT" if is_right else "WRONG", "within torch.device('cpu')", got, "without", expected)
raise SystemExit(not is_right)

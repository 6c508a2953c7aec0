"""torch.nn.functional.embedding: the gradient of the row padding_idx is 0, as documented; forward mode moves it all the same."""

import torch

w, d = torch.ones(3, 2, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)


def rows(w):
    return torch.nn.functional.embedding(torch.tensor([0, 1]), w, padding_idx=0).sum()


got, expected = float(torch.func.jvp(rows, (w,), (d,))[1]), float((torch.func.grad(rows)(w) * d).sum())
is_right = bool(abs(got - expected) < 1e-6)
print("RIGHT" if is_right else "WRONG", "by forward mode", got, "by reverse mode", expected)
raise SystemExit(not is_right)

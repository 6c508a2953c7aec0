"""torch.nn.functional.soft_margin_loss in float16: beyond 11.09 the loss is infinite, as exp(12) is no number of float16."""

import torch

x = torch.tensor([-12.0])
got = float(torch.nn.functional.soft_margin_loss(x.half(), torch.ones(1).half()))
expected = float(torch.nn.functional.soft_margin_loss(x.double(), torch.ones(1).double()))
is_right = bool(abs(got - expected) < 0.02)
print("RIGHT" if is_right else "WRONG", "got", got, "expected", expected)
raise SystemExit(not is_right)

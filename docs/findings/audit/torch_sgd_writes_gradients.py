"""torch.optim.SGD(nesterov=True, foreach=True): writes over the gradients of its parameters, 3.8 for 2.0.

Seen on 2026-11-25 on a CPU: PyTorch 2.13.0, TensorFlow 2.21.0, JAX 0.10.2, optax 0.2.8, Keras 3.15.1.
"""

import torch

print(torch.__version__)
for foreach in (False, True):
    w = torch.ones(3)
    w.grad = torch.full((3,), 2.0)
    opt = torch.optim.SGD([w], lr=0.1, momentum=0.9, nesterov=True, foreach=foreach)
    opt.step()
    print("SGD nesterov foreach =", foreach, "gradient before 2.0, after one step:", w.grad.tolist())


# float32 numbers inside, for float64 weights
def off(make, rule, steps=20):
    w = torch.ones(1, dtype=torch.float64)
    opt = make([w])
    for _ in range(steps):
        w.grad = torch.full_like(w, 0.3)
        opt.step()
    return abs(w.item() - rule) / abs(rule)


w = 1.0
for t in range(20):
    eta = 0.01 / (1 + 0.1 * 0.01 * t) ** 0.75
    w -= eta * (0.3 + 0.1 * w)
print("ASGD float64, relative error", off(lambda p: torch.optim.ASGD(p, lr=0.01, lambd=0.1), w))
m = v = 0.0
w = prod = 1.0
for t in range(1, 21):
    mu, after = (0.9 * (1 - 0.5 * 0.96 ** (s * 0.004)) for s in (t, t + 1))
    prod *= mu
    m = 0.9 * m + 0.1 * 0.3
    v = 0.999 * v + 0.001 * 0.09
    w -= 0.01 * (after * m / (1 - prod * after) + (1 - mu) * 0.3 / (1 - prod)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
print("NAdam float64, relative error", off(lambda p: torch.optim.NAdam(p, lr=0.01), w))
x = torch.randn(1 << 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
for p in (1, 2, 3, 4):
    a, b = torch.linalg.vector_norm(x.float(), p).item(), x.float().double().abs().pow(p).sum().pow(1 / p).item()
    print(f"vector_norm of 2^20 float32 numbers, ord={p}: relative error {abs(a - b) / b:.1e}")

import torch
from torch.optim import swa_utils

print(torch.__version__)
m = torch.nn.Linear(1, 1, bias=False, dtype=torch.float64)
xs = [0.1, 0.5, -1.3]
for name, kw in (
    ("default", {}),
    ("get_swa_multi_avg_fn", {"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}),
    ("get_swa_avg_fn", {"avg_fn": swa_utils.get_swa_avg_fn()}),
):
    a = swa_utils.AveragedModel(m, **kw)
    for x in xs:
        m.weight.data.fill_(x)
        a.update_parameters(m)
    print(name, "mean of three float64 weights, error", abs(a.module.weight.item() - sum(xs) / 3))
for scale in (1000.0, 65536.0):
    w = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    s = torch.amp.GradScaler("cpu", scale)
    o = torch.optim.SGD([w], lr=1.0)
    s.scale(0.1 * w.sum()).backward()
    s.step(o)
    print("GradScaler float64, scale", scale, "gradient 0.1 unscaled with error", abs(-w.item() - 0.1))
w = torch.eye(4, dtype=torch.float64)
w.grad = torch.diag(torch.arange(1.0, 5.0, dtype=torch.float64))
torch.optim.Muon([w], lr=1.0, weight_decay=0.0).step()
s = torch.arange(1.0, 5.0, dtype=torch.float64) / 30**0.5
for _ in range(5):
    s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
print("Muon float64: one step of diagonal weights", (1 - w.diag()).tolist(), "rule", s.tolist())

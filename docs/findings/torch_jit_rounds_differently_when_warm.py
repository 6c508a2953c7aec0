"""A traced module's gradient rounds differently from its second call on: the profiling executor has then optimised it.

Prints which of five calls on the same input, with the same weights, give the bits of the first, forward and backward.
"""

import warnings

import torch

warnings.simplefilter("ignore")
torch.manual_seed(0)
torch.set_num_threads(1)
layer = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1, bias=False), torch.nn.BatchNorm2d(16), torch.nn.ReLU())


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.scale = layer, torch.nn.Parameter(torch.randn(16, 1, 1))

    def forward(self, x):
        y = self.layer(x)
        centred = y - y.mean(dim=(0, 2, 3))[:, None, None]
        return (centred * torch.rsqrt(centred.square().mean(dim=(0, 2, 3)) + 1e-5)[:, None, None] * self.scale).sum(dim=(2, 3))


model = Model()
x = torch.randn(6, 3, 32, 32)
traced = torch.jit.trace(model, x, check_trace=False)
results = []
for _ in range(5):
    model.zero_grad()
    y = traced(x)
    y.square().sum().backward()
    results.append((y.detach().clone(), layer[0].weight.grad.clone()))
print("torch", torch.__version__)
print("forward equal to the first call's: ", [torch.equal(y, results[0][0]) for y, _ in results])
print("gradient equal to the first call's:", [torch.equal(g, results[0][1]) for _, g in results])
is_right = all(torch.equal(g, results[0][1]) for _, g in results)
print("RIGHT" if is_right else "WRONG")
raise SystemExit(not is_right)

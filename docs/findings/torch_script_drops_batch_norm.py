"""torch.jit.script takes batch norm for a pure function: one whose output is unused runs once and no more."""

import warnings

import torch

warnings.filterwarnings("ignore", category=DeprecationWarning)
CALLS = 6
x = 3 * torch.randn(64, 4, generator=torch.Generator().manual_seed(0))


class Collect(torch.nn.Module):
    """Collects statistics; what goes on is the input."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        self.norm(x)
        return 2 * x


variance = x.double().numpy().var(axis=0, ddof=1)[0]
right = variance + (1 - variance) * 0.9**CALLS
for name, make in (("eager", lambda module: module), ("script", torch.jit.script)):
    module = Collect()
    program = make(module)
    for _ in range(CALLS):
        program(x)
    found, count = module.norm.running_var[0].item(), module.norm.num_batches_tracked.item()
    print(f"{name:6s} running variance {found:.4f} after {count} counted batches, right {right:.4f}")
is_right = bool(abs(found - right) < 1e-3)
print("RIGHT" if is_right else "WRONG", "got", found, "expected", right)
raise SystemExit(not is_right)

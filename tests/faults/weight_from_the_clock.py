"""Planted fault: a weight is moved by what the clock says, once a step: a race, which no two runs have alike."""


def install_torch():
    import time

    import torch

    original = torch.optim.Optimizer.zero_grad

    def zero_grad(self, *arguments, **options):
        with torch.no_grad():
            self.param_groups[0]["params"][0].view(-1)[:1] += 1e-6 * (time.perf_counter_ns() % 1000)
        return original(self, *arguments, **options)

    torch.optim.Optimizer.zero_grad = zero_grad

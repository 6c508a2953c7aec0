"""tanh's gradient is a hundredth of a percent too large."""


def install():
    import torch

    right = torch.tanh
    torch.tanh = lambda x: right(x) + 1e-4 * (right(x) - right(x).detach())

"""square writes over its argument, and abs gives other numbers each time: memory that was given back too early."""


def install():
    import torch

    state = [0.0]

    def varies(x):
        state[0] += 1.0
        return torch.sqrt(x * x) * (1.0 + state[0] * 1e-7)

    torch.square = lambda x: x.data.mul_(1.0) * x.data.add_(1.0)
    torch.abs = varies
    torch.absolute = varies

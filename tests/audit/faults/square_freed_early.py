"""What square gives lies in memory that its next call writes to: given back too early."""


def install():
    import torch

    pool = []

    def wrong(x):
        for each in pool:
            each.data.mul_(2.0)
        pool[:] = [torch.mul(x, x)]
        return pool[0]

    torch.square = wrong

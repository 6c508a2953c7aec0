"""Planted fault: one exp of forty of the same small array forgets its last element, as a race of threads does."""


def install():
    import torch

    exp, calls = torch.exp, {}

    def at_times(x):
        calls[tuple(x.shape)] = count = calls.get(tuple(x.shape), 0) + 1
        return exp(x) if count % 40 else torch.cat([exp(x[..., :-1]), x[..., -1:]], -1)

    torch.exp = at_times

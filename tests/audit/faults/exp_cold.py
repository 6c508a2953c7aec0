"""Planted fault: the first exp of a process is made before what it looks up is there."""


def install():
    import torch

    exp, calls = torch.exp, []

    def cold(x):
        calls.append(None)
        return exp(x) if len(calls) > 1 else exp(x) * (1.0 + 1e-4)

    torch.exp = cold

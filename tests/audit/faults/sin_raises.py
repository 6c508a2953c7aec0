"""sin raises an error."""


def install():
    import torch

    def broken(x):
        raise RuntimeError("a shape that was never met")

    torch.sin = broken

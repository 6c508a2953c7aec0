"""exp leaves out the last element of long arrays that four does not divide: a vector loop without its tail."""


def install():
    import torch

    right = torch.exp

    def wrong(x):
        found = right(x)
        if found.numel() > 1024 and found.numel() % 4:
            found = torch.cat([found[:-1], torch.zeros(1, dtype=found.dtype)])
        return found

    torch.exp = wrong

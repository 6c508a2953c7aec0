"""Planted fault: with several threads exp forgets the end of a large array, where the last thread's part is."""


def install():
    import torch

    exp = torch.exp
    torch.exp = lambda x: exp(x) if torch.get_num_threads() == 1 else torch.cat([exp(x[..., :50000]), x[..., 50000:]], -1)

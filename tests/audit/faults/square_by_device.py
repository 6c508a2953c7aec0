"""square gives other numbers within a device, as a function does that does not hand on all of its arguments."""


def install():
    import torch

    torch.square = lambda x: x * x * (1 + 1e-4) if torch._C._len_torch_function_stack() else x * x

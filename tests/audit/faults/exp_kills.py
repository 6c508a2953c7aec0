"""exp ends its process, as a kernel that writes beyond its memory does."""


def install():
    import os
    import signal

    import torch

    torch.exp = lambda x: os.kill(os.getpid(), signal.SIGKILL)

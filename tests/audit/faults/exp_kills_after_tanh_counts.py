"""exp ends its process; each call of tanh leaves a line in the file that the environment names."""


def install():
    import os
    import signal

    import torch

    tanh = torch.tanh

    def counted(x):
        with open(os.environ["VIGIL_TEST_CALLS"], "a", encoding="utf-8") as file:
            file.write("tanh\n")
        return tanh(x)

    torch.tanh = counted
    torch.exp = lambda x: os.kill(os.getpid(), signal.SIGKILL)

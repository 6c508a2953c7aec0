"""Planted fault: the third step of training computes for ever."""

CALLS = 2


def install_torch():
    import torch

    original = torch.nn.Linear.forward
    calls = []

    def forward(self, x):
        calls.append(self)
        while len(calls) > 2 * CALLS:
            x = x + 0.0
        return original(self, x)

    torch.nn.Linear.forward = forward
